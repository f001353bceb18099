/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/report/svg.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/num.h"

#include <math.h>

/* Pixels: size of the picture, and edges of the plot area. */
#define WIDTH 640
#define HEIGHT 400
#define LEFT 70
#define RIGHT 625
#define TOP 50
#define BOTTOM 345

/* The approximate number of ticks, at 1, 2 or 5 times a power of ten. */
#define TICKS 6

struct axis {
	double low, high, step;
};

static void include_values(struct axis *a, const double *v, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!isfinite(v[i]))
			continue;
		a->low = fmin(a->low, v[i]);
		a->high = fmax(a->high, v[i]);
	}
}

/* Extend the axis to whole steps; give a single value or no value some room. */
static void round_axis(struct axis *a, bool zero)
{
	double rough, power;

	if (a->low > a->high)
		a->low = a->high = 0.0;
	if (zero) {
		a->low = fmin(a->low, 0.0);
		a->high = fmax(a->high, 0.0);
	}
	if (!(a->high - a->low > 1e-9 * fmax(fabs(a->low), fabs(a->high)))) {
		a->low -= 1.0;
		a->high += 1.0;
	}
	rough = (a->high - a->low) / TICKS;
	power = pow(10.0, floor(log10(rough)));
	rough /= power;
	a->step = power * (rough <= 1.0   ? 1.0
			   : rough <= 2.0 ? 2.0
			   : rough <= 5.0 ? 5.0
					  : 10.0);
	a->low = floor(a->low / a->step) * a->step;
	a->high = ceil(a->high / a->step) * a->step;
}

/* A coordinate in tenths of a pixel: an integer, so independent of the locale. */
static long place(const struct axis *a, double v, int from, int to)
{
	return lround(10.0 * (from + (v - a->low) / (a->high - a->low) * (to - from)));
}

static void add_tenths(struct tw_buf *b, long tenths)
{
	if (tenths < 0) {
		tw_buf_adds(b, "-");
		tenths = -tenths;
	}
	tw_buf_addf(b, tenths % 10 != 0 ? "%ld.%ld" : "%ld", tenths / 10, tenths % 10);
}

static void add_point(struct tw_buf *b, char command, long x, long y)
{
	tw_buf_add(b, &command, 1);
	add_tenths(b, x);
	tw_buf_adds(b, " ");
	add_tenths(b, y);
}

void tw_svg_add_text(struct tw_buf *b, const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '<')
			tw_buf_adds(b, "&lt;");
		else if (*s == '>')
			tw_buf_adds(b, "&gt;");
		else if (*s == '&')
			tw_buf_adds(b, "&amp;");
		else if (*s == '"')
			tw_buf_adds(b, "&quot;");
		else
			tw_buf_add(b, s, 1);
	}
}

/* A tick's label, large values with a unit: "20G". */
static void add_label(struct tw_buf *b, double v, double step)
{
	static const struct {
		double unit;
		const char *name;
	} units[] = { { 1e12, "T" }, { 1e9, "G" }, { 1e6, "M" }, { 1e4, "k" } };
	const double large = fmax(fabs(v), step);

	v = round(v / step * 1e3) / 1e3 * step;
	if (v == 0.0) {
		tw_buf_adds(b, "0");
		return;
	}
	for (size_t i = 0; i < TW_COUNT(units); i++) {
		if (large < units[i].unit)
			continue;
		tw_buf_add_double(b,
				  round(v / (i == 3 ? 1e3 : units[i].unit) * 1e6) / 1e6);
		tw_buf_adds(b, units[i].name);
		return;
	}
	tw_buf_add_double(b, round(v * 1e9) / 1e9);
}

static void add_words(struct tw_buf *b, const char *where, const char *words)
{
	tw_buf_addf(b, "<text %s>", where);
	tw_svg_add_text(b, words);
	tw_buf_adds(b, "</text>\n");
}

/* ---- parts of the picture ---- */

static size_t ticks_of(const struct axis *a)
{
	return (size_t)lround((a->high - a->low) / a->step) + 1;
}

static void add_grid(struct tw_buf *b, const struct tw_svg_chart *c, const struct axis *x,
		     const struct axis *y)
{
	tw_buf_adds(b, "<path d=\"");
	for (size_t i = 0; i < ticks_of(x); i++) {
		add_point(b, 'M', place(x, x->low + (double)i * x->step, LEFT, RIGHT),
			  10 * TOP);
		tw_buf_addf(b, "V%d", BOTTOM);
	}
	for (size_t i = 0; i < ticks_of(y); i++) {
		add_point(b, 'M', 10 * LEFT,
			  place(y, y->low + (double)i * y->step, BOTTOM, TOP));
		tw_buf_addf(b, "H%d", RIGHT);
	}
	tw_buf_addf(b, "\" stroke=\"%s\" fill=\"none\"/>\n<g text-anchor=\"middle\">\n",
		    c->in_page ? "currentColor\" stroke-opacity=\".15" : "#ddd");
	for (size_t i = 0; i < ticks_of(x); i++) {
		const double v = x->low + (double)i * x->step;

		tw_buf_adds(b, "<text x=\"");
		add_tenths(b, place(x, v, LEFT, RIGHT));
		tw_buf_addf(b, "\" y=\"%d\">", BOTTOM + 16);
		add_label(b, v, x->step);
		tw_buf_adds(b, "</text>\n");
	}
	tw_buf_adds(b, "</g>\n<g text-anchor=\"end\">\n");
	for (size_t i = 0; i < ticks_of(y); i++) {
		const double v = y->low + (double)i * y->step;

		tw_buf_addf(b, "<text x=\"%d\" y=\"", LEFT - 6);
		add_tenths(b, place(y, v, BOTTOM, TOP) + 40);
		tw_buf_adds(b, "\">");
		add_label(b, v, y->step);
		tw_buf_adds(b, "</text>\n");
	}
	tw_buf_adds(b, "</g>\n");
}

/* Every second band is shaded. A name stands upright at the start of its band. */
static void add_bands(struct tw_buf *b, const struct tw_svg_chart *c,
		      const struct axis *x)
{
	static const char *const fills[2][2] = {
		{ "#eef2f8", "#f8f5ee" },
		{ "currentColor\" fill-opacity=\".08",
		  "currentColor\" fill-opacity=\".03" }
	};

	for (size_t i = 0; i < c->band_count; i++) {
		const long from = place(x, fmax(c->bands[i].from, x->low), LEFT, RIGHT);
		const long to = place(x, fmin(c->bands[i].to, x->high), LEFT, RIGHT);

		if (from >= to)
			continue; /* outside of the picture */

		tw_buf_adds(b, "<path d=\"");
		add_point(b, 'M', from, 10 * TOP);
		tw_buf_adds(b, "H");
		add_tenths(b, to);
		tw_buf_addf(b, "V%dH", BOTTOM);
		add_tenths(b, from);
		tw_buf_addf(b,
			    "Z\" fill=\"%s\"/>\n<text font-size=\"10\" "
			    "fill=\"%s\" transform=\"translate(",
			    fills[c->in_page][i % 2],
			    c->in_page ? "currentColor" : "#667");
		add_tenths(b, (from + to) / 2 + 35);
		tw_buf_addf(b, " %d) rotate(-90)\">", BOTTOM - 4);
		tw_svg_add_text(b, c->bands[i].name);
		tw_buf_adds(b, "</text>\n");
	}
}

/* A dot is a stroke of length 0 with a round cap: a few bytes. */
static void add_series(struct tw_buf *b, const struct tw_svg_series *s,
		       const struct axis *x, const struct axis *y)
{
	bool begun = false;

	tw_buf_adds(b, "<path d=\"");
	for (size_t i = 0; i < s->count; i++) {
		if (!isfinite(s->x[i]) || !isfinite(s->y[i])) {
			begun = false;
			continue;
		}
		add_point(b, s->line && begun ? 'L' : 'M', place(x, s->x[i], LEFT, RIGHT),
			  place(y, s->y[i], BOTTOM, TOP));
		if (!s->line)
			tw_buf_adds(b, "h0");
		begun = true;
	}
	tw_buf_addf(b,
		    "\" stroke=\"%s\" fill=\"none\" stroke-width=\"%s\" "
		    "stroke-linecap=\"round\" stroke-linejoin=\"round\" "
		    "stroke-opacity=\"%s\"/>\n",
		    s->colour, s->line ? "1.5" : "4", s->line ? "1" : ".6");
}

/* Series without a label are left out. */
static void add_legend(struct tw_buf *b, const struct tw_svg_chart *c)
{
	int labels = 0, x = LEFT + 4, step;

	for (size_t i = 0; i < c->count; i++)
		labels += c->series[i].label[0] != '\0';
	step = labels > 3 ? (RIGHT - LEFT) / labels : 150;
	for (size_t i = 0; i < c->count; i++) {
		if (c->series[i].label[0] == '\0')
			continue;
		tw_buf_addf(b,
			    "<path d=\"M%d 40h12\" stroke=\"%s\" stroke-width=\"4\"/>"
			    "<text x=\"%d\" y=\"44\">",
			    x, c->series[i].colour, x + 17);
		tw_svg_add_text(b, c->series[i].label);
		tw_buf_adds(b, "</text>\n");
		x += step;
	}
}

void tw_svg_chart(const struct tw_svg_chart *c, struct tw_buf *out)
{
	struct axis x = { .low = INFINITY, .high = -INFINITY }, y = x;
	const char *ink = c->in_page ? "currentColor" : "#333";

	for (size_t i = 0; i < c->count; i++) {
		include_values(&x, c->series[i].x, c->series[i].count);
		include_values(&y, c->series[i].y, c->series[i].count);
	}
	round_axis(&x, c->zero_x);
	round_axis(&y, c->zero_y);

	tw_buf_addf(out,
		    "<svg%s viewBox=\"0 0 %d %d\" "
		    "font-family=\"sans-serif\" font-size=\"12\" fill=\"%s\">\n<title>",
		    c->in_page ? "" : " xmlns=\"http://www.w3.org/2000/svg\"", WIDTH,
		    HEIGHT, ink);
	tw_svg_add_text(out, c->title);
	tw_buf_adds(out, c->in_page ? "</title>\n"
				    : "</title>\n<rect width=\"100%\" height=\"100%\" "
				      "fill=\"#fff\"/>\n");
	add_bands(out, c, &x);
	add_grid(out, c, &x, &y);
	for (size_t i = 0; i < c->count; i++)
		add_series(out, &c->series[i], &x, &y);
	tw_buf_addf(out,
		    "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" "
		    "stroke=\"%s\"/>\n",
		    LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP, ink);
	add_words(out, "x=\"70\" y=\"22\" font-size=\"15\" font-weight=\"bold\"",
		  c->title);
	add_legend(out, c);
	add_words(out, "x=\"347\" y=\"385\" text-anchor=\"middle\"", c->x_label);
	add_words(out,
		  "x=\"-197\" y=\"16\" text-anchor=\"middle\" "
		  "transform=\"rotate(-90)\"",
		  c->y_label);
	tw_buf_adds(out, "</svg>\n");
}
