/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/metric_series.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"

#include <stdio.h>
#include <string.h>

/* ---- series of a metric ---- */

/* A feature, or the power of a component by a source. */
struct want {
	const char *feature; /* NULL: power */
	enum tw_component component;
	const struct tw_energy_source *source;
};

static struct want want_feature(const char *feature)
{
	return (struct want){ .feature = feature };
}

static struct want want_power(const struct tw_energy_source *source, size_t k)
{
	return (struct want){ NULL, source->components[k], source };
}

static bool matches(const struct tw_schema_metric *m, struct want w)
{
	if (w.source == NULL)
		return (m->kind == TW_METRIC_FEATURE || m->kind == TW_METRIC_LEVEL) &&
		       strcmp(m->feature, w.feature) == 0;
	return (m->kind == TW_METRIC_ENERGY || m->kind == TW_METRIC_POWER) &&
	       m->component == w.component &&
	       (m->source == NULL || strcmp(m->source, w.source->name) == 0 ||
		!tw_energy_source_is_measured(w.source));
}

/* The schema's first metric for it, or NULL. */
static const struct tw_schema_metric *find_metric(const struct tw_schema *s,
						  struct want w)
{
	for (size_t i = 0; i < s->metric_count; i++)
		if (matches(&s->metrics[i], w))
			return &s->metrics[i];
	return NULL;
}

static bool is_unmeasured(const char *source)
{
	const struct tw_energy_source *s = tw_energy_source_find(source);

	return s != NULL && !tw_energy_source_is_measured(s);
}

/*
 * The energy source of a series; NULL: not known. A metric of a certain source may carry
 * an estimate, a simulation or passed-on power: the path or the source label shows it.
 */
static const char *source_of(const struct tw_series *s, const struct tw_schema *schema,
			     const struct tw_schema_metric *m)
{
	const char *path = tw_series_label(s, "path"), *label = NULL;
	const char *source = path != NULL ? tw_energy_source_of_path(path) : NULL;

	if (source != NULL)
		return source;
	if (schema->source_label != NULL)
		label = tw_series_label(s, schema->source_label);
	if (label != NULL)
		source = tw_schema_source(schema, label);
	return m->source == NULL || (source != NULL && is_unmeasured(source)) ? source
									      : m->source;
}

/* An entry beside that of the whole machine, which includes it. */
static bool is_entry_of_part(const struct tw_series *s)
{
	const char *type = tw_series_label(s, "source_type"),
		   *name = tw_series_label(s, "source_name");

	return type != NULL && strcmp(type, "PowerControl") == 0 && name != NULL &&
	       tw_energy_is_of_part(name);
}

/* Whether the series is of the metric and, unless source is NULL, of the source. */
static bool is_of(const struct tw_series *s, const struct tw_schema *schema,
		  const struct tw_schema_metric *m, const struct tw_energy_source *source)
{
	const char *text;

	if (m->label != NULL) {
		text = tw_series_label(s, m->label);
		if (text == NULL)
			return false;
		if (m->within ? strstr(text, m->value) == NULL
			      : strcmp(text, m->value) != 0)
			return false;
	}
	if (m->entries && is_entry_of_part(s))
		return false;
	if (source == NULL)
		return true;
	text = source_of(s, schema, m);
	return text != NULL && strcmp(text, source->name) == 0;
}

const struct tw_series *tw_metric_series_next(const struct tw_metric_series *m, size_t *i)
{
	while (*i < m->count) {
		const struct tw_series *s = &m->series[(*i)++];

		if (is_of(s, m->schema, m->metric, m->source))
			return s;
	}
	return NULL;
}

static struct tw_metric_series find_series(const struct tw_prom *p,
					   const struct tw_schema *schema,
					   const struct tw_schema_metric *metric,
					   const struct tw_energy_source *source)
{
	struct tw_metric_series m = { .schema = schema,
				      .metric = metric,
				      .source = source };

	m.series = tw_prom_series(p, metric->name, &m.count);
	return m;
}

static bool is_empty(const struct tw_metric_series *m)
{
	size_t i = 0;

	return tw_metric_series_next(m, &i) == NULL;
}

/* Whether all series have a container_id: then the metric is of workloads. */
static bool is_of_workloads(const struct tw_metric_series *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (tw_series_label(&m->series[i], "container_id") == NULL)
			return false;
	return true;
}

/* A third-party metric: its name is no canonical feature. */
static struct tw_metric_series
find_thirdparty(const struct tw_prom *p, const struct tw_schema *schema, const char *name)
{
	struct tw_metric_series m = { .schema = schema, .thirdparty = true };

	if (tw_feature_find(name) != NULL)
		return (struct tw_metric_series){ 0 };
	m.metric = tw_prom_thirdparty_metric(p, name);
	m.series = tw_prom_series(p, name, &m.count);
	m.of_node = !is_of_workloads(&m);
	return m;
}

/* The first of the schema's metrics for it that the response has series of. */
static struct tw_metric_series find_wanted(const struct tw_prom *p,
					   const struct tw_schema *schema, struct want w)
{
	for (size_t i = 0; i < schema->metric_count; i++) {
		struct tw_metric_series m;

		if (!matches(&schema->metrics[i], w))
			continue;
		m = find_series(p, schema, &schema->metrics[i], w.source);
		m.of_node = m.metric->kind == TW_METRIC_LEVEL;
		if (!is_empty(&m))
			return m;
	}
	return (struct tw_metric_series){ 0 };
}

/* Find a metric of the schema, else a third-party metric of that name. */
static struct tw_metric_series
find_present(const struct tw_prom *p, const struct tw_schema *schema, const char *feature)
{
	const struct tw_metric_series m = find_wanted(p, schema, want_feature(feature));

	return m.metric != NULL ? m : find_thirdparty(p, schema, feature);
}

static bool is_listed(const char *const *names, const char *name)
{
	for (size_t i = 0; names != NULL && names[i] != NULL; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* A feature without series, whose probe the response has other features of: all are 0. */
static struct tw_metric_series
find_zero(const struct tw_prom *p, const struct tw_schema *schema, const char *feature)
{
	struct tw_metric_series zero = { 0 };
	bool any = false;

	if (!is_listed(schema->together, feature))
		return zero;
	for (size_t i = 0; schema->together[i] != NULL; i++)
		any |= find_present(p, schema, schema->together[i]).metric != NULL;
	if (any)
		zero = (struct tw_metric_series){ .schema = schema,
						  .metric = find_metric(
							  schema, want_feature(feature)),
						  .absent = true };
	return zero;
}

static struct tw_metric_series
find_feature(const struct tw_prom *p, const struct tw_schema *schema, const char *feature)
{
	const struct tw_metric_series m = find_present(p, schema, feature);

	return m.metric != NULL ? m : find_zero(p, schema, feature);
}

struct tw_metric_series tw_energy_series(const struct tw_prom *p,
					 const struct tw_schema *schema,
					 enum tw_component c,
					 const struct tw_energy_source *source)
{
	return find_wanted(p, schema, (struct want){ NULL, c, source });
}

/* ---- whether a response has the wanted metrics ---- */

static bool has(const struct tw_prom *p, const struct tw_schema *schema, struct want w)
{
	const struct tw_metric_series m = w.feature != NULL
						  ? find_feature(p, schema, w.feature)
						  : find_wanted(p, schema, w);

	return m.metric != NULL;
}

/* Number of components, from the source's first, of which a response must have all, or
 * any if source->any. */
static size_t count_needed(const struct tw_schema *schema,
			   const struct tw_energy_source *source)
{
	return schema->some_components && !source->any ? 1 : source->count;
}

/* Whether a group needs the feature: the schema does not list it as optional. */
static bool is_needed(const struct tw_schema *schema, const char *feature)
{
	return !is_listed(schema->optional, feature);
}

static bool has_group(const struct tw_prom *p, const struct tw_schema *schema,
		      const struct tw_feature_group *g)
{
	bool any = false;

	for (size_t f = 0; f < g->count; f++) {
		if (has(p, schema, want_feature(g->features[f])))
			any = true;
		else if (is_needed(schema, g->features[f]))
			return false;
	}
	return any;
}

static bool has_source(const struct tw_prom *p, const struct tw_schema *schema,
		       const struct tw_energy_source *source)
{
	for (size_t k = 0; k < count_needed(schema, source); k++)
		if (has(p, schema, want_power(source, k)) == source->any)
			return source->any;
	return !source->any;
}

/* Whether the feature is a gauge of the node in any schema. */
static bool is_level(const char *feature)
{
	for (size_t s = 0; s < tw_schema_count(); s++)
		for (size_t i = 0; i < tw_schema_at(s)->metric_count; i++) {
			const struct tw_schema_metric *m = &tw_schema_at(s)->metrics[i];

			if (m->kind == TW_METRIC_LEVEL &&
			    matches(m, want_feature(feature)))
				return true;
		}
	return false;
}

bool tw_extract_of_node(const struct tw_prom *p, const struct tw_feature_group *g)
{
	for (size_t f = 0; f < g->count; f++)
		if (find_thirdparty(p, NULL, g->features[f]).of_node ||
		    is_level(g->features[f]))
			return true;
	return g->of_node;
}

bool tw_extract_has_group(const struct tw_prom *p, const struct tw_feature_group *g)
{
	for (size_t i = 0; i < tw_schema_count(); i++)
		if (has_group(p, tw_schema_at(i), g))
			return true;
	return false;
}

bool tw_extract_has_source(const struct tw_prom *p, const struct tw_energy_source *s)
{
	for (size_t i = 0; i < tw_schema_count(); i++)
		if (has_source(p, tw_schema_at(i), s))
			return true;
	return false;
}

bool tw_extract_has_both(const struct tw_prom *p, const struct tw_feature_group *g,
			 const struct tw_energy_source *s)
{
	for (size_t i = 0; i < tw_schema_count(); i++)
		if (has_group(p, tw_schema_at(i), g) && has_source(p, tw_schema_at(i), s))
			return true;
	return false;
}

const struct tw_energy_source *tw_extract_unmeasured(const struct tw_prom *p)
{
	for (size_t i = 0; i < tw_energy_source_count(); i++) {
		const struct tw_energy_source *s = tw_energy_source_at(i);

		if (!tw_energy_source_is_measured(s) && tw_extract_has_source(p, s))
			return s;
	}
	return NULL;
}

/* The path of a series by which its meter is a virtual tree, or NULL. */
static const char *find_virtual(const struct tw_prom *p, const struct tw_schema *schema,
				const struct tw_schema_metric *m)
{
	const struct tw_metric_series all =
		find_series(p, schema, m, tw_energy_source_find(m->source));
	const struct tw_series *s;
	size_t i = 0;

	while ((s = tw_metric_series_next(&all, &i)) != NULL) {
		const char *path = tw_series_label(s, "path");

		if (path != NULL && tw_energy_path_is_virtual(path))
			return path;
	}
	return NULL;
}

const char *tw_extract_virtual_path(const struct tw_prom *p,
				    const struct tw_energy_source *source)
{
	for (size_t k = 0; k < tw_schema_count(); k++) {
		const struct tw_schema *schema = tw_schema_at(k);

		for (size_t i = 0; i < schema->metric_count; i++) {
			const struct tw_schema_metric *m = &schema->metrics[i];
			const char *path = NULL;

			if (m->kind == TW_METRIC_ENERGY && m->source != NULL &&
			    (source == NULL || strcmp(m->source, source->name) == 0))
				path = find_virtual(p, schema, m);
			if (path != NULL)
				return path;
		}
	}
	return NULL;
}

/* ---- the schema of an extraction ---- */

/* How well a schema fits a request: the number of wanted metrics in the response, and the
 * number that the schema has a name for. */
struct fit {
	size_t there, known;
};

static void add_fit(const struct tw_prom *p, const struct tw_schema *schema,
		    struct want w, struct fit *fit)
{
	fit->known += find_metric(schema, w) != NULL;
	fit->there += has(p, schema, w);
}

static struct fit measure_features(const struct tw_prom *p,
				   const struct tw_schema *schema,
				   const struct tw_feature_group *group)
{
	struct fit fit = { 0 };

	for (size_t f = 0; f < group->count; f++)
		add_fit(p, schema, want_feature(group->features[f]), &fit);
	/* Missing optional features do not count against the schema. */
	if (has_group(p, schema, group))
		fit.there = group->count;
	return fit;
}

static struct fit measure_power(const struct tw_prom *p, const struct tw_schema *schema,
				const struct tw_energy_source *source)
{
	struct fit fit = { 0 };

	for (size_t k = 0; k < source->count; k++)
		add_fit(p, schema, want_power(source, k), &fit);
	if (has_source(p, schema, source))
		fit.there = source->count;
	return fit;
}

static struct fit measure_fit(const struct tw_prom *p, const struct tw_schema *schema,
			      const struct tw_extract_args *a)
{
	const struct fit features = measure_features(p, schema, a->group);
	const struct fit power = measure_power(p, schema, a->source);

	return (struct fit){ features.there + power.there, features.known + power.known };
}

static const struct tw_schema *choose_schema(const struct tw_prom *p,
					     const struct tw_extract_args *a)
{
	const struct tw_schema *best = tw_schema_at(0);
	struct fit most = measure_fit(p, best, a);

	for (size_t i = 1; i < tw_schema_count(); i++) {
		const struct fit fit = measure_fit(p, tw_schema_at(i), a);

		if (fit.there < most.there ||
		    (fit.there == most.there && fit.known <= most.known))
			continue;
		most = fit;
		best = tw_schema_at(i);
	}
	return best;
}

size_t tw_extract_features(const struct tw_prom *p, const struct tw_schema *schema,
			   const struct tw_feature_group *group,
			   struct tw_metric_series *out)
{
	size_t count = 0;

	for (size_t f = 0; f < group->count; f++) {
		out[count] = find_feature(p, schema, group->features[f]);
		count += out[count].metric != NULL;
	}
	return count;
}

/* ---- missing metrics ---- */

/* Append the schema's name of it, or the canonical name. */
static void add_name(struct tw_buf *out, const struct tw_schema *s, struct want w)
{
	const struct tw_schema_metric *m = find_metric(s, w);

	if (m == NULL && w.feature != NULL)
		tw_buf_addf(out, ", %s", w.feature);
	else if (m == NULL)
		tw_buf_addf(out, ", %s of %s", tw_component_name(w.component),
			    w.source->name);
	else
		tw_buf_addf(out, ", %s", m->name);
	if (m != NULL && m->label != NULL)
		tw_buf_addf(out, "{%s=\"%s\"}", m->label, m->value);
	else if (m != NULL && w.feature == NULL && m->source == NULL)
		tw_buf_addf(out, "{%s=\"%s\"}", s->source_label, w.source->name);
}

static void add_sources_of(const struct tw_metric_series *m, struct tw_buf *out)
{
	char quoted[72];
	const struct tw_series *s;
	size_t i = 0;

	while ((s = tw_metric_series_next(m, &i)) != NULL && out->len < sizeof(quoted)) {
		const char *name = source_of(s, m->schema, m->metric);

		snprintf(quoted, sizeof(quoted), "'%.64s'", name != NULL ? name : "");
		if (name != NULL && (out->len == 0 || strstr(out->data, quoted) == NULL))
			tw_buf_addf(out, "%s%s", out->len > 0 ? ", " : "", quoted);
	}
}

void tw_extract_add_sources(const struct tw_prom *p, struct tw_buf *out)
{
	for (size_t k = 0; k < tw_schema_count(); k++)
		for (size_t i = 0; i < tw_schema_at(k)->metric_count; i++) {
			const struct tw_metric_series m = find_series(
				p, tw_schema_at(k), &tw_schema_at(k)->metrics[i], NULL);

			if (m.metric->kind == TW_METRIC_ENERGY ||
			    m.metric->kind == TW_METRIC_POWER)
				add_sources_of(&m, out);
		}
}

static int check_missing(const struct tw_prom *p, const struct tw_schema *schema,
			 const struct tw_extract_args *a, struct tw_err *err)
{
	struct tw_buf names = { 0 }, sources = { 0 };
	int rc = -1;

	for (size_t f = 0; f < a->group->count; f++) {
		const struct want w = want_feature(a->group->features[f]);

		if (!has(p, schema, w) && is_needed(schema, w.feature))
			add_name(&names, schema, w);
	}
	if (a->source->any && !has_source(p, schema, a->source))
		tw_buf_addf(&names, ", any component of energy source '%s'",
			    a->source->name);
	for (size_t k = 0; !a->source->any && k < count_needed(schema, a->source); k++)
		if (!has(p, schema, want_power(a->source, k)))
			add_name(&names, schema, want_power(a->source, k));
	if (tw_buf_check(&names, err) < 0)
		goto out;
	if (names.len > 0) {
		const struct tw_energy_source *other = tw_extract_unmeasured(p);

		tw_extract_add_sources(p, &sources);
		if (other != NULL && other != a->source)
			tw_buf_addf(&names, "; " TW_EXTRACT_UNMEASURED, other->name,
				    other->name);
		else if (sources.len > 0 && strstr(sources.data, a->source->name) == NULL)
			tw_buf_addf(&names, TW_EXTRACT_SOURCES, sources.data);
		tw_fail(err, TW_NOTFOUND, "response has no series of %s", names.data + 2);
		goto out;
	}
	rc = 0;
out:
	tw_buf_clear(&names);
	tw_buf_clear(&sources);
	return rc;
}

int tw_extract_input_find(const struct tw_prom *p, const struct tw_extract_args *a,
			  struct tw_extract_input *out, struct tw_err *err)
{
	struct tw_extract_input in = { .prom = p, .args = a };

	if (a->group->count > TW_EXTRACT_FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "%s: %zu features, limit is %d",
			       a->group->name, a->group->count, TW_EXTRACT_FEATURES_MAX);
	in.schema = choose_schema(p, a);
	if (check_missing(p, in.schema, a, err) < 0)
		return -1;
	in.features = tw_extract_features(p, in.schema, a->group, in.feature);
	for (size_t k = 0; k < a->source->count; k++) {
		struct tw_metric_series *m = &in.power[in.components];

		*m = find_wanted(p, in.schema, want_power(a->source, k));
		in.components += m->metric != NULL;
	}
	*out = in;
	return 0;
}

/* ---- one series ---- */

bool tw_series_is_wanted(const struct tw_series *s, const struct tw_extract_args *a)
{
	return s->guest == a->vm_metrics;
}
