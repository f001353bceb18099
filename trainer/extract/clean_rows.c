/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/clean_rows.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "trainer/extract/clock.h"
#include "trainer/extract/judged_rows.h"
#include "trainer/extract/outliers.h"
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
/* Scrapes explain outliers if there are this many, and this share of them. */
#define EXPLAINED_MIN 8
#define EXPLAINED_SHARE 0.9
/* A larger share of outliers is refused. */
#define OUTLIERS_MAX 0.1
/* Loads above this many times the usual one do not show a meter's inertia. */
#define LOAD_MAX 1.25

/* ---- the meter's inertia ---- */

/* Without the power of outliers, and without loads far above the usual ones, as those of
 * features that stood still before. */
static struct tw_inertia find_inertia(struct tw_judged_rows *j)
{
	const double most = j->busy > 0 ? LOAD_MAX * j->busy : INFINITY;
	double *watts = j->memory, *load = watts + j->count;

	for (size_t i = 0; i < j->count; i++) {
		watts[i] = j->fate[i] == TW_ROW_OUTLIER ? tw_judged_line_at(j, j->load[i])
							: j->watts[i];
		load[i] = fmin(j->load[i], most);
	}
	return tw_inertia_find(load, watts, j->count, load + j->count);
}

static bool is_inert(struct tw_judged_rows *j)
{
	const struct tw_inertia n = find_inertia(j);

	return n.before + n.after > 0;
}

/* ---- scrapes apart from the rows ---- */

static int find_scrapes(const struct tw_judged_rows *j, struct tw_scrape_times *out,
			struct tw_err *err)
{
	struct tw_scraped_row *row = calloc(TW_SCRAPES_ROWS_MAX, sizeof(*row));
	size_t n = 0;

	if (row == NULL)
		return tw_fail(err, TW_NOMEM, "scrapes of %zu rows", j->count);
	for (size_t i = 0; i < j->count && n < TW_SCRAPES_ROWS_MAX; i++)
		if (j->fate[i] == TW_ROW_KEPT)
			row[n++] = (struct tw_scraped_row){
				.from_ms = j->power->from_ms[j->row[i]],
				.to_ms = j->power->time_ms[j->row[i]],
				.load = j->load[i],
				.watts = j->watts[i],
			};
	*out = tw_scrapes_find(row, n, j->power->grown_j == 0);
	free(row);
	return 0;
}

static bool is_unscraped(const struct tw_judged_rows *j, const struct tw_scrape_times *s,
			 size_t i)
{
	const size_t k = j->row[i];

	return tw_scrapes_within(s, j->power->from_ms[k], j->power->time_ms[k]) == 0;
}

static bool has_unscraped(const struct tw_judged_rows *j, const struct tw_scrape_times *s)
{
	for (size_t i = 0; i < j->count; i++)
		if (is_unscraped(j, s, i))
			return true;
	return false;
}

/* Join the rows without a scrape, in which a gauge went on, with the row after them. */
static void join_unscraped(struct tw_judged_rows *j, const struct tw_scrape_times *s)
{
	struct tw_power_series *p = j->power;

	for (size_t i = 0; i < j->count; i++) {
		const size_t k = j->row[i], next = j->row[i + 1 < j->count ? i + 1 : i];

		if (!is_unscraped(j, s, i))
			continue;
		if (p->from_ms[next] == p->time_ms[k])
			p->from_ms[next] = p->from_ms[k];
		j->fate[i] = TW_ROW_JOINED;
	}
}

/* ---- the rows ---- */

static bool has_few_outliers(const struct tw_judged_rows *j)
{
	size_t n = 0;

	for (size_t i = 0; i < j->count; i++)
		n += j->fate[i] == TW_ROW_OUTLIER;
	return (double)n <= OUTLIERS_MAX * (double)j->count;
}

/* Whether the outliers are many, and the rows with more scrapes than the step allows. */
static bool explains_outliers(const struct tw_judged_rows *j,
			      const struct tw_scrape_times *s)
{
	size_t outliers = 0, explained = 0;

	for (size_t i = 0; i < j->count; i++) {
		const int64_t from_ms = j->power->from_ms[j->row[i]];
		const int64_t to_ms = j->power->time_ms[j->row[i]];

		if (j->fate[i] != TW_ROW_OUTLIER)
			continue;
		outliers++;
		explained += tw_scrapes_within(s, from_ms, to_ms) * s->interval_ms >
			     to_ms - from_ms;
	}
	return outliers >= EXPLAINED_MIN &&
	       (double)explained >= EXPLAINED_SHARE * (double)outliers;
}

/* Find the scrapes, unless the exporter's own clock tells them. */
static int find_unknown_scrapes(const struct tw_judged_rows *j, const struct tw_rates *r,
				struct tw_scrape_times *s, struct tw_err *err)
{
	return r->clock->count == 0 ? find_scrapes(j, s, err) : 0;
}

/*
 * Find the scrapes, and mark glitches. A few glitches bend the line of few rows, so the
 * scrapes must show without them. But rows with the work of those without a scrape look
 * like glitches.
 */
static int find_wrong_times(struct tw_judged_rows *j, const struct tw_rates *r,
			    struct tw_scrape_times *s, struct tw_err *err)
{
	if (find_unknown_scrapes(j, r, s, err) < 0)
		return -1;
	tw_outliers_mark_glitches(j);
	if (s->interval_ms == 0 || has_unscraped(j, s) || !has_few_outliers(j) ||
	    explains_outliers(j, s))
		return 0;
	return find_scrapes(j, s, err);
}

/*
 * Rows that have the times of no scrapes are all wrong: none is an outlier of them. Those
 * of an inert meter have the power of others: none is a glitch, and no side stands still.
 */
static int judge(struct tw_judged_rows *j, const struct tw_rates *r,
		 struct tw_clean_counts *n, struct tw_err *err)
{
	struct tw_scrape_times s = { 0 };
	bool inert;

	tw_judged_find_load(j);
	if (tw_judged_find_line(j, err) < 0)
		return -1;
	tw_outliers_mark_impossible(j);
	inert = is_inert(j);
	/* Rows of other times than the scrapes look like those of an inert meter. */
	if (inert ? find_unknown_scrapes(j, r, &s, err) < 0
		  : find_wrong_times(j, r, &s, err) < 0)
		return -1;
	if (s.interval_ms == 0) {
		if (!inert)
			tw_outliers_mark_still(j);
		return 0;
	}
	for (size_t i = 0; i < j->count; i++)
		j->fate[i] = TW_ROW_KEPT;
	if (s.divides)
		join_unscraped(j, &s);
	else
		n->scrapes_s = (double)s.interval_ms / 1e3;
	return 0;
}

static void count_fates(const struct tw_judged_rows *j, struct tw_clean_counts *n)
{
	for (size_t i = 0; i < j->count; i++) {
		n->standing += j->fate[i] == TW_ROW_STANDING;
		n->joined += j->fate[i] == TW_ROW_JOINED;
		if (j->fate[i] == TW_ROW_OUTLIER && n->outliers++ == 0) {
			n->first_ms = j->power->time_ms[j->row[i]];
			n->first_w = j->watts[i];
		}
	}
}

int tw_clean_rows(struct tw_power_series *p, const struct tw_node_rows *rows,
		  const struct tw_rates *r, struct tw_clean_counts *out,
		  struct tw_err *err)
{
	struct tw_judged_rows j;
	struct tw_clean_counts n = { 0 };
	int rc = -1;

	if (tw_judged_open(&j, p, rows, r, err) < 0)
		goto out;
	tw_outliers_mark_beyond_tdp(&j, r->args->tdp_w);
	if (j.count >= ROWS_MIN && judge(&j, r, &n, err) < 0)
		goto out;
	count_fates(&j, &n);
	if (j.count >= ROWS_MIN && (double)n.outliers > OUTLIERS_MAX * (double)j.count) {
		tw_fail(err, TW_INVALID,
			"%zu of %zu rows have power that no load explains, the first of "
			"%.6g W at %" PRId64 " (seconds): check the meter",
			n.outliers, j.count, n.first_w, n.first_ms / 1000);
		goto out;
	}
	if (n.outliers + n.standing + n.joined > 0)
		tw_judged_drop(&j);
	*out = n;
	rc = 0;
out:
	tw_judged_close(&j);
	return rc;
}

int tw_drop_unsteady_rows(struct tw_power_series *p, const struct tw_node_rows *rows,
			  const struct tw_rates *r, struct tw_clean_counts *out,
			  struct tw_err *err)
{
	struct tw_judged_rows j = { .count = 0 };
	bool *unsteady = NULL;
	struct tw_inertia inertia;
	int rc = -1;

	if (TW_NEW(unsteady, p->times + 1, err) < 0 ||
	    tw_judged_open(&j, p, rows, r, err) < 0)
		goto out;
	tw_judged_find_load(&j);
	inertia = find_inertia(&j);
	/* Without inertia, the energy of a row is that of its work. */
	if (p->grown_j == 0 || inertia.before + inertia.after > 0)
		out->unsure = tw_steady_find(j.load, j.watts, j.count, inertia,
					     unsteady) == TW_STEADY_FEW;
	for (size_t i = 0; i < j.count; i++) {
		out->unsteady += unsteady[i];
		j.fate[i] = unsteady[i] ? TW_ROW_UNSTEADY : TW_ROW_KEPT;
	}
	if (out->unsteady > 0)
		tw_judged_drop(&j);
	rc = 0;
out:
	tw_judged_close(&j);
	free(unsteady);
	return rc;
}

/* The first row that begins at a time or later. */
static size_t first_since(const struct tw_judged_rows *j, int64_t ms)
{
	size_t i = 0;

	while (i < j->count && j->power->from_ms[j->row[i]] < ms)
		i++;
	return i;
}

/* The rows before the first one that has the work of all; 0: all rows have it. */
static size_t count_unseen(const struct tw_judged_rows *j, const struct tw_hidden *at,
			   bool *most)
{
	for (size_t k = at->count; k-- > 0 && !*most;) {
		const size_t first = first_since(j, at->ms[k]);
		const enum tw_unseen_work u =
			tw_unseen_find(j->load, j->watts, j->count, first);

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
	struct tw_judged_rows j;
	int rc = -1;

	if (tw_judged_open(&j, p, rows, r, err) < 0)
		goto out;
	tw_judged_find_load(&j);
	out->unseen = count_unseen(&j, at, &out->unseen_most);
	for (size_t i = 0; i < out->unseen; i++)
		j.fate[i] = TW_ROW_UNSEEN;
	if (out->unseen > 0)
		tw_judged_drop(&j);
	rc = 0;
out:
	tw_judged_close(&j);
	return rc;
}
