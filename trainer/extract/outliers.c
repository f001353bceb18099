/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/outliers.h"

#include "trainer/extract/judged_rows.h"
#include "trainer/extract/node_rows.h"
#include "trainer/extract/power_series.h"
#include "trainer/extract/rates.h"

#include <math.h>

/* Power above this many times the usual is outside of physics. */
#define BEYOND 3
/*
 * A glitch is off the line by this many deviations, and by this share of the usual power.
 */
#define DEVIATIONS 8
#define SHARE 0.2
/* Several rows in sequence show by less that a side stands still. */
#define STANDING_SHARE 0.1
#define STANDING_DEVIATIONS 4
/* A share of rows without work that bends the line. */
#define BENDING_SHARE 0.1
/* A glitch has at most this many rows. */
#define GLITCH_ROWS 2
/* Fewer equal readings of a gauge are chance. */
#define EQUAL_MIN 3
/* A meter may show a load this many rows later. */
#define LAG_ROWS 3
/* A component with a smaller share of the first one's power is not judged. */
#define COMPONENT_MIN 0.01

/* ---- outside of physics ---- */

/* Whether a component's power is outside of physics. A load that is rare has no usual
 * power. */
static bool is_impossible(const struct tw_judged_rows *j, size_t i, double watts,
			  double usual)
{
	if (j->busy == 0)
		return j->load[i] == 0 && watts > BEYOND * usual;
	return watts > BEYOND * usual * fmax(j->load[i] / j->busy, 1);
}

/* Mark the rows in which a column of power, a component or package, is impossible. */
void tw_outliers_mark_impossible(struct tw_judged_rows *j)
{
	for (size_t p = 0; p < j->power->columns; p++) {
		const double *watts = j->power->column[p].watts;
		double usual;

		for (size_t i = 0; i < j->count; i++)
			j->memory[i] = watts[j->row[i]];
		usual = tw_judged_quantile(j->memory, j->count, 0.9);
		for (size_t i = 0; i < j->count && usual > COMPONENT_MIN * j->usual; i++)
			if (is_impossible(j, i, watts[j->row[i]], usual))
				j->fate[i] = TW_ROW_OUTLIER;
	}
}

/* Mark the rows in which a processor has more than all of TDP. */
void tw_outliers_mark_beyond_tdp(struct tw_judged_rows *j, double tdp_w)
{
	for (size_t p = 0; tdp_w > 0 && p < j->power->columns; p++) {
		const struct tw_power_column *column = &j->power->column[p];

		if (column->component != TW_PACKAGE && column->component != TW_CORE)
			continue;
		for (size_t i = 0; i < j->count; i++)
			if (column->watts[j->row[i]] > TW_TDP_TIMES_MAX * tdp_w)
				j->fate[i] = TW_ROW_OUTLIER;
	}
}

/* Lowest and highest of rows. */
struct range {
	double low, high;
};

/* The range of row i, the rows before it, and those after it. */
static struct range around(const struct tw_judged_rows *j, const double *v, size_t i,
			   size_t before, size_t after)
{
	struct range r = { INFINITY, -INFINITY };

	for (size_t k = i > before ? i - before : 0; k < j->count && k <= i + after;
	     k++) {
		r.low = fmin(r.low, v[k]);
		r.high = fmax(r.high, v[k]);
	}
	return r;
}

/* Whether the power of a row is that of no load for this many rows: a meter lags. */
static bool is_unexplained(const struct tw_judged_rows *j, size_t i, double limit)
{
	const struct range load = around(j, j->load, i, LAG_ROWS, 1);

	return j->watts[i] > tw_judged_line_at(j, load.high) + limit ||
	       j->watts[i] < tw_judged_line_at(j, load.low) - limit;
}

/* Whether the load of a row explains no power near it, or no load its power. */
static bool is_off(const struct tw_judged_rows *j, size_t i, double limit)
{
	const struct range watts = around(j, j->watts, i, 1, LAG_ROWS);
	const double wanted = tw_judged_line_at(j, j->load[i]);

	return wanted > watts.high + limit || wanted < watts.low - limit ||
	       is_unexplained(j, i, limit);
}

static bool differ(const struct tw_judged_rows *j, size_t i, size_t k, double limit)
{
	return fabs(j->watts[i] - j->watts[k]) > limit ||
	       j->slope * fabs(j->load[i] - j->load[k]) > limit;
}

void tw_outliers_mark_glitches(struct tw_judged_rows *j)
{
	const double limit = fmax(DEVIATIONS * j->deviation, SHARE * j->usual);
	size_t end;

	for (size_t i = 0; i < j->count; i = end) {
		end = i + 1;
		if (j->fate[i] != TW_ROW_KEPT || !is_off(j, i, limit))
			continue;
		while (end < j->count && j->fate[end] == TW_ROW_KEPT &&
		       is_off(j, end, limit))
			end++;
		if (end - i > GLITCH_ROWS || i == 0 || end == j->count ||
		    !differ(j, i, i - 1, limit / 2) ||
		    !differ(j, end - 1, end, limit / 2))
			continue;
		for (size_t k = i; k < end; k++)
			j->fate[k] = TW_ROW_OUTLIER;
	}
}

/* ---- a side that stands still ---- */

/* Whether a row has counters, and none of them moved. */
static bool is_still(const struct tw_judged_rows *j, size_t i)
{
	bool any = false;

	for (size_t f = 0; f < j->rows->features; f++) {
		if (j->feature[f].metric->kind != TW_METRIC_FEATURE)
			continue;
		if (j->rows->feature[f][j->row[i]] != 0)
			return false;
		any = true;
	}
	return any;
}

static bool is_repeated(const struct tw_judged_rows *j, size_t i)
{
	return i > 0 && j->watts[i] == j->watts[i - 1];
}

/* A kind of standing rows. */
struct standing {
	bool (*stands)(const struct tw_judged_rows *j, size_t i);
	size_t rows_min;        /* fewer are chance */
	size_t unexplained_min; /* rows whose power no load explains */
	size_t after;           /* rows after them that are wrong, too */
};

/* Whether the row at `end`, an outlier, has the work of the rows [from, end), too: its
 * load is more than its power explains, and no more than these rows together can have.
 * Fewer rows would not bend the line. */
static bool has_work_of(const struct tw_judged_rows *j, size_t from, size_t end,
			double limit)
{
	return (double)(end - from) >= BENDING_SHARE * (double)j->count &&
	       tw_judged_line_at(j, j->load[end]) > j->watts[end] + limit &&
	       j->load[end] <= j->busy * (double)(end - from + 1);
}

/* Whether the rows [from, end) stand while the other side moves; or the work of them all
 * is in the row after them, which is an outlier. */
static bool other_moves(const struct tw_judged_rows *j, const struct standing *kind,
			size_t from, size_t end)
{
	const double limit =
		fmax(STANDING_DEVIATIONS * j->deviation, STANDING_SHARE * j->usual);
	size_t n = 0;
	bool off = false;

	for (size_t i = from; i < end; i++) {
		if (j->fate[i] == TW_ROW_OUTLIER)
			continue;
		n += is_unexplained(j, i, limit);
		off |= fabs(j->watts[i] - tw_judged_line_at(j, j->load[i])) > limit;
	}
	return n >= kind->unexplained_min ||
	       (kind->after > 0 && end < j->count && j->fate[end] == TW_ROW_OUTLIER &&
		(off || has_work_of(j, from, end, limit)));
}

static void mark_standing(struct tw_judged_rows *j, const struct standing *kind)
{
	size_t end;

	for (size_t i = 0; i < j->count; i = end + 1) {
		for (end = i; end < j->count && kind->stands(j, end); end++)
			;
		if (end - i < kind->rows_min || !other_moves(j, kind, i, end))
			continue;
		for (size_t k = i; k < end + kind->after && k < j->count; k++)
			if (j->fate[k] == TW_ROW_KEPT)
				j->fate[k] = TW_ROW_STANDING;
	}
}

void tw_outliers_mark_still(struct tw_judged_rows *j)
{
	static const struct standing features = { is_still, 1, 1, 1 };
	static const struct standing gauge = { is_repeated, EQUAL_MIN, EQUAL_MIN, 0 };

	mark_standing(j, &features);
	if (j->power->grown_j == 0)
		mark_standing(j, &gauge);
}
