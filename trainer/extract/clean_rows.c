/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/clean_rows.h"

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "trainer/extract/clock.h"
#include "trainer/extract/node_rows.h"
#include "trainer/extract/power_series.h"
#include "trainer/extract/rates.h"
#include "trainer/extract/scrapes.h"
#include "trainer/extract/steady.h"
#include "trainer/extract/unseen.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Fewer rows have no usual power. */
#define ROWS_MIN 20
/* Power above so many times the usual, or TDP, is outside of physics. */
#define BEYOND 3
/* A glitch is off the line by so many deviations, and by this share of the usual power.
 */
#define DEVIATIONS 8
#define SHARE 0.2
/* Several rows in sequence show by less that a side stands still. */
#define STANDING_SHARE 0.1
#define STANDING_DEVIATIONS 4
/* A share of rows without work that bends the line. */
#define BENDING_SHARE 0.1
/* A glitch has at most so many rows. */
#define GLITCH_ROWS 2
/* Fewer equal readings of a gauge are chance. */
#define EQUAL_MIN 3
/* A meter may show a load so many rows later. */
#define LAG_ROWS 3
/* Scrapes explain outliers if there are so many, and this share of them. */
#define EXPLAINED_MIN 8
#define EXPLAINED_SHARE 0.9
/* A larger share of outliers is refused. */
#define OUTLIERS_MAX 0.1
/* A component with a smaller share of the first one's power is not judged. */
#define COMPONENT_MIN 0.01
/* Loads above so many times the usual one do not show a meter's inertia. */
#define LOAD_MAX 1.25
/* Groups of rows for the line. */
#define GROUPS 16

/* JOINED: part of the row after it. */
enum fate { KEPT, OUTLIER, STANDING, JOINED, UNSTEADY, UNSEEN };

struct cleaning {
	struct tw_power_series *power;
	const struct tw_node_rows *rows;
	const struct tw_metric_series *feature; /* of the rows */
	size_t count;                           /* of rows with features */
	size_t *row;                            /* their places in power */
	double *load;                           /* of each */
	double *watts;                          /* of each, of the first component */
	double *memory;                         /* 4 * count + 1 */
	enum fate *fate;                        /* of each */
	double usual, busy;                     /* 90th percentiles of power and load */
	double at_rest, slope;                  /* the line */
	double deviation;                       /* usual distance from it */
};

/* A quantile of values, which are sorted. */
static double quantile(double *v, size_t count, double q)
{
	qsort(v, count, sizeof(*v), tw_compare_doubles);
	return v[(size_t)(q * (double)(count - 1))];
}

static double quantile_of(const struct cleaning *c, const double *v, double q)
{
	for (size_t i = 0; i < c->count; i++)
		c->memory[i] = v[i];
	return quantile(c->memory, c->count, q);
}

/* Add a feature as a share of its usual range, or of all of it if it is rarely above 0.
 */
static bool add_load(struct cleaning *c, const double *feature)
{
	double usual;

	for (size_t i = 0; i < c->count; i++)
		c->memory[i] = feature[c->row[i]];
	usual = quantile(c->memory, c->count, 0.9);
	usual = usual > 0 ? usual : c->memory[c->count - 1];
	for (size_t i = 0; usual > 0 && i < c->count; i++)
		c->load[i] += feature[c->row[i]] / usual;
	return usual > 0;
}

static void find_load(struct cleaning *c)
{
	if (c->rows->cpu_ms != NULL && add_load(c, c->rows->cpu_ms))
		return;
	for (size_t f = 0; f < c->rows->features; f++)
		add_load(c, c->rows->feature[f]);
}

/* ---- the line ---- */

struct point {
	double load, watts;
	uint32_t place; /* among equal loads, so that wrong rows in sequence are spread */
};

static int compare_points(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return x->load != y->load ? (x->load < y->load ? -1 : 1)
				  : (x->place > y->place) - (x->place < y->place);
}

static double line_at(const struct cleaning *c, double load)
{
	return c->at_rest + c->slope * load;
}

/* The medians of each group of rows with about the same load. */
static void find_groups(const struct cleaning *c, struct point *all,
			struct point group[GROUPS])
{
	for (size_t i = 0; i < c->count; i++)
		all[i] = (struct point){ c->load[i], c->watts[i],
					 (uint32_t)i * 2654435761U };
	qsort(all, c->count, sizeof(*all), compare_points);
	for (size_t g = 0; g < GROUPS; g++) {
		const size_t from = g * c->count / GROUPS;
		const size_t end = (g + 1) * c->count / GROUPS;

		for (size_t i = from; i < end; i++)
			c->memory[i - from] = all[i].watts;
		group[g].load = all[(from + end) / 2].load;
		group[g].watts = quantile(c->memory, end - from, 0.5);
	}
}

/* The median of the slopes between groups; then of what is left at rest. */
static int find_line(struct cleaning *c, struct tw_err *err)
{
	struct point *all = calloc(c->count, sizeof(*all)), group[GROUPS];
	double slope[GROUPS * GROUPS];
	size_t n = 0;

	if (all == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows by load", c->count);
	find_groups(c, all, group);
	free(all);
	for (size_t a = 0; a < GROUPS; a++)
		for (size_t b = 0; b < a; b++)
			if (group[a].load > group[b].load)
				slope[n++] = (group[a].watts - group[b].watts) /
					     (group[a].load - group[b].load);
	c->slope = n > 0 ? fmax(quantile(slope, n, 0.5), 0) : 0;
	for (size_t i = 0; i < c->count; i++)
		c->memory[i] = c->watts[i] - c->slope * c->load[i];
	c->at_rest = quantile(c->memory, c->count, 0.5);
	for (size_t i = 0; i < c->count; i++)
		c->memory[i] = fabs(c->watts[i] - line_at(c, c->load[i]));
	c->deviation = 1.4826 * quantile(c->memory, c->count, 0.5);
	return 0;
}

/* ---- outliers ---- */

/* Whether a component's power is outside of physics. A load that is rare has no usual
 * power. */
static bool is_impossible(const struct cleaning *c, size_t i, double watts, double usual)
{
	if (c->busy == 0)
		return c->load[i] == 0 && watts > BEYOND * usual;
	return watts > BEYOND * usual * fmax(c->load[i] / c->busy, 1);
}

/* Mark the rows in which a column of power, a component or package, is impossible. */
static void mark_impossible(struct cleaning *c)
{
	for (size_t p = 0; p < c->power->columns; p++) {
		const double *watts = c->power->column[p].watts;
		double usual;

		for (size_t i = 0; i < c->count; i++)
			c->memory[i] = watts[c->row[i]];
		usual = quantile(c->memory, c->count, 0.9);
		for (size_t i = 0; i < c->count && usual > COMPONENT_MIN * c->usual; i++)
			if (is_impossible(c, i, watts[c->row[i]], usual))
				c->fate[i] = OUTLIER;
	}
}

/* Mark the rows in which a processor has more than all of TDP. */
static void mark_beyond_tdp(struct cleaning *c, double tdp_w)
{
	for (size_t p = 0; tdp_w > 0 && p < c->power->columns; p++) {
		const struct tw_power_column *column = &c->power->column[p];

		if (column->component != TW_PACKAGE && column->component != TW_CORE)
			continue;
		for (size_t i = 0; i < c->count; i++)
			if (column->watts[c->row[i]] > BEYOND * tdp_w)
				c->fate[i] = OUTLIER;
	}
}

/* Lowest and highest of rows. */
struct range {
	double low, high;
};

/* Of row i and so many before and after it. */
static struct range around(const struct cleaning *c, const double *v, size_t i,
			   size_t before, size_t after)
{
	struct range r = { INFINITY, -INFINITY };

	for (size_t k = i > before ? i - before : 0; k < c->count && k <= i + after;
	     k++) {
		r.low = fmin(r.low, v[k]);
		r.high = fmax(r.high, v[k]);
	}
	return r;
}

/* Whether the power of a row is that of no load since so many rows: a meter lags. */
static bool is_unexplained(const struct cleaning *c, size_t i, double limit)
{
	const struct range load = around(c, c->load, i, LAG_ROWS, 1);

	return c->watts[i] > line_at(c, load.high) + limit ||
	       c->watts[i] < line_at(c, load.low) - limit;
}

/* Whether the load of a row explains no power near it, or no load its power. */
static bool is_off(const struct cleaning *c, size_t i, double limit)
{
	const struct range watts = around(c, c->watts, i, 1, LAG_ROWS);
	const double wanted = line_at(c, c->load[i]);

	return wanted > watts.high + limit || wanted < watts.low - limit ||
	       is_unexplained(c, i, limit);
}

static bool differ(const struct cleaning *c, size_t i, size_t k, double limit)
{
	return fabs(c->watts[i] - c->watts[k]) > limit ||
	       c->slope * fabs(c->load[i] - c->load[k]) > limit;
}

static void mark_glitches(struct cleaning *c)
{
	const double limit = fmax(DEVIATIONS * c->deviation, SHARE * c->usual);
	size_t end;

	for (size_t i = 0; i < c->count; i = end) {
		end = i + 1;
		if (c->fate[i] != KEPT || !is_off(c, i, limit))
			continue;
		while (end < c->count && c->fate[end] == KEPT && is_off(c, end, limit))
			end++;
		if (end - i > GLITCH_ROWS || i == 0 || end == c->count ||
		    !differ(c, i, i - 1, limit / 2) ||
		    !differ(c, end - 1, end, limit / 2))
			continue;
		for (size_t k = i; k < end; k++)
			c->fate[k] = OUTLIER;
	}
}

/* ---- a side that stands still ---- */

/* Whether a row has counters, and none of them moved. */
static bool is_still(const struct cleaning *c, size_t i)
{
	bool any = false;

	for (size_t f = 0; f < c->rows->features; f++) {
		if (c->feature[f].metric->kind != TW_METRIC_FEATURE)
			continue;
		if (c->rows->feature[f][c->row[i]] != 0)
			return false;
		any = true;
	}
	return any;
}

static bool is_repeated(const struct cleaning *c, size_t i)
{
	return i > 0 && c->watts[i] == c->watts[i - 1];
}

/* A kind of standing rows. */
struct standing {
	bool (*stands)(const struct cleaning *c, size_t i);
	size_t rows_min;        /* fewer are chance */
	size_t unexplained_min; /* rows whose power no load explains */
	size_t after;           /* rows after them that are wrong, too */
};

/* Whether the row at `end`, an outlier, has the work of the rows [from, end), too: its
 * load is more than its power explains, and no more than these rows together can have.
 * Fewer rows would not bend the line. */
static bool has_work_of(const struct cleaning *c, size_t from, size_t end, double limit)
{
	return (double)(end - from) >= BENDING_SHARE * (double)c->count &&
	       line_at(c, c->load[end]) > c->watts[end] + limit &&
	       c->load[end] <= c->busy * (double)(end - from + 1);
}

/* Whether the rows [from, end) stand while the other side moves; or the work of them all
 * is in the row after them, which is an outlier. */
static bool other_moves(const struct cleaning *c, const struct standing *kind,
			size_t from, size_t end)
{
	const double limit =
		fmax(STANDING_DEVIATIONS * c->deviation, STANDING_SHARE * c->usual);
	size_t n = 0;
	bool off = false;

	for (size_t i = from; i < end; i++) {
		n += c->fate[i] != OUTLIER && is_unexplained(c, i, limit);
		off |= fabs(c->watts[i] - line_at(c, c->load[i])) > limit;
	}
	return n >= kind->unexplained_min ||
	       (kind->after > 0 && end < c->count && c->fate[end] == OUTLIER &&
		(off || has_work_of(c, from, end, limit)));
}

static void mark_standing(struct cleaning *c, const struct standing *kind)
{
	size_t end;

	for (size_t i = 0; i < c->count; i = end + 1) {
		for (end = i; end < c->count && kind->stands(c, end); end++)
			;
		if (end - i < kind->rows_min || !other_moves(c, kind, i, end))
			continue;
		for (size_t k = i; k < end + kind->after && k < c->count; k++)
			if (c->fate[k] == KEPT)
				c->fate[k] = STANDING;
	}
}

/* ---- the meter's inertia ---- */

/* Without the power of outliers, and without loads far above the usual ones, as those of
 * features that stood still before. */
static struct tw_inertia find_inertia(struct cleaning *c)
{
	const double most = c->busy > 0 ? LOAD_MAX * c->busy : INFINITY;
	double *watts = c->memory, *load = watts + c->count;

	for (size_t i = 0; i < c->count; i++) {
		watts[i] = c->fate[i] == OUTLIER ? line_at(c, c->load[i]) : c->watts[i];
		load[i] = fmin(c->load[i], most);
	}
	return tw_inertia_find(load, watts, c->count, load + c->count);
}

static bool is_inert(struct cleaning *c)
{
	const struct tw_inertia n = find_inertia(c);

	return n.before + n.after > 0;
}

/* ---- scrapes apart from the rows ---- */

static int find_scrapes(const struct cleaning *c, struct tw_scrape_times *out,
			struct tw_err *err)
{
	struct tw_scraped_row *row = calloc(TW_SCRAPES_ROWS_MAX, sizeof(*row));
	size_t n = 0;

	if (row == NULL)
		return tw_fail(err, TW_NOMEM, "scrapes of %zu rows", c->count);
	for (size_t i = 0; i < c->count && n < TW_SCRAPES_ROWS_MAX; i++)
		if (c->fate[i] == KEPT)
			row[n++] = (struct tw_scraped_row){
				.from_ms = c->power->from_ms[c->row[i]],
				.to_ms = c->power->time_ms[c->row[i]],
				.load = c->load[i],
				.watts = c->watts[i],
			};
	*out = tw_scrapes_find(row, n, c->power->grown_j == 0);
	free(row);
	return 0;
}

static bool is_unscraped(const struct cleaning *c, const struct tw_scrape_times *s,
			 size_t i)
{
	const size_t k = c->row[i];

	return tw_scrapes_within(s, c->power->from_ms[k], c->power->time_ms[k]) == 0;
}

static bool has_unscraped(const struct cleaning *c, const struct tw_scrape_times *s)
{
	for (size_t i = 0; i < c->count; i++)
		if (is_unscraped(c, s, i))
			return true;
	return false;
}

/* Join the rows without a scrape, in which a gauge went on, with the row after them. */
static void join_unscraped(struct cleaning *c, const struct tw_scrape_times *s)
{
	struct tw_power_series *p = c->power;

	for (size_t i = 0; i < c->count; i++) {
		const size_t k = c->row[i], next = c->row[i + 1 < c->count ? i + 1 : i];

		if (!is_unscraped(c, s, i))
			continue;
		if (p->from_ms[next] == p->time_ms[k])
			p->from_ms[next] = p->from_ms[k];
		c->fate[i] = JOINED;
	}
}

/* ---- the rows ---- */

static int find_rows(struct cleaning *c, const struct tw_rates *r, struct tw_err *err)
{
	const size_t times = c->power->times;

	c->row = calloc(times + 1, sizeof(*c->row));
	c->fate = calloc(times + 1, sizeof(*c->fate));
	c->load = calloc(6 * times + 1, sizeof(*c->load));
	if (c->row == NULL || c->fate == NULL || c->load == NULL)
		return tw_fail(err, TW_NOMEM, "cleaning of %zu rows", times);
	c->watts = c->load + times;
	c->memory = c->watts + times;
	for (size_t k = r->first; k < r->end; k++) {
		if (!c->rows->filled[k])
			continue;
		c->watts[c->count] = c->power->column[0].watts[k];
		c->row[c->count++] = k;
	}
	return 0;
}

static void release(struct cleaning *c)
{
	free(c->row);
	free(c->fate);
	free(c->load);
}

static void mark_still(struct cleaning *c)
{
	static const struct standing features = { is_still, 1, 1, 1 };
	static const struct standing gauge = { is_repeated, EQUAL_MIN, EQUAL_MIN, 0 };

	mark_standing(c, &features);
	if (c->power->grown_j == 0)
		mark_standing(c, &gauge);
}

static bool has_few_outliers(const struct cleaning *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		n += c->fate[i] == OUTLIER;
	return (double)n <= OUTLIERS_MAX * (double)c->count;
}

/* Whether the outliers are many, and the rows with more scrapes than the step allows. */
static bool explains_outliers(const struct cleaning *c, const struct tw_scrape_times *s)
{
	size_t outliers = 0, explained = 0;

	for (size_t i = 0; i < c->count; i++) {
		const int64_t from_ms = c->power->from_ms[c->row[i]];
		const int64_t to_ms = c->power->time_ms[c->row[i]];

		if (c->fate[i] != OUTLIER)
			continue;
		outliers++;
		explained += tw_scrapes_within(s, from_ms, to_ms) * s->interval_ms >
			     to_ms - from_ms;
	}
	return outliers >= EXPLAINED_MIN &&
	       (double)explained >= EXPLAINED_SHARE * (double)outliers;
}

/*
 * Find the scrapes, and mark glitches. A few glitches bend the line of few rows, so the
 * scrapes must show without them. But rows with the work of those without a scrape look
 * like glitches.
 */
static int find_wrong_times(struct cleaning *c, const struct tw_rates *r,
			    struct tw_scrape_times *s, struct tw_err *err)
{
	if (r->clock->count == 0 && find_scrapes(c, s, err) < 0)
		return -1;
	mark_glitches(c);
	if (s->interval_ms == 0 || has_unscraped(c, s) || !has_few_outliers(c) ||
	    explains_outliers(c, s))
		return 0;
	return find_scrapes(c, s, err);
}

/*
 * Rows that have the times of no scrapes are all wrong: none is an outlier of them. Those
 * of an inert meter have the power of others: none is a glitch, and no side stands still.
 */
static int judge(struct cleaning *c, const struct tw_rates *r, struct tw_clean_counts *n,
		 struct tw_err *err)
{
	struct tw_scrape_times s = { 0 };

	find_load(c);
	c->usual = quantile_of(c, c->watts, 0.9);
	c->busy = quantile_of(c, c->load, 0.9);
	if (find_line(c, err) < 0)
		return -1;
	mark_impossible(c);
	if (is_inert(c))
		return 0;
	if (find_wrong_times(c, r, &s, err) < 0)
		return -1;
	if (s.interval_ms == 0) {
		mark_still(c);
		return 0;
	}
	for (size_t i = 0; i < c->count; i++)
		c->fate[i] = KEPT;
	if (s.divides)
		join_unscraped(c, &s);
	else
		n->scrapes_s = (double)s.interval_ms / 1e3;
	return 0;
}

static void count_fates(const struct cleaning *c, struct tw_clean_counts *n)
{
	for (size_t i = 0; i < c->count; i++) {
		n->standing += c->fate[i] == STANDING;
		n->joined += c->fate[i] == JOINED;
		if (c->fate[i] == OUTLIER && n->outliers++ == 0) {
			n->first_ms = c->power->time_ms[c->row[i]];
			n->first_w = c->watts[i];
		}
	}
}

static void drop(const struct cleaning *c, struct tw_power_series *p)
{
	size_t n = 0, i = 0;

	for (size_t k = 0; k < p->times; k++) {
		while (i < c->count && c->row[i] < k)
			i++;
		if (i == c->count || c->row[i] != k || c->fate[i] == KEPT)
			tw_power_series_move(p, n++, k);
		else
			tw_power_series_forget(p, k);
	}
	p->times = n;
}

int tw_clean_rows(struct tw_power_series *p, const struct tw_node_rows *rows,
		  const struct tw_rates *r, struct tw_clean_counts *out,
		  struct tw_err *err)
{
	struct cleaning c = { .power = p, .rows = rows, .feature = r->feature };
	struct tw_clean_counts n = { 0 };
	int rc = -1;

	if (find_rows(&c, r, err) < 0)
		goto out;
	mark_beyond_tdp(&c, r->args->tdp_w);
	if (c.count >= ROWS_MIN && judge(&c, r, &n, err) < 0)
		goto out;
	count_fates(&c, &n);
	if (c.count >= ROWS_MIN && (double)n.outliers > OUTLIERS_MAX * (double)c.count) {
		tw_fail(err, TW_INVALID,
			"%zu of %zu rows have power that no load explains, the first of "
			"%.6g W at %" PRId64 " (seconds): check the meter",
			n.outliers, c.count, n.first_w, n.first_ms / 1000);
		goto out;
	}
	if (n.outliers + n.standing + n.joined > 0)
		drop(&c, p);
	*out = n;
	rc = 0;
out:
	release(&c);
	return rc;
}

int tw_drop_unsteady_rows(struct tw_power_series *p, const struct tw_node_rows *rows,
			  const struct tw_rates *r, struct tw_clean_counts *out,
			  struct tw_err *err)
{
	struct cleaning c = { .power = p, .rows = rows, .feature = r->feature };
	bool *unsteady = calloc(p->times + 1, sizeof(*unsteady));
	struct tw_inertia inertia;
	int rc = -1;

	if (unsteady == NULL) {
		tw_fail(err, TW_NOMEM, "load of %zu rows", p->times);
		goto out;
	}
	if (find_rows(&c, r, err) < 0)
		goto out;
	if (c.count > 0) {
		find_load(&c);
		c.busy = quantile_of(&c, c.load, 0.9);
	}
	inertia = find_inertia(&c);
	/* Without inertia, the energy of a row is that of its work. */
	if (p->grown_j == 0 || inertia.before + inertia.after > 0)
		out->unsure = tw_steady_find(c.load, c.watts, c.count, inertia,
					     unsteady) == TW_STEADY_FEW;
	for (size_t i = 0; i < c.count; i++) {
		out->unsteady += unsteady[i];
		c.fate[i] = unsteady[i] ? UNSTEADY : KEPT;
	}
	if (out->unsteady > 0)
		drop(&c, p);
	rc = 0;
out:
	release(&c);
	free(unsteady);
	return rc;
}

/* The first row that begins at a time or later. */
static size_t first_since(const struct cleaning *c, int64_t ms)
{
	size_t i = 0;

	while (i < c->count && c->power->from_ms[c->row[i]] < ms)
		i++;
	return i;
}

/* The rows before the first one that has the work of all; 0: all rows have it. */
static size_t count_unseen(const struct cleaning *c, const struct tw_hidden *at,
			   bool *most)
{
	for (size_t k = at->count; k-- > 0 && !*most;) {
		const size_t first = first_since(c, at->ms[k]);
		const enum tw_unseen_work u =
			tw_unseen_find(c->load, c->watts, c->count, first);

		if (u == TW_UNSEEN_WORK)
			return first;
		*most = u == TW_UNSEEN_FEW;
	}
	return 0;
}

int tw_drop_unseen_rows(struct tw_power_series *p, const struct tw_node_rows *rows,
			const struct tw_rates *r, const struct tw_hidden *at,
			struct tw_clean_counts *out, struct tw_err *err)
{
	struct cleaning c = { .power = p, .rows = rows, .feature = r->feature };
	int rc = -1;

	if (find_rows(&c, r, err) < 0)
		goto out;
	if (c.count > 0)
		find_load(&c);
	out->unseen = count_unseen(&c, at, &out->unseen_most);
	for (size_t i = 0; i < out->unseen; i++)
		c.fate[i] = UNSEEN;
	if (out->unseen > 0)
		drop(&c, p);
	rc = 0;
out:
	release(&c);
	return rc;
}
