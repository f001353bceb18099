/* SPDX-License-Identifier: Apache-2.0 */
/* Which packages of a machine are told apart. */
#include "trainer/extract/extract_parts.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"

#include <stdlib.h>
#include <string.h>

/* Of packages that are left out, so many are named. */
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

size_t tw_packages_place(const struct tw_packages *p, const struct tw_series *s,
			 const char *label)
{
	const char *name = tw_series_label(s, label);
	size_t k = 0;

	while (k < p->count && p->name[k] != name)
		k++;
	return k;
}

/* ---- those that draw power ---- */

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

/* 2 comes before 10. */
static int compare_names(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	const size_t len = strlen(*x), other = strlen(*y);

	return len != other ? (len < other ? -1 : 1) : strcmp(*x, *y);
}

static int find_packages(const struct tw_prom *p, const struct tw_schema *schema,
			 const struct tw_extract_args *a,
			 const enum tw_component *component, size_t components,
			 struct tw_packages *out, struct tw_err *err)
{
	for (size_t k = 0; k < components; k++) {
		const struct tw_metric_series m =
			tw_energy_series(p, schema, component[k], a->source);
		const struct tw_series *s;
		size_t i = 0;

		while ((s = tw_metric_series_next(&m, &i)) != NULL) {
			const char *name = tw_series_label(s, schema->package_label);

			if (name != NULL &&
			    tw_packages_place(out, s, schema->package_label) ==
				    out->count &&
			    add_package(out, name, m.metric->name, err) < 0)
				return -1;
		}
	}
	qsort(out->name, out->count, sizeof(out->name[0]), compare_names);
	return 0;
}

/* ---- those that are used ---- */

static void warn_of_strangers(const char *const *name, size_t count,
			      const struct tw_metric_series *use, struct tw_buf *warnings)
{
	if (count == 0)
		return;
	tw_buf_addf(warnings, "%s: no power is told of %s", use->metric->name,
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

/* Mark the packages that are used. Returns how many series there are. */
static size_t mark_used(const struct tw_packages *p, const struct tw_extract_args *a,
			bool used[TW_PACKAGES_MAX])
{
	const char *const label = p->use.schema->package_use_label;
	const char *stranger[NAMED_MAX + 1];
	size_t count = 0, strangers = 0;

	for (size_t i = 0; i < p->use.count; i++) {
		const struct tw_series *s = &p->use.series[i];
		const size_t place = tw_packages_place(p, s, label);
		const char *name = tw_series_label(s, label);

		if (!tw_series_is_wanted(s, a))
			continue;
		count++;
		if (place < p->count)
			used[place] = true;
		else if (strangers <= NAMED_MAX &&
			 !is_among(stranger, strangers, name != NULL ? name : ""))
			stranger[strangers++] = name != NULL ? name : "";
	}
	if (a->warnings != NULL && p->count > 0)
		warn_of_strangers(stranger, strangers, &p->use, a->warnings);
	return count;
}

/* Whether each package's use is known; else none of them is told apart. */
static bool all_used(const struct tw_packages *p, const struct tw_extract_args *a)
{
	bool used[TW_PACKAGES_MAX] = { false };

	if (mark_used(p, a, used) == 0)
		return false;
	if (p->count == 0 && a->warnings != NULL)
		tw_buf_addf(a->warnings,
			    "%s: power has no label '%s': packages are not told apart\n",
			    p->use.metric->name, p->use.schema->package_label);
	for (size_t k = 0; k < p->count; k++) {
		if (used[k])
			continue;
		if (a->warnings != NULL)
			tw_buf_addf(a->warnings,
				    "%s: no series of %s '%s', which draws power: "
				    "packages are not told apart\n",
				    p->use.metric->name, p->use.schema->package_use_label,
				    p->name[k]);
		return false;
	}
	return p->count > 0;
}

int tw_packages_find(const struct tw_prom *p, const struct tw_schema *schema,
		     const struct tw_extract_args *a, const enum tw_component *component,
		     size_t components, struct tw_packages *out, struct tw_err *err)
{
	struct tw_packages found = { .use = find_use(p, schema) };

	*out = (struct tw_packages){ 0 };
	if (!a->packages || a->compat == TW_COMPAT_KMS || found.use.count == 0)
		return 0;
	if (find_packages(p, schema, a, component, components, &found, err) < 0)
		return -1;
	if (all_used(&found, a))
		*out = found;
	if (a->warnings != NULL && tw_buf_failed(a->warnings))
		return tw_fail(err, TW_NOMEM, "warnings of packages");
	return 0;
}
