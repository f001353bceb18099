/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/response/thirdparty.h"

#include "isolator/isolator.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "trainer/response/schema.h"

#include <stdlib.h>
#include <string.h>

/* Prometheus' grammar: [a-zA-Z_:][a-zA-Z0-9_:]* */
static bool is_metric_name(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ_:0123456789";

	return name[0] != '\0' && strspn(name, letters) == strlen(name) &&
	       (name[0] < '0' || name[0] > '9');
}

/* Whether the name is a column other than a feature. */
static bool is_taken(const char *name)
{
	return tw_isolate_is_of_node(name) || strcmp(name, "timestamp") == 0 ||
	       strcmp(name, "id") == 0 || strcmp(name, TW_PACKAGE_USAGE) == 0 ||
	       strncmp(name, TW_BACKGROUND_PREFIX, strlen(TW_BACKGROUND_PREFIX)) == 0;
}

/* Whether the metric is an input of power: as a feature it would leak the target. */
static bool is_power(const char *name)
{
	const struct tw_schema *s = tw_schema_of_metric(name);

	for (size_t i = 0; s != NULL && i < s->metric_count; i++)
		if (strcmp(s->metrics[i].name, name) == 0)
			return s->metrics[i].kind == TW_METRIC_ENERGY ||
			       s->metrics[i].kind == TW_METRIC_POWER;
	return false;
}

static int check_name(const char *name, struct tw_err *err)
{
	if (strlen(name) > TW_FEATURE_NAME_MAX)
		return tw_fail(err, TW_INVALID, "'%.32s..' is longer than %d bytes", name,
			       TW_FEATURE_NAME_MAX);
	if (!is_metric_name(name))
		return tw_fail(err, TW_INVALID, "'%s' is not a valid metric name", name);
	if (tw_feature_find(name) != NULL)
		return tw_fail(err, TW_INVALID,
			       "'%s' is a feature; name a metric of an exporter", name);
	if (is_power(name))
		return tw_fail(err, TW_INVALID,
			       "'%s' measures power and cannot be a feature", name);
	if (is_taken(name))
		return tw_fail(err, TW_INVALID, "'%s' is a reserved column name", name);
	return 0;
}

/* Fill `at` with the group's features and the names, sorted. */
static void merge(const struct tw_feature_group *base, const struct tw_strs *names,
		  const char **at)
{
	size_t count = 0;

	for (size_t i = 0; i < base->count; i++)
		at[count++] = base->features[i];
	for (size_t i = 0; i < names->count; i++)
		at[count++] = names->at[i];
	qsort(at, count, sizeof(*at), tw_compare_texts);
}

static int make_groups(struct tw_thirdparty *t, struct tw_err *err)
{
	const size_t count = tw_feature_group_count();
	size_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += tw_feature_group_at(i)->count + t->names.count;
	if (TW_NEW(t->group, count, err) < 0 || TW_NEW(t->feature, total, err) < 0)
		return -1;
	total = 0;
	for (size_t i = 0; i < count; i++) {
		const struct tw_feature_group *base = tw_feature_group_at(i);
		const char **at = t->feature + total;

		merge(base, &t->names, at);
		t->group[i] = *base;
		t->group[i].features = at;
		t->group[i].count = base->count + t->names.count;
		total += t->group[i].count;
	}
	return 0;
}

int tw_thirdparty_init(struct tw_thirdparty *t, const struct tw_strs *names,
		       struct tw_err *err)
{
	struct tw_thirdparty made = { 0 };

	if (names->count > TW_THIRDPARTY_MAX)
		return tw_fail(err, TW_INVALID, "%zu metrics, limit is %d", names->count,
			       TW_THIRDPARTY_MAX);
	for (size_t i = 0; i < names->count; i++)
		if (check_name(names->at[i], err) < 0 ||
		    (!tw_strs_has(&made.names, names->at[i]) &&
		     tw_strs_adds(&made.names, names->at[i], err) < 0))
			goto fail;
	tw_strs_sort(&made.names);
	if (made.names.count > 0 && make_groups(&made, err) < 0)
		goto fail;
	*t = made;
	return 0;
fail:
	tw_thirdparty_release(&made);
	return -1;
}

int tw_thirdparty_declare(struct tw_thirdparty *t, const struct tw_strs *gauges,
			  struct tw_err *err)
{
	for (size_t i = 0; i < gauges->count; i++) {
		if (!tw_strs_has(&t->names, gauges->at[i]))
			return tw_fail(err, TW_INVALID,
				       "'%.64s' is not among the third-party metrics",
				       gauges->at[i]);
		if (!tw_strs_has(&t->gauges, gauges->at[i]) &&
		    tw_strs_adds(&t->gauges, gauges->at[i], err) < 0)
			return -1;
	}
	tw_strs_sort(&t->gauges);
	return 0;
}

const struct tw_feature_group *tw_thirdparty_group(const struct tw_thirdparty *t,
						   const struct tw_feature_group *base)
{
	for (size_t i = 0; t != NULL && t->group != NULL && base != NULL; i++)
		if (strcmp(t->group[i].name, base->name) == 0)
			return &t->group[i];
	return base;
}

void tw_thirdparty_release(struct tw_thirdparty *t)
{
	free(t->group);
	free(t->feature);
	tw_strs_clear(&t->names);
	tw_strs_clear(&t->gauges);
	*t = (struct tw_thirdparty){ 0 };
}
