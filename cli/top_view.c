/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top_view.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Columns from which on all figures fit. */
#define WIDE 110
#define ID_COLUMNS 12
#define INVERSE "\033[7m"
#define PLAIN "\033[m"

/* ---- text ---- */

/* Decode the code point at p; 0 bytes: not UTF-8. */
static uint32_t decode(const unsigned char *p, size_t *bytes)
{
	const size_t n = p[0] < 0x80   ? 1
			 : p[0] < 0xc2 ? 0
			 : p[0] < 0xe0 ? 2
			 : p[0] < 0xf0 ? 3
			 : p[0] < 0xf5 ? 4
				       : 0;
	uint32_t c = n < 2 ? p[0] : p[0] & (0x7fu >> n);

	*bytes = 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
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

size_t tw_top_add_text(struct tw_buf *b, const char *text, size_t columns)
{
	size_t used = 0, bytes;

	for (; *text != '\0'; text += bytes) {
		const uint32_t c = decode((const unsigned char *)text, &bytes);
		const bool shown = bytes > 0 && is_printable(c);
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
	tw_buf_adds(b, v->color ? "\033[K" : "");
}

static void add_line(struct tw_buf *b, const struct tw_top_view *v, const char *text)
{
	begin_line(b, v);
	tw_top_add_text(b, text, v->columns);
	tw_buf_adds(b, "\n");
}

/* Whether there is room for the optional columns. */
static bool is_wide(const struct tw_top_view *v)
{
	return v->columns == 0 || v->columns >= WIDE;
}

/* ---- the machine ---- */

/* "package 12.3 W (fake)": the sum by kind of zone, over dies and sockets. */
static void add_node_zones(struct tw_buf *b, const json_t *zones)
{
	const char *done = "";
	const json_t *z, *y;
	size_t i, k;

	json_array_foreach(zones, i, z) {
		const char *zone = json_string_value(json_object_get(z, "zone"));
		const char *source = json_string_value(json_object_get(z, "source"));
		double watts = 0;
		bool first = true;

		if (zone == NULL || source == NULL ||
		    !json_is_number(json_object_get(z, "watts")))
			continue;
		json_array_foreach(zones, k, y) {
			const char *other = json_string_value(json_object_get(y, "zone"));
			const char *by = json_string_value(json_object_get(y, "source"));

			if (other == NULL || by == NULL || strcmp(other, zone) != 0 ||
			    strcmp(by, source) != 0)
				continue;
			first = first && k >= i;
			watts += json_number_value(json_object_get(y, "watts"));
		}
		if (!first)
			continue;
		tw_buf_addf(b, "%s%s %.1f W (%s)", done, zone, watts, source);
		done = ", ";
	}
	if (done[0] == '\0')
		tw_buf_adds(b, "no meter tells its power");
}

/* Whether an estimate includes idle power. */
static const char *words_for_idle(const char *idle)
{
	return idle != NULL && strcmp(idle, "hidden") == 0 ? "above idle" : "with idle";
}

/* Mark estimates. */
static void add_models(struct tw_buf *b, const json_t *models)
{
	const json_t *m, *mae;
	const char *name, *zone, *idle;
	size_t i;

	json_array_foreach(models, i, m) {
		name = json_string_value(json_object_get(m, "model"));
		if (name == NULL || name[0] == '\0')
			continue;
		idle = json_string_value(json_object_get(m, "idle"));
		tw_buf_addf(b, "; estimated %s by %s", words_for_idle(idle), name);
		json_object_foreach((json_t *)(uintptr_t)json_object_get(m, "mae_watts"),
				    zone, mae)
			tw_buf_addf(b, ", %s +-%.1f W", zone, json_number_value(mae));
		if (json_is_true(json_object_get(m, "extrapolating")))
			tw_buf_adds(b, ", beyond what it was trained on");
	}
}

int tw_top_node_line(const char *data, size_t len, char **out, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	const json_t *list, *zones;
	json_t *root = NULL;
	const char *name;
	int rc = -1;

	if (tw_json_parse(data, len, "answer", &root, err) < 0 ||
	    tw_json_array(root, "answer", "workloads", false, &list, err) < 0 ||
	    tw_json_array(json_array_get(list, 0), "answer.workloads[0]", "zones", false,
			  &zones, err) < 0 ||
	    tw_json_text(json_array_get(list, 0), "answer.workloads[0]", "node_name",
			 false, &name, err) < 0)
		goto out;
	tw_buf_addf(&b, "%s: ", name);
	add_node_zones(&b, zones);
	add_models(&b, json_object_get(root, "models"));
	*out = tw_buf_detach(&b, NULL);
	if (*out == NULL) {
		tw_fail(err, TW_NOMEM, "answer");
		goto out;
	}
	rc = 0;
out:
	tw_buf_clear(&b);
	json_decref(root);
	return rc;
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

static void draw_row(const struct tw_top_view *v, const struct tw_top_row *r,
		     struct tw_buf *b)
{
	struct tw_buf line = { 0 };
	size_t used = tw_top_add_text(&line, r->id, ID_COLUMNS);

	while (used++ < ID_COLUMNS)
		tw_buf_adds(&line, " ");
	add_figure(&line, r->watts, 8, 3);
	add_figure(&line, r->dynamic_w, 8, 3);
	add_figure(&line, r->idle_w, 8, 3);
	for (int k = 0; is_wide(v) && k < TW_TOP_ZONES; k++)
		add_figure(&line, r->zone_w[k], 7, 2);
	if (is_wide(v))
		add_figure(&line, r->joules, 10, 1);
	add_figure(&line, r->cpu * 100, 6, 1);
	add_time(&line, r->cpu_ms);
	tw_buf_addf(&line, " %c ", r->ended ? '+' : ' ');
	tw_buf_adds(&line, r->name);
	add_line(b, v, tw_buf_failed(&line) ? "?" : line.data);
	tw_buf_clear(&line);
}

static void draw_head(const struct tw_top_view *v, const struct tw_top_rows *r,
		      struct tw_buf *b)
{
	char line[256];

	add_line(b, v, v->node);
	snprintf(line, sizeof(line), "%s: %zu by %s%s, mean of %.1f s%s; %s", v->level,
		 r->count, tw_top_sort_names[v->by], v->reverse ? " (reverse)" : "",
		 r->elapsed_s,
		 !r->estimated   ? ""
		 : r->above_idle ? ", ESTIMATED above idle"
				 : ", ESTIMATED with idle",
		 v->color ? "q quit, s sort, r reverse, p g c o v level, j k rows"
			  : "+ ended");
	add_line(b, v, v->message != NULL ? v->message : line);
	snprintf(line, sizeof(line), "%-12s %8s %8s %8s%s %6s %10s   %s", "ID", "WATTS",
		 "DYNAMIC", "IDLE",
		 is_wide(v) ? " PACKAGE    DRAM     GPU     JOULES" : "", "%CPU", "TIME",
		 "NAME");
	begin_line(b, v);
	tw_buf_adds(b, v->color ? INVERSE : "");
	tw_top_add_text(b, line, v->columns);
	tw_buf_adds(b, v->color ? PLAIN "\n" : "\n");
}

void tw_top_draw(const struct tw_top_view *v, const struct tw_top_rows *r,
		 struct tw_buf *b)
{
	size_t room = r->count;

	draw_head(v, r, b);
	if (v->lines > 0 && v->lines < TW_TOP_HEAD + r->count)
		room = v->lines > TW_TOP_HEAD ? v->lines - TW_TOP_HEAD : 0;
	for (size_t i = v->from; i < r->count && i < v->from + room; i++)
		draw_row(v, &r->at[i], b);
}
