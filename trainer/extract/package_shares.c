/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/package_shares.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "trainer/extract/counter_series.h"
#include "trainer/response/machines.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A warning names at most this many packages. */
#define NAMED_MAX 4

static struct tw_metric_series find_use(const struct tw_prom *p,
					const struct tw_schema *schema)
{
	struct tw_metric_series m = { .schema = schema };

	for (size_t i = 0; i < schema->metric_count && m.count == 0; i++) {
		if (schema->metrics[i].kind != TW_METRIC_PACKAGE_USE)
			continue;
		m.metric = &schema->metrics[i];
		m.series = tw_prom_series(p, m.metric->name, &m.count);
	}
	return m;
}

/* Index of the package that the series' label names; p->count if none. */
static size_t find_place(const struct tw_packages *p, const struct tw_series *s,
			 const char *label)
{
	const char *name = tw_series_label(s, label);
	size_t k = 0;

	while (k < p->count && p->name[k] != name)
		k++;
	return k;
}

/* ---- packages that draw power ---- */

static int add_package(struct tw_packages *p, const char *name, const char *metric,
		       struct tw_err *err)
{
	if (strlen(name) > TW_PACKAGE_NAME_MAX)
		return tw_fail(err, TW_INVALID,
			       "%s: package '%.*s..' is longer than %d bytes", metric,
			       TW_PACKAGE_NAME_MAX, name, TW_PACKAGE_NAME_MAX);
	if (p->count == TW_PACKAGES_MAX)
		return tw_fail(err, TW_INVALID, "%s: more than %d packages", metric,
			       TW_PACKAGES_MAX);
	p->name[p->count++] = name;
	return 0;
}

/* Shorter names first, so that 2 comes before 10. */
static int compare_names(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	const size_t len = strlen(*x), other = strlen(*y);

	return len != other ? (len < other ? -1 : 1) : strcmp(*x, *y);
}

static int find_packages(const struct tw_extract_input *in, struct tw_packages *out,
			 struct tw_err *err)
{
	const char *label = in->schema->package_label;

	for (size_t k = 0; k < in->components; k++) {
		const struct tw_metric_series *m = &in->power[k];
		const struct tw_series *s;
		size_t i = 0;

		while ((s = tw_metric_series_next(m, &i)) != NULL) {
			const char *name = tw_series_label(s, label);

			if (name != NULL && find_place(out, s, label) == out->count &&
			    add_package(out, name, m->metric->name, err) < 0)
				return -1;
		}
	}
	qsort(out->name, out->count, sizeof(out->name[0]), compare_names);
	return 0;
}

/* ---- packages with known usage ---- */

/* Warn of packages with usage but without power. */
static void warn_of_unpowered(const char *const *name, size_t count,
			      const struct tw_metric_series *use, struct tw_buf *warnings)
{
	if (count == 0)
		return;
	tw_buf_addf(warnings, "%s: no power series of %s", use->metric->name,
		    use->schema->package_use_label);
	for (size_t i = 0; i < count && i < NAMED_MAX; i++)
		tw_buf_addf(warnings, " '%.*s'", TW_PACKAGE_NAME_MAX, name[i]);
	tw_buf_addf(warnings, "%s: left out\n", count > NAMED_MAX ? " and others" : "");
}

static bool is_among(const char *const *name, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (name[i] == text)
			return true;
	return false;
}

/* Mark the packages that have usage. Returns the number of wanted series. */
static size_t mark_used(const struct tw_packages *p, const struct tw_extract_args *a,
			bool used[TW_PACKAGES_MAX])
{
	const char *const label = p->use.schema->package_use_label;
	const char *unpowered[NAMED_MAX + 1];
	size_t count = 0, unpowered_count = 0;

	for (size_t i = 0; i < p->use.count; i++) {
		const struct tw_series *s = &p->use.series[i];
		const size_t place = find_place(p, s, label);
		const char *name = tw_series_label(s, label);

		if (!tw_series_is_wanted(s, a))
			continue;
		count++;
		if (place < p->count)
			used[place] = true;
		else if (unpowered_count <= NAMED_MAX &&
			 !is_among(unpowered, unpowered_count, name != NULL ? name : ""))
			unpowered[unpowered_count++] = name != NULL ? name : "";
	}
	if (a->warnings != NULL && p->count > 0)
		warn_of_unpowered(unpowered, unpowered_count, &p->use, a->warnings);
	return count;
}

/* Whether each package's usage is known; else packages are not separated. */
static bool all_used(const struct tw_packages *p, const struct tw_extract_args *a)
{
	bool used[TW_PACKAGES_MAX] = { false };

	if (mark_used(p, a, used) == 0)
		return false;
	if (p->count == 0 && a->warnings != NULL)
		tw_buf_addf(a->warnings,
			    "%s: power has no label '%s': packages are not separated\n",
			    p->use.metric->name, p->use.schema->package_label);
	for (size_t k = 0; k < p->count; k++) {
		if (used[k])
			continue;
		if (a->warnings != NULL)
			tw_buf_addf(a->warnings,
				    "%s: no series of %s '%s', which draws power: "
				    "packages are not separated\n",
				    p->use.metric->name, p->use.schema->package_use_label,
				    p->name[k]);
		return false;
	}
	return p->count > 0;
}

int tw_packages_find(const struct tw_extract_input *in, struct tw_packages *out,
		     struct tw_err *err)
{
	const struct tw_extract_args *a = in->args;
	struct tw_packages found = { .use = find_use(in->prom, in->schema) };

	*out = (struct tw_packages){ 0 };
	if (!a->packages || a->compat == TW_COMPAT_KMS || found.use.count == 0)
		return 0;
	if (find_packages(in, &found, err) < 0)
		return -1;
	if (all_used(&found, a))
		*out = found;
	if (a->warnings != NULL && tw_buf_failed(a->warnings))
		return tw_fail(err, TW_NOMEM, "warnings of packages");
	return 0;
}

/* ---- shares of the rows ---- */

static bool is_before(const struct tw_dataset *d, size_t row, int64_t time_ms,
		      uint32_t id)
{
	return d->time_ms[row] != time_ms ? d->time_ms[row] < time_ms
					  : d->id != NULL && d->id[row] < id;
}

/* The first row from `from` on that is not before the time and id; rows are sorted by
 * both. Its cost follows the distance, as that of tw_times_find(). */
static size_t find_row(const struct tw_dataset *d, size_t from, int64_t time_ms,
		       uint32_t id)
{
	size_t low = from, high, step = 1;

	for (; low + step < d->rows && is_before(d, low + step, time_ms, id); step *= 2)
		low += step;
	high = low + step < d->rows ? low + step : d->rows;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (is_before(d, middle, time_ms, id))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ---- usage ---- */

/* Add a column for the usage of one package, NaN where not known. */
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

static void fill_use(const struct tw_merged_series *t, const struct tw_dataset *d,
		     uint32_t id, double factor, double *use)
{
	size_t row = 0;

	for (size_t i = 0; i < t->count; i++) {
		row = find_row(d, row, t->at[i].time_ms, id);
		if (row == d->rows)
			return;
		if (d->time_ms[row] == t->at[i].time_ms &&
		    (d->id == NULL || d->id[row] == id))
			use[row] = t->at[i].value * factor;
	}
}

static int find_counters(const struct tw_packages *p, const struct tw_extract_args *a,
			 bool by_id, struct tw_guest *guest, struct tw_counter_set *out,
			 struct tw_err *err)
{
	static const char *const no_labels[] = { NULL };
	const struct tw_schema *schema = p->use.schema;

	for (size_t i = 0; i < p->use.count; i++) {
		const struct tw_series *s = &p->use.series[i];
		const size_t place = find_place(p, s, schema->package_use_label);

		if (place == p->count || !tw_series_is_wanted(s, a))
			continue;
		if (tw_guest_check(guest, schema, s, err) < 0 ||
		    tw_counter_set_add(out, by_id ? schema->id_labels : no_labels, place,
				       s, err) < 0)
			return -1;
	}
	tw_counter_set_sort(out);
	return 0;
}

/* Fill the usage columns. Ids and keys are both sorted: walk them together. */
static int read_use(const struct tw_packages *p, const struct tw_counter_set *c,
		    const struct tw_dataset *d, double *const *use, struct tw_err *err)
{
	const struct tw_strs *ids = &d->ids;
	const bool by_id = d->id != NULL;
	struct tw_merged_series track = { 0 };
	uint32_t id = 0;
	size_t next;
	int rc = -1;

	for (size_t i = 0; i < c->count; i = next) {
		const struct tw_counter_series *at = &c->at[i];

		next = tw_counter_set_next(c, i);
		while (by_id && id < ids->count && strcmp(ids->at[id], at->key) < 0)
			id++;
		if (by_id && (id == ids->count || strcmp(ids->at[id], at->key) != 0))
			continue;
		if (tw_merged_series_join(&track, at, next - i, err) < 0) {
			tw_err_wrap(err, "%s", p->use.metric->name);
			goto out;
		}
		fill_use(&track, d, id, p->use.metric->factor, use[at->column]);
	}
	rc = 0;
out:
	tw_merged_series_release(&track);
	return rc;
}

/* ---- shares ---- */

/* Turn usage into shares, in place. Unmark rows without shares in keep. */
static size_t divide(size_t packages, double *const *use, double *total, bool *keep,
		     size_t rows)
{
	size_t kept = 0;

	for (size_t r = 0; r < rows; r++) {
		for (size_t k = 0; k < packages; k++)
			total[r] += use[k][r];
		keep[r] = total[r] > 0; /* false for NaN */
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
			       "no row is left: %s has the usage of each package for "
			       "none of %zu rows",
			       p->use.metric->name, d->rows);
	if (kept < d->rows && a->warnings != NULL)
		tw_buf_addf(a->warnings,
			    "%s: %zu of %zu rows are left out: they use no package, or "
			    "the usage of one is not known\n",
			    p->use.metric->name, d->rows - kept, d->rows);
	if (a->warnings != NULL && tw_buf_failed(a->warnings))
		return tw_fail(err, TW_NOMEM, "warnings of packages");
	tw_dataset_keep(d, keep);
	return 0;
}

int tw_package_shares_add(const struct tw_packages *p, const struct tw_extract_args *a,
			  struct tw_guest *guest, struct tw_dataset *d,
			  struct tw_err *err)
{
	double *use[TW_PACKAGES_MAX], *total;
	struct tw_counter_set counters = { 0 };
	bool *keep = NULL;
	int rc = -1;

	if (TW_NEW(keep, d->rows + 1, err) < 0)
		goto out;
	for (size_t k = 0; k < p->count; k++)
		if (add_column(d, p->name[k], &use[k], err) < 0)
			goto out;
	if (tw_dataset_add(d, TW_PACKAGE_USAGE, &total, err) < 0 ||
	    find_counters(p, a, d->id != NULL, guest, &counters, err) < 0 ||
	    read_use(p, &counters, d, use, err) < 0)
		goto out;
	if (keep_shared(p, a, d, keep, divide(p->count, use, total, keep, d->rows), err) <
	    0)
		goto out;
	rc = 0;
out:
	free(keep);
	tw_counter_set_release(&counters);
	return rc;
}
