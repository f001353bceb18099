/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract.h"

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/num.h"
#include "trainer/extract_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* More features than any group has. */
#define FEATURES_MAX 64

const char *const tw_resets_names[] = {
	[TW_RESETS_REFUSE] = "refuse",
	[TW_RESETS_CARRY] = "carry",
	NULL,
};

struct tw_metric_series tw_feature_series(const struct tw_prom *p,
					  const struct tw_schema *schema,
					  const char *feature)
{
	struct tw_metric_series m = { 0 };

	for (size_t i = 0; i < schema->metric_count && m.count == 0; i++) {
		m.metric = &schema->metrics[i];
		if (m.metric->kind == TW_METRIC_FEATURE &&
		    strcmp(m.metric->feature, feature) == 0)
			m.series = tw_prom_series(p, m.metric->name, &m.count);
	}
	return m.count > 0 ? m : (struct tw_metric_series){ 0 };
}

struct tw_metric_series tw_energy_series(const struct tw_prom *p,
					 const struct tw_schema *schema,
					 enum tw_component c)
{
	struct tw_metric_series m = { 0 };

	for (size_t i = 0; i < schema->metric_count && m.count == 0; i++) {
		m.metric = &schema->metrics[i];
		if (m.metric->kind == TW_METRIC_ENERGY && m.metric->component == c)
			m.series = tw_prom_series(p, m.metric->name, &m.count);
	}
	return m.count > 0 ? m : (struct tw_metric_series){ 0 };
}

bool tw_series_has_source(const struct tw_series *s, const struct tw_schema *schema,
			  const struct tw_energy_source *source)
{
	const char *label = tw_series_label(s, schema->source_label);

	return label != NULL &&
	       strcmp(tw_schema_source(schema, label), source->name) == 0;
}

int tw_machine_check(struct tw_machine *m, const struct tw_schema *schema,
		     const struct tw_series *s, struct tw_err *err)
{
	for (size_t i = 0; schema->machine_labels[i] != NULL; i++) {
		const char *value = tw_series_label(s, schema->machine_labels[i]);

		assert(i < TW_MACHINE_LABELS_MAX);
		if (m->label[i] == NULL)
			m->label[i] = value;
		if (value == NULL || value == m->label[i])
			continue;
		return tw_fail(
			err, TW_INVALID,
			"response holds 2 machines or more (%s '%.60s' and '%.60s'): "
			"one is supported",
			schema->machine_labels[i], m->label[i], value);
	}
	return 0;
}

int tw_series_check_resets(const struct tw_series *s, const char *metric,
			   struct tw_err *err)
{
	char labels[96], at[TW_DOUBLE_TEXT], from[TW_DOUBLE_TEXT], to[TW_DOUBLE_TEXT];

	for (size_t i = 1; i < s->samples; i++) {
		if (s->value[i] >= s->value[i - 1])
			continue;
		tw_series_describe(s, labels, sizeof(labels));
		tw_format_double(at, (double)s->time_ms[i] / 1e3);
		tw_format_double(from, s->value[i - 1]);
		tw_format_double(to, s->value[i]);
		return tw_fail(err, TW_INVALID,
			       "%s (%s): counter falls from %s to %s at time %s; "
			       "--resets carry accepts it",
			       metric, labels, from, to, at);
	}
	return 0;
}

/* The first schema that the response speaks; the first at all if it speaks none. */
static const struct tw_schema *choose_schema(const struct tw_prom *p)
{
	for (size_t i = 0; i < tw_schema_count(); i++) {
		const struct tw_schema *s = tw_schema_at(i);

		for (size_t j = 0; j < s->metric_count; j++) {
			size_t count;

			if (tw_prom_series(p, s->metrics[j].name, &count) != NULL)
				return s;
		}
	}
	return tw_schema_at(0);
}

static bool has_component(const struct tw_prom *p, const struct tw_schema *schema,
			  enum tw_component c, const struct tw_energy_source *source)
{
	struct tw_metric_series m = tw_energy_series(p, schema, c);

	for (size_t i = 0; i < m.count; i++)
		if (tw_series_has_source(&m.series[i], schema, source))
			return true;
	return false;
}

bool tw_extract_has_group(const struct tw_prom *p, const struct tw_feature_group *g)
{
	const struct tw_schema *schema = choose_schema(p);

	for (size_t f = 0; f < g->count; f++)
		if (tw_feature_series(p, schema, g->features[f]).count == 0)
			return false;
	return true;
}

bool tw_extract_has_source(const struct tw_prom *p, const struct tw_energy_source *s)
{
	const struct tw_schema *schema = choose_schema(p);

	for (size_t k = 0; k < s->count; k++)
		if (!has_component(p, schema, s->components[k], s))
			return false;
	return true;
}

/* What the schema calls a feature or a component's energy, for errors. */
static const char *name_metric(const struct tw_schema *s, enum tw_metric_kind kind,
			       const char *feature, enum tw_component c)
{
	for (size_t i = 0; i < s->metric_count; i++) {
		const struct tw_schema_metric *m = &s->metrics[i];

		if (m->kind == kind &&
		    (kind == TW_METRIC_ENERGY ? m->component == c
					      : strcmp(m->feature, feature) == 0))
			return m->name;
	}
	return kind == TW_METRIC_ENERGY ? tw_component_name(c) : feature;
}

/* Fails naming what the response lacks, features and energy together. */
static int check_metrics(const struct tw_prom *p, const struct tw_schema *schema,
			 const struct tw_extract_args *a, struct tw_err *err)
{
	struct tw_buf names = { 0 };
	int rc = -1;

	for (size_t f = 0; f < a->group->count; f++) {
		const char *feature = a->group->features[f];

		if (tw_feature_series(p, schema, feature).count == 0)
			tw_buf_addf(&names, ", %s",
				    name_metric(schema, TW_METRIC_FEATURE, feature, 0));
	}
	for (size_t k = 0; k < a->source->count; k++) {
		enum tw_component c = a->source->components[k];

		if (!has_component(p, schema, c, a->source))
			tw_buf_addf(&names, ", %s{%s=\"%s\"}",
				    name_metric(schema, TW_METRIC_ENERGY, NULL, c),
				    schema->source_label, a->source->name);
	}
	if (tw_buf_failed(&names)) {
		tw_fail(err, TW_NOMEM, "list of metrics");
		goto out;
	}
	if (names.len > 0) {
		tw_fail(err, TW_NOTFOUND, "response has no series of %s", names.data + 2);
		goto out;
	}
	rc = 0;
out:
	tw_buf_clear(&names);
	return rc;
}

static int fail_empty(const struct tw_power *power, const struct tw_counters *workloads,
		      struct tw_err *err)
{
	int64_t first = INT64_MAX, last = 0;

	for (size_t i = 0; i < workloads->count; i++) {
		const struct tw_series *s = workloads->at[i].series;

		if (s->time_ms[0] < first)
			first = s->time_ms[0];
		if (s->time_ms[s->samples - 1] > last)
			last = s->time_ms[s->samples - 1];
	}
	if (power->times == 0)
		return tw_fail(err, TW_INVALID,
			       "no row is left: power is known at no time (two samples "
			       "of each component are needed, and one above 0 W)");
	return tw_fail(err, TW_INVALID,
		       "no row is left: power is known from %" PRId64 " to %" PRId64
		       ", features from %" PRId64 " to %" PRId64 " (seconds)",
		       power->time_ms[0] / 1000, power->time_ms[power->times - 1] / 1000,
		       first / 1000, last / 1000);
}

/* An extraction on its way. */
struct job {
	const struct tw_extract_args *args;
	struct tw_power power;
	struct tw_counters workloads;
	struct tw_rates rates;
	double factor[FEATURES_MAX];
	/* Row of each time of power; at container level, of its next workload. */
	size_t *row;
	struct tw_dataset out;
	double *feature[FEATURES_MAX]; /* columns of out */
};

/* Rows of each time into job->row, which is all zero; the number of rows in *rows. */
static int count_rows(struct job *j, size_t *rows, struct tw_err *err)
{
	bool by_id = j->args->level == TW_LEVEL_CONTAINER;
	size_t total = 0;

	for (size_t i = 0; i < j->workloads.count;) {
		if (tw_rates_next(&j->rates, &j->workloads, j->factor, &i, err) < 0)
			return -1;
		for (size_t n = 0; n < j->rates.count; n++) {
			size_t k = j->rates.at[n];

			j->row[k] = by_id ? j->row[k] + 1 : 1;
		}
	}
	for (size_t k = 0; k < j->power.times; k++) {
		size_t count = j->row[k];

		j->row[k] = total;
		total += count;
	}
	*rows = total;
	return 0;
}

static void add_row(struct job *j, size_t k, bool by_id)
{
	size_t row = j->row[k];

	j->out.time_ms[row] = j->power.time_ms[k];
	for (size_t f = 0; f < j->rates.features; f++)
		j->feature[f][row] += j->rates.rate[f * j->rates.times + k];
	if (!by_id)
		return;
	j->out.id[row] = (uint32_t)(j->out.ids.count - 1);
	j->row[k]++;
}

static int fill_rows(struct job *j, struct tw_err *err)
{
	bool by_id = j->args->level == TW_LEVEL_CONTAINER;

	for (size_t i = 0; i < j->workloads.count;) {
		const char *id = j->workloads.at[i].key;

		if (tw_rates_next(&j->rates, &j->workloads, j->factor, &i, err) < 0)
			return -1;
		if (by_id && j->rates.count > 0 && tw_strs_adds(&j->out.ids, id, err) < 0)
			return -1;
		for (size_t n = 0; n < j->rates.count; n++)
			add_row(j, j->rates.at[n], by_id);
	}
	return 0;
}

/* Times are in order in both: walk them together. */
static void fill_power(struct job *j, size_t component, double *watts)
{
	size_t k = 0;

	for (size_t row = 0; row < j->out.rows; row++) {
		while (j->power.time_ms[k] < j->out.time_ms[row])
			k++;
		watts[row] = j->power.watts[component][k];
	}
}

static int add_power_columns(struct job *j, struct tw_err *err)
{
	const struct tw_energy_source *source = j->args->source;
	bool has_package = false;
	double *v;

	for (size_t k = 0; k < source->count; k++) {
		if (tw_dataset_add(&j->out, tw_power_column(source->components[k]), &v,
				   err) < 0)
			return -1;
		fill_power(j, k, v);
		has_package |= source->components[k] == TW_PACKAGE;
	}
	if (tw_dataset_add(&j->out, "node_type", NULL, err) < 0)
		return -1;
	if (!has_package)
		return 0;
	if (tw_dataset_add(&j->out, "packge_ratio_package", &v, err) < 0)
		return -1;
	for (size_t row = 0; row < j->out.rows; row++)
		v[row] = 1.0;
	return 0;
}

static int make_dataset(struct job *j, struct tw_err *err)
{
	const struct tw_feature_group *group = j->args->group;
	size_t rows;

	j->row = calloc(j->power.times + 1, sizeof(*j->row));
	if (j->row == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows", j->power.times);
	if (tw_rates_init(&j->rates, &j->power, group->count, err) < 0 ||
	    count_rows(j, &rows, err) < 0)
		return -1;
	if (rows == 0)
		return fail_empty(&j->power, &j->workloads, err);
	if (tw_dataset_init(&j->out, rows, j->args->level == TW_LEVEL_CONTAINER, err) < 0)
		return -1;
	for (size_t f = 0; f < group->count; f++)
		if (tw_dataset_add(&j->out, group->features[f], &j->feature[f], err) < 0)
			return -1;
	if (fill_rows(j, err) < 0)
		return -1;
	return add_power_columns(j, err);
}

int tw_extract(const struct tw_prom *p, const struct tw_extract_args *a,
	       struct tw_dataset *out, struct tw_err *err)
{
	const struct tw_schema *schema = choose_schema(p);
	struct tw_machine power_machine = { 0 }, vm = { 0 };
	struct job j = { .args = a };
	int rc = -1;

	assert(a->group->count <= FEATURES_MAX);
	if (check_metrics(p, schema, a, err) < 0)
		goto out;
	for (size_t f = 0; f < a->group->count; f++)
		j.factor[f] = tw_feature_series(p, schema, a->group->features[f])
				      .metric->factor;
	/* Power of a VM is its host's: another machine by name. */
	if (tw_power_extract(p, schema, a, &power_machine, &j.power, err) < 0 ||
	    tw_workloads_find(p, schema, a, a->vm_metrics ? &vm : &power_machine,
			      &j.workloads, err) < 0 ||
	    make_dataset(&j, err) < 0)
		goto out;
	*out = j.out;
	j.out = (struct tw_dataset){ 0 };
	rc = 0;
out:
	tw_dataset_release(&j.out);
	free(j.row);
	tw_rates_release(&j.rates);
	tw_counters_release(&j.workloads);
	tw_power_release(&j.power);
	return rc;
}
