/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares of packages in the use of processors:
 *
 *	r[u] = use[u] / (use[0] + use[1] + ..)
 *
 * of a gauge that says what each workload uses of each package u; of a row of the node,
 * summed over workloads first.
 */
#include "trainer/extract/extract_parts.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows by time and id ---- */

/* All zero bytes is empty. */
struct blocks {
	const struct tw_dataset *d;
	int64_t *time_ms;
	size_t *first; /* row of each time, and behind the last */
	size_t count;
};

static void release_blocks(struct blocks *b)
{
	free(b->time_ms);
	free(b->first);
}

static int find_blocks(const struct tw_dataset *d, struct blocks *out, struct tw_err *err)
{
	size_t block = 0;

	out->d = d;
	for (size_t r = 0; r < d->rows; r++)
		out->count += r == 0 || d->time_ms[r] != d->time_ms[r - 1];
	out->time_ms = calloc(out->count + 1, sizeof(*out->time_ms));
	out->first = calloc(out->count + 1, sizeof(*out->first));
	if (out->time_ms == NULL || out->first == NULL)
		return tw_fail(err, TW_NOMEM, "%zu times", out->count);
	for (size_t r = 0; r < d->rows; r++) {
		if (r > 0 && d->time_ms[r] == d->time_ms[r - 1])
			continue;
		out->time_ms[block] = d->time_ms[r];
		out->first[block++] = r;
	}
	out->first[out->count] = d->rows;
	return 0;
}

/* Row of an id within the block, where rows are in order of ids; SIZE_MAX: none. */
static size_t find_row(const struct blocks *b, size_t block, uint32_t id)
{
	size_t low = b->first[block], high = b->first[block + 1];

	if (b->d->id == NULL)
		return low;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (b->d->id[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < b->first[block + 1] && b->d->id[low] == id ? low : SIZE_MAX;
}

/* ---- what rows use ---- */

/* A row's use of one package: a column that is NaN where it is not told. */
static int add_column(struct tw_dataset *d, const char *package, double **out,
		      struct tw_err *err)
{
	char name[sizeof(TW_RATIO_PREFIX) + TW_PACKAGE_NAME_MAX];

	snprintf(name, sizeof(name), TW_RATIO_PREFIX "%.*s", TW_PACKAGE_NAME_MAX,
		 package);
	if (tw_dataset_add(d, name, out, err) < 0)
		return -1;
	for (size_t r = 0; r < d->rows; r++)
		(*out)[r] = NAN;
	return 0;
}

static void fill_use(const struct tw_track *t, const struct blocks *b, uint32_t id,
		     double factor, double *use)
{
	size_t block = 0;

	for (size_t i = 0; i < t->count; i++) {
		size_t row;

		block = tw_times_find(b->time_ms, b->count, block, t->at[i].time_ms);
		if (block == b->count)
			return;
		if (b->time_ms[block] != t->at[i].time_ms)
			continue;
		row = find_row(b, block, id);
		if (row != SIZE_MAX)
			use[row] = t->at[i].value * factor;
	}
}

static int find_counters(const struct tw_packages *p, const struct tw_extract_args *a,
			 bool by_id, struct tw_machine *machine, struct tw_counters *out,
			 struct tw_err *err)
{
	static const char *const no_labels[] = { NULL };
	const struct tw_schema *schema = p->use.schema;

	for (size_t i = 0; i < p->use.count; i++) {
		const struct tw_series *s = &p->use.series[i];
		const size_t place = tw_packages_place(p, s, schema->package_use_label);

		if (place == p->count || !tw_series_is_wanted(s, a))
			continue;
		if (tw_machine_check(machine, schema, s, err) < 0 ||
		    tw_counters_add(out, by_id ? schema->id_labels : no_labels, place, s,
				    err) < 0)
			return -1;
	}
	tw_counters_sort(out);
	return 0;
}

/* Ids and keys are both in order: walk them together. */
static int read_use(const struct tw_packages *p, const struct tw_counters *c,
		    const struct blocks *b, double *const *use, struct tw_err *err)
{
	const struct tw_strs *ids = &b->d->ids;
	const bool by_id = b->d->id != NULL;
	struct tw_track track = { 0 };
	uint32_t id = 0;
	size_t next;
	int rc = -1;

	for (size_t i = 0; i < c->count; i = next) {
		const struct tw_counter_series *at = &c->at[i];

		next = tw_counters_next(c, i);
		while (by_id && id < ids->count && strcmp(ids->at[id], at->key) < 0)
			id++;
		if (by_id && (id == ids->count || strcmp(ids->at[id], at->key) != 0))
			continue;
		if (tw_track_join(&track, at, next - i, err) < 0) {
			tw_err_wrap(err, "%s", p->use.metric->name);
			goto out;
		}
		fill_use(&track, b, id, p->use.metric->factor, use[at->what]);
	}
	rc = 0;
out:
	tw_track_release(&track);
	return rc;
}

/* ---- shares ---- */

/* From use to shares, in place. A row without them is not kept. */
static size_t divide(size_t packages, double *const *use, double *total, bool *keep,
		     size_t rows)
{
	size_t kept = 0;

	for (size_t r = 0; r < rows; r++) {
		for (size_t k = 0; k < packages; k++)
			total[r] += use[k][r];
		/* NaN is not kept either. */
		keep[r] = total[r] > 0;
		for (size_t k = 0; keep[r] && k < packages; k++)
			use[k][r] /= total[r];
		kept += keep[r];
	}
	return kept;
}

static int keep_shared(const struct tw_packages *p, const struct tw_extract_args *a,
		       struct tw_dataset *d, const bool *keep, size_t kept,
		       struct tw_err *err)
{
	if (kept == 0)
		return tw_fail(err, TW_INVALID,
			       "no row is left: %s tells of none of %zu what it uses of "
			       "each package",
			       p->use.metric->name, d->rows);
	if (kept < d->rows && a->warnings != NULL)
		tw_buf_addf(a->warnings,
			    "%s: %zu of %zu rows are left out, which use no package, "
			    "or one of them is not told\n",
			    p->use.metric->name, d->rows - kept, d->rows);
	if (a->warnings != NULL && tw_buf_failed(a->warnings))
		return tw_fail(err, TW_NOMEM, "warnings of packages");
	tw_dataset_keep(d, keep);
	return 0;
}

int tw_shares_add(const struct tw_packages *p, const struct tw_extract_args *a,
		  struct tw_machine *machine, struct tw_dataset *d, struct tw_err *err)
{
	double *use[TW_PACKAGES_MAX], *total;
	struct tw_counters counters = { 0 };
	bool *keep = calloc(d->rows + 1, sizeof(*keep));
	struct blocks b = { 0 };
	int rc = -1;

	if (keep == NULL) {
		tw_fail(err, TW_NOMEM, "shares of %zu rows", d->rows);
		goto out;
	}
	for (size_t k = 0; k < p->count; k++)
		if (add_column(d, p->name[k], &use[k], err) < 0)
			goto out;
	if (tw_dataset_add(d, TW_PACKAGE_USAGE, &total, err) < 0 ||
	    find_counters(p, a, d->id != NULL, machine, &counters, err) < 0 ||
	    find_blocks(d, &b, err) < 0 || read_use(p, &counters, &b, use, err) < 0)
		goto out;
	if (keep_shared(p, a, d, keep, divide(p->count, use, total, keep, d->rows), err) <
	    0)
		goto out;
	rc = 0;
out:
	release_blocks(&b);
	free(keep);
	tw_counters_release(&counters);
	return rc;
}
