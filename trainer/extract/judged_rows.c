/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/judged_rows.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "trainer/extract/node_rows.h"
#include "trainer/extract/power_series.h"
#include "trainer/extract/rates.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Groups of rows for the line. */
#define GROUPS 16

int tw_judged_open(struct tw_judged_rows *j, struct tw_power_series *p,
		   const struct tw_node_rows *rows, const struct tw_rates *r,
		   struct tw_err *err)
{
	const size_t times = p->times;

	*j = (struct tw_judged_rows){ .power = p, .rows = rows, .feature = r->feature };
	if (TW_NEW(j->row, times + 1, err) < 0 || TW_NEW(j->fate, times + 1, err) < 0 ||
	    TW_NEW(j->load, 6 * times + 1, err) < 0)
		return -1;
	j->watts = j->load + times;
	j->memory = j->watts + times;
	for (size_t k = r->first; k < r->end; k++) {
		if (!rows->filled[k])
			continue;
		j->watts[j->count] = p->column[0].watts[k];
		j->row[j->count++] = k;
	}
	return 0;
}

void tw_judged_close(struct tw_judged_rows *j)
{
	free(j->row);
	free(j->fate);
	free(j->load);
}

void tw_judged_drop(const struct tw_judged_rows *j)
{
	struct tw_power_series *p = j->power;
	size_t n = 0, i = 0;

	for (size_t k = 0; k < p->times; k++) {
		while (i < j->count && j->row[i] < k)
			i++;
		if (i == j->count || j->row[i] != k || j->fate[i] == TW_ROW_KEPT)
			tw_power_series_move(p, n++, k);
		else
			tw_power_series_forget(p, k);
	}
	p->times = n;
}

/* ---- the load ---- */

double tw_judged_quantile(double *v, size_t count, double q)
{
	qsort(v, count, sizeof(*v), tw_compare_doubles);
	return v[(size_t)(q * (double)(count - 1))];
}

/* The 90th percentile of values of the rows. */
static double quantile_of(const struct tw_judged_rows *j, const double *v)
{
	memcpy(j->memory, v, j->count * sizeof(*v));
	return tw_judged_quantile(j->memory, j->count, 0.9);
}

/* Add a feature as a share of its usual range, or of all of it if it is rarely above 0.
 */
static bool add_load(struct tw_judged_rows *j, const double *feature)
{
	double usual;

	for (size_t i = 0; i < j->count; i++)
		j->memory[i] = feature[j->row[i]];
	usual = tw_judged_quantile(j->memory, j->count, 0.9);
	usual = usual > 0 ? usual : j->memory[j->count - 1];
	for (size_t i = 0; usual > 0 && i < j->count; i++)
		j->load[i] += feature[j->row[i]] / usual;
	return usual > 0;
}

void tw_judged_find_load(struct tw_judged_rows *j)
{
	bool known;

	if (j->count == 0)
		return;
	known = j->rows->cpu_ms != NULL && add_load(j, j->rows->cpu_ms);
	for (size_t f = 0; !known && f < j->rows->features; f++)
		add_load(j, j->rows->feature[f]);
	j->busy = quantile_of(j, j->load);
}

/* ---- the line ---- */

struct point {
	double load, watts;
	/* Orders equal loads, so that wrong rows in sequence are spread. No two are
	 * equal. */
	uint32_t place;
};

static int compare_points(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->load != y->load)
		return x->load < y->load ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

double tw_judged_line_at(const struct tw_judged_rows *j, double load)
{
	return j->at_rest + j->slope * load;
}

/* The medians of each group of rows with about the same load. */
static void find_groups(const struct tw_judged_rows *j, struct point *all,
			struct point group[GROUPS])
{
	for (size_t i = 0; i < j->count; i++)
		all[i] = (struct point){ j->load[i], j->watts[i],
					 (uint32_t)i * 2654435761U };
	qsort(all, j->count, sizeof(*all), compare_points);
	for (size_t g = 0; g < GROUPS; g++) {
		const size_t from = g * j->count / GROUPS;
		const size_t end = (g + 1) * j->count / GROUPS;

		for (size_t i = from; i < end; i++)
			j->memory[i - from] = all[i].watts;
		group[g].load = all[(from + end) / 2].load;
		group[g].watts = tw_judged_quantile(j->memory, end - from, 0.5);
	}
}

/* The median of the slopes between groups; then of what is left at rest. */
int tw_judged_find_line(struct tw_judged_rows *j, struct tw_err *err)
{
	struct point *all = calloc(j->count, sizeof(*all)), group[GROUPS];
	double slope[GROUPS * GROUPS];
	size_t n = 0;

	if (all == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows by load", j->count);
	j->usual = quantile_of(j, j->watts);
	find_groups(j, all, group);
	free(all);
	for (size_t a = 0; a < GROUPS; a++)
		for (size_t b = 0; b < a; b++)
			if (group[a].load > group[b].load)
				slope[n++] = (group[a].watts - group[b].watts) /
					     (group[a].load - group[b].load);
	j->slope = n > 0 ? fmax(tw_judged_quantile(slope, n, 0.5), 0) : 0;
	for (size_t i = 0; i < j->count; i++)
		j->memory[i] = j->watts[i] - j->slope * j->load[i];
	j->at_rest = tw_judged_quantile(j->memory, j->count, 0.5);
	for (size_t i = 0; i < j->count; i++)
		j->memory[i] = fabs(j->watts[i] - tw_judged_line_at(j, j->load[i]));
	j->deviation = 1.4826 * tw_judged_quantile(j->memory, j->count, 0.5);
	return 0;
}
