/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_view.h"

#include "cli/top/top_process.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/utf8.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Columns from which on all figures fit. */
#define WIDE 110
/* Columns below which only the most important figures are shown. */
#define NARROW 64
#define ID_COLUMNS 12
#define INVERSE "\033[7m"
#define PLAIN "\033[m"

/* ---- text ---- */

/* Decode the code point at p; 0 bytes: not UTF-8. */
static uint32_t decode(const unsigned char *p, size_t *bytes)
{
	const size_t n = tw_utf8_length((const char *)p, 4);
	uint32_t c = n < 2 ? p[0] : p[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	*bytes = n;
	return c;
}

/* Control, bidirectional and invisible characters. */
static bool is_printable(uint32_t c)
{
	return c >= 0x20 && !(c >= 0x7f && c < 0xa0) && c != 0xad &&
	       !(c >= 0x200b && c <= 0x200f) && !(c >= 0x2028 && c <= 0x202e) &&
	       !(c >= 0x2060 && c <= 0x206f) && !(c >= 0xd800 && c <= 0xf8ff) &&
	       c != 0xfeff && !(c >= 0xfff0 && c <= 0xfffb) && c < 0xe0000;
}

/* Width in columns: East Asian wide characters and emoji take two. */
static size_t width_of(uint32_t c)
{
	return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
			       (c >= 0xac00 && c <= 0xd7a3) ||
			       (c >= 0xf900 && c <= 0xfaff) ||
			       (c >= 0xfe30 && c <= 0xfe6f) ||
			       (c >= 0xff00 && c <= 0xff60) ||
			       (c >= 0x1f300 && c <= 0x1faff) || c >= 0x20000
		       ? 2
		       : 1;
}

size_t tw_top_add_text(struct tw_buf *b, const char *text, size_t columns, bool ascii)
{
	size_t used = 0, bytes;

	for (; *text != '\0'; text += bytes) {
		const uint32_t c = decode((const unsigned char *)text, &bytes);
		const bool shown = bytes > 0 && is_printable(c) && (!ascii || c < 0x80);
		const size_t width = shown ? width_of(c) : 1;

		if (columns > 0 && used + width > columns)
			break;
		if (shown)
			tw_buf_add(b, text, bytes);
		else
			tw_buf_adds(b, "?");
		used += width;
		if (bytes == 0)
			bytes = 1;
	}
	return used;
}

/*
 * Clear the line before writing it: clearing after a full line would erase its last
 * character.
 */
static void begin_line(struct tw_buf *b, const struct tw_top_view *v)
{
	tw_buf_adds(b, v->screen ? "\033[K" : "");
}

static void add_line(struct tw_buf *b, const struct tw_top_view *v, const char *text)
{
	begin_line(b, v);
	tw_top_add_text(b, text, v->columns, v->ascii);
	tw_buf_adds(b, "\n");
}

/* Whether there is room for the optional columns. */
static bool is_wide(const struct tw_top_view *v)
{
	return v->columns == 0 || v->columns >= WIDE;
}

static bool is_narrow(const struct tw_top_view *v)
{
	return v->columns > 0 && v->columns < NARROW;
}

/* Whether there is room for the time: with a column of nodes, not in 80 columns. */
static bool has_time(const struct tw_top_view *v)
{
	return !is_narrow(v) && (v->nodes < 2 || is_wide(v));
}

/* ---- the machine ---- */

static const char *const known_names[] = {
	[TW_TOP_MEASURED] = "MEASURED",
	[TW_TOP_ESTIMATED] = "ESTIMATED",
	[TW_TOP_ABOVE_IDLE] = "ESTIMATED above idle",
	[TW_TOP_SIMULATED] = "SIMULATED",
};

/* The sum of a figure over the nodes that report it; NaN if no node does. */
static double sum_of(const struct tw_top_view *v, size_t member)
{
	double sum = NAN;

	for (size_t i = 0; i < v->nodes; i++) {
		double value;

		memcpy(&value, (const char *)&v->node[i] + member, sizeof(value));
		if (!isnan(value))
			sum = (isnan(sum) ? 0 : sum) + value;
	}
	return sum;
}

/* The worst of all nodes. */
static enum tw_top_known known_of(const struct tw_top_view *v)
{
	enum tw_top_known known = TW_TOP_MEASURED;

	for (size_t i = 0; i < v->nodes; i++)
		if (v->node[i].known > known)
			known = v->node[i].known;
	return known;
}

/* "ESTIMATED 26.2 W +-1.3". */
static void add_total(struct tw_buf *b, const struct tw_top_view *v)
{
	const double watts = sum_of(v, offsetof(struct tw_top_node, watts)),
		     error_w = sum_of(v, offsetof(struct tw_top_node, error_w));

	if (isnan(watts)) {
		tw_buf_adds(b, "power not known");
		return;
	}
	tw_buf_addf(b, "%s %.1f W", known_names[known_of(v)], watts);
	if (!isnan(error_w))
		tw_buf_addf(b, " +-%.1f", error_w);
}

static void add_power_line(struct tw_buf *b, const struct tw_top_view *v)
{
	size_t known = 0;

	if (v->nodes == 1) {
		tw_buf_addf(b, "%s: ", v->node[0].name);
		add_total(b, v);
		tw_buf_addf(b, ": %s", v->node[0].power);
		return;
	}
	for (size_t i = 0; i < v->nodes; i++)
		known += !isnan(v->node[i].watts);
	tw_buf_addf(b, "%zu nodes, ", v->nodes);
	add_total(b, v);
	tw_buf_addf(b, " of %zu", known);
	for (size_t i = 0; i < v->nodes; i++) {
		tw_buf_addf(b, "%s %s ", i == 0 ? ":" : ",", v->node[i].name);
		if (isnan(v->node[i].watts))
			tw_buf_adds(b, "-");
		else
			tw_buf_addf(b, "%.1f W", v->node[i].watts);
	}
}

static void add_facts_line(struct tw_buf *b, const struct tw_top_view *v)
{
	for (size_t i = 0; i < v->nodes; i++) {
		if (v->nodes > 1)
			tw_buf_addf(b, "%s%s: ", i > 0 ? " | " : "", v->node[i].name);
		tw_buf_adds(b, v->node[i].facts);
	}
}

/* ---- the course of power ---- */

void tw_top_course_add(struct tw_top_course *c, double watts, double seconds)
{
	if (c->count == TW_TOP_COURSE) {
		memmove(c->watts, c->watts + 1, (TW_TOP_COURSE - 1) * sizeof(*c->watts));
		c->count--;
		c->span_s -= c->span_s / TW_TOP_COURSE;
	}
	if (c->count > 0)
		c->span_s += seconds;
	c->watts[c->count++] = watts;
}

/* "0:45" or "12:00", minutes and seconds. */
static void format_span(double s, char *out, size_t size)
{
	snprintf(out, size, "%.0f:%02.0f", floor(s / 60), floor(fmod(s, 60)));
}

/* A mark for a value from 0 to 1. */
static const char *mark_of(double part, bool ascii)
{
	static const char *const bars[] = { "\xe2\x96\x81", "\xe2\x96\x82",
					    "\xe2\x96\x83", "\xe2\x96\x84",
					    "\xe2\x96\x85", "\xe2\x96\x86",
					    "\xe2\x96\x87", "\xe2\x96\x88" };
	static const char *const letters[] = { "_", ".", "-", "~", "=", "+", "*", "#" };
	const int last = 7;
	const int i = part <= 0 ? 0 : part >= 1 ? last : (int)(part * (last + 1));

	return (ascii ? letters : bars)[i > last ? last : i];
}

/* The scale begins at 0 W: heights are in the ratio of watts. */
static void add_course_line(struct tw_buf *b, const struct tw_top_view *v)
{
	const struct tw_top_course *c = v->course;
	const size_t width = v->columns == 0   ? 60
			     : v->columns > 70 ? v->columns - 50
					       : 16;
	const size_t from = c->count > width ? c->count - width : 0;
	double least = NAN, most = NAN;
	char span[32];

	for (size_t i = from; i < c->count; i++) {
		least = fmin(least, c->watts[i]);
		most = fmax(most, c->watts[i]);
	}
	if (isnan(most)) {
		tw_buf_adds(b, "power: not known yet");
		return;
	}
	format_span(c->count > 1 ? c->span_s * (double)(c->count - from - 1) /
					   (double)(c->count - 1)
				 : 0,
		    span, sizeof(span));
	tw_buf_adds(b, "power ");
	for (size_t i = from; i < c->count; i++)
		tw_buf_adds(b, isnan(c->watts[i])
				       ? " "
				       : mark_of(most > 0 ? c->watts[i] / most : 0,
						 v->ascii));
	tw_buf_addf(b, " %.1f to %.1f W in %s min", least, most, span);
}

/* ---- rows ---- */

static void add_figure(struct tw_buf *b, double value, int width, int decimals)
{
	if (isnan(value))
		tw_buf_addf(b, " %*s", width, "-");
	else
		tw_buf_addf(b, " %*.*f", width, decimals, value);
}

/* The format of top: minutes, seconds, hundredths. */
static void add_time(struct tw_buf *b, double ms)
{
	const double s = ms / 1e3;
	char text[32];

	snprintf(text, sizeof(text), "%.0f:%05.2f", floor(s / 60), fmod(s, 60));
	tw_buf_addf(b, " %10s", text);
}

/* Text in a column of that width. */
static void add_column(struct tw_buf *b, const char *text, size_t width, bool ascii)
{
	size_t used = tw_top_add_text(b, text, width, ascii);

	while (used++ < width)
		tw_buf_adds(b, " ");
}

/* The command line in place of the command, where it can be read. */
static void add_process(const struct tw_top_view *v, const struct tw_top_row *r,
			struct tw_buf *b)
{
	struct tw_top_process p;
	const bool known = !r->ended && tw_top_process_read(v->proc, r->id, r->name, &p);

	add_column(b, known ? p.user : "-", TW_TOP_USER, v->ascii);
	tw_buf_adds(b, known && p.line[0] != '\0' ? p.line : r->name);
}

static void draw_row(const struct tw_top_view *v, const struct tw_top_row *r,
		     struct tw_buf *b)
{
	struct tw_buf line = { 0 };

	if (v->nodes > 1) {
		add_column(&line, r->node != NULL ? r->node : "", TW_TOP_NODE_COLUMNS,
			   v->ascii);
		tw_buf_adds(&line, " ");
	}
	add_column(&line, r->id, ID_COLUMNS, v->ascii);
	add_figure(&line, r->watts, 8, 3);
	if (!is_narrow(v))
		add_figure(&line, r->idle_w, 8, 3);
	for (int k = 0; is_wide(v) && k < TW_TOP_ZONES; k++)
		add_figure(&line, r->zone_w[k], 7, 2);
	if (is_wide(v))
		add_figure(&line, r->joules, 10, 1);
	add_figure(&line, r->cpu * 100, 6, 1);
	if (has_time(v))
		add_time(&line, r->cpu_ms);
	tw_buf_addf(&line, " %c ", r->ended ? '+' : ' ');
	if (v->proc != NULL)
		add_process(v, r, &line);
	else
		tw_buf_adds(&line, r->name);
	add_line(b, v, tw_buf_failed(&line) ? "?" : line.data);
	tw_buf_clear(&line);
}

static void draw_columns(const struct tw_top_view *v, struct tw_buf *b)
{
	struct tw_buf line = { 0 };

	if (v->nodes > 1)
		tw_buf_addf(&line, "%-*s ", TW_TOP_NODE_COLUMNS, "NODE");
	tw_buf_addf(&line, "%-*s %8s", ID_COLUMNS, "ID", "WATTS");
	if (!is_narrow(v))
		tw_buf_addf(&line, " %8s", "IDLE");
	if (is_wide(v))
		tw_buf_addf(&line, " %7s %7s %7s %10s", "PACKAGE", "DRAM", "GPU",
			    "JOULES");
	tw_buf_addf(&line, " %6s", "%CPU");
	if (has_time(v))
		tw_buf_addf(&line, " %10s", "TIME");
	tw_buf_adds(&line, v->proc != NULL ? "   USER     COMMAND LINE" : "   NAME");
	begin_line(b, v);
	tw_buf_adds(b, v->color ? INVERSE : "");
	tw_top_add_text(b, tw_buf_failed(&line) ? "?" : line.data, v->columns, v->ascii);
	tw_buf_adds(b, v->color ? PLAIN "\n" : "\n");
	tw_buf_clear(&line);
}

/* A row of the machine: "total    26.200  MEASURED". */
static void draw_machine_row(const struct tw_top_view *v, const char *name, double watts,
			     const char *detail, struct tw_buf *b)
{
	struct tw_buf line = { 0 };

	if (v->nodes > 1)
		tw_buf_addf(&line, "%-*s ", TW_TOP_NODE_COLUMNS, "all");
	tw_buf_addf(&line, "%-*s", ID_COLUMNS, name);
	add_figure(&line, watts, 8, 3);
	tw_buf_addf(&line, "  %s", detail);
	add_line(b, v, tw_buf_failed(&line) ? "?" : line.data);
	tw_buf_clear(&line);
}

static void draw_machine(const struct tw_top_view *v, struct tw_buf *b)
{
	const double idle_w = sum_of(v, offsetof(struct tw_top_node, idle_w)),
		     watts = sum_of(v, offsetof(struct tw_top_node, watts));
	const enum tw_top_known known = known_of(v);
	char detail[64];
	const double error_w = sum_of(v, offsetof(struct tw_top_node, error_w));

	if (isnan(error_w))
		snprintf(detail, sizeof(detail), "%s", known_names[known]);
	else
		snprintf(detail, sizeof(detail), "%s +-%.1f W", known_names[known],
			 error_w);
	draw_machine_row(v, "total", watts, detail, b);
	draw_machine_row(v, "idle", known == TW_TOP_ABOVE_IDLE ? NAN : idle_w,
			 known == TW_TOP_ABOVE_IDLE ? "not in the estimate"
			 : isnan(idle_w) ? "not known yet: the rows below have it"
					 : "the machine without load",
			 b);
}

static void draw_text(const struct tw_top_view *v, struct tw_buf *b,
		      void (*add)(struct tw_buf *b, const struct tw_top_view *v))
{
	struct tw_buf line = { 0 };

	add(&line, v);
	add_line(b, v, line.data != NULL ? line.data : "");
	tw_buf_clear(&line);
}

static void draw_head(const struct tw_top_view *v, const struct tw_top_rows *r,
		      struct tw_buf *b)
{
	char line[256];

	draw_text(v, b, add_power_line);
	draw_text(v, b, add_facts_line);
	if (v->course != NULL)
		draw_text(v, b, add_course_line);
	snprintf(line, sizeof(line), "%s: %zu by %s%s, mean of %.1f s%s; %s", v->level,
		 r->count, tw_top_sort_names[v->by], v->reverse ? " (reverse)" : "",
		 r->elapsed_s,
		 !r->estimated   ? ""
		 : r->above_idle ? ", ESTIMATED above idle"
				 : ", ESTIMATED with idle",
		 v->screen ? "? help, q quit" : "+ ended");
	add_line(b, v, v->message != NULL ? v->message : line);
	draw_columns(v, b);
	draw_machine(v, b);
}

static size_t lines_above(const struct tw_top_view *v)
{
	return v->course != NULL ? TW_TOP_HEAD : TW_TOP_HEAD - 1;
}

static void draw_help(const struct tw_top_view *v, struct tw_buf *b)
{
	static const char *const help[] = {
		"Keys:  q quit   s next order   r reverse   space update   ? this help",
		"       p processes  g cgroups  c containers  o pods  v VMs",
		"       b jobs of Slurm  t its steps   j k, arrows, page keys: scroll",
		"WATTS  above idle, the mean of the last tick; total = idle + all rows",
		"IDLE   the share of the machine's idle power, by use",
		"%CPU   100 is one CPU, since the update before;  TIME CPU time in all",
		"+      has ended;  -  not known",
		"MEASURED by a meter; ESTIMATED by a model, +- its mean error;",
		"SIMULATED: no measurement at all.",
	};
	const size_t head = lines_above(v);

	for (size_t i = 0; i < TW_COUNT(help); i++)
		if (v->lines == 0 || head + i < v->lines)
			add_line(b, v, help[i]);
}

void tw_top_draw(const struct tw_top_view *v, const struct tw_top_rows *r,
		 struct tw_buf *b)
{
	const size_t head = lines_above(v);
	size_t room = r->count;

	draw_head(v, r, b);
	if (v->help) {
		draw_help(v, b);
		return;
	}
	if (v->lines > 0 && v->lines < head + r->count)
		room = v->lines > head ? v->lines - head : 0;
	for (size_t i = v->from; i < r->count && i < v->from + room; i++)
		draw_row(v, &r->at[i], b);
}
