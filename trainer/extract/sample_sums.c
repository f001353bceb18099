/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/sample_sums.h"

#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "trainer/response/machines.h"
#include "trainer/extract/counter_series.h"
#include "trainer/extract/metric_series.h"

#include <math.h>
#include <stdio.h>

#define METRICS_MAX (64 + TW_COMPONENT_COUNT)

struct sums {
	const struct tw_extract_args *args;
	struct tw_metric_series metric[METRICS_MAX];
	size_t metrics, features; /* features come first */
	struct tw_ticks times;
};

/* Series of VMs hold features only: power is the host's. */
static const struct tw_series *next_series(const struct sums *s, size_t metric, size_t *i)
{
	const struct tw_series *series;

	do
		series = tw_metric_series_next(&s->metric[metric], i);
	while (series != NULL && metric < s->features &&
	       !tw_series_is_wanted(series, s->args));
	return series;
}

static int find_metrics(struct sums *s, const struct tw_prom *p, struct tw_err *err)
{
	const struct tw_extract_args *a = s->args;
	const struct tw_schema *schema = tw_extract_schema(p, a);
	enum tw_component component[TW_COMPONENT_COUNT];
	size_t components;

	if (a->group->count > METRICS_MAX - TW_COMPONENT_COUNT)
		return tw_fail(err, TW_INVALID, "%s: %zu features, limit is %d",
			       a->group->name, a->group->count,
			       METRICS_MAX - TW_COMPONENT_COUNT);
	if (tw_extract_check(p, schema, a, err) < 0)
		return -1;
	s->features = tw_extract_features(p, schema, a->group, s->metric);
	s->metrics = s->features;
	components = tw_extract_components(p, schema, a->source, component);
	for (size_t i = 0; i < components; i++)
		s->metric[s->metrics++] =
			tw_energy_series(p, schema, component[i], a->source);
	return 0;
}

static int find_times(struct sums *s, struct tw_err *err)
{
	for (size_t m = 0; m < s->metrics; m++) {
		const struct tw_series *series;

		for (size_t i = 0; (series = next_series(s, m, &i)) != NULL;)
			if (tw_ticks_add_series(&s->times, series, err) < 0)
				return -1;
	}
	return tw_ticks_settle(&s->times, err);
}

static void add_series(const struct sums *s, const struct tw_series *series,
		       double factor, double *sum)
{
	struct tw_unpack time = tw_unpack_begin(&series->time_ms);
	struct tw_unpack value = tw_unpack_begin(&series->value);
	size_t row = 0;

	for (size_t k = 0; k < series->time_ms.count; k++) {
		const int64_t ms = (int64_t)tw_unpack_next(&time);
		const double v = tw_unpack_next(&value) * factor;

		while (s->times.ms[row] < ms)
			row++;
		sum[row] = isnan(sum[row]) ? v : sum[row] + v;
	}
}

static int add_column(const struct sums *s, size_t m, struct tw_dataset *out,
		      struct tw_err *err)
{
	const struct tw_schema_metric *metric = s->metric[m].metric;
	const struct tw_series *series;
	char name[64];
	double *sum;

	if (m >= s->features)
		snprintf(name, sizeof(name), "%s_%s",
			 tw_component_name(metric->component),
			 metric->kind == TW_METRIC_POWER ? "power" : "joules");
	if (tw_dataset_add(out, m < s->features ? metric->feature : name, &sum, err) < 0)
		return -1;
	for (size_t row = 0; row < out->rows; row++)
		sum[row] = NAN;
	for (size_t i = 0; (series = next_series(s, m, &i)) != NULL;)
		add_series(s, series, metric->factor, sum);
	return 0;
}

static int make_table(struct sums *s, const struct tw_prom *p, struct tw_dataset *out,
		      struct tw_err *err)
{
	if (find_metrics(s, p, err) < 0 || find_times(s, err) < 0 ||
	    tw_dataset_init(out, s->times.count, false, err) < 0)
		return -1;
	for (size_t row = 0; row < out->rows; row++)
		out->time_ms[row] = s->times.ms[row];
	for (size_t m = 0; m < s->metrics; m++)
		if (s->metric[m].metric != NULL && add_column(s, m, out, err) < 0)
			return -1;
	return 0;
}

int tw_sample_sums(const struct tw_prom *p, const struct tw_extract_args *a,
		   struct tw_dataset *out, struct tw_err *err)
{
	struct sums s = { .args = a };
	struct tw_prom *one = NULL;
	int rc = tw_machines_single(p, a->machine, &one, err);

	if (rc == 0)
		rc = make_table(&s, one != NULL ? one : p, out, err);
	if (rc < 0)
		tw_dataset_release(out);
	tw_ticks_release(&s.times);
	tw_prom_free(one);
	return rc;
}
