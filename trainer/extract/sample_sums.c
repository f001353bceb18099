/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/sample_sums.h"

#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "trainer/extract/counter_series.h"
#include "trainer/response/machines.h"
#include "trainer/response/prom_store.h"

#include <math.h>
#include <stdio.h>

struct sums {
	struct tw_extract_input in;
	struct tw_ticks times;
};

/* The metrics: the features, then the components. */
static size_t count_metrics(const struct sums *s)
{
	return s->in.features + s->in.components;
}

static const struct tw_metric_series *metric_at(const struct sums *s, size_t m)
{
	return m < s->in.features ? &s->in.feature[m] : &s->in.power[m - s->in.features];
}

/* Series of VMs hold features only: power is the host's. */
static const struct tw_series *next_series(const struct sums *s, size_t metric, size_t *i)
{
	const struct tw_series *series;

	do
		series = tw_metric_series_next(metric_at(s, metric), i);
	while (series != NULL && metric < s->in.features &&
	       !tw_series_is_wanted(series, s->in.args));
	return series;
}

static int find_times(struct sums *s, struct tw_err *err)
{
	for (size_t m = 0; m < count_metrics(s); m++) {
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
	const struct tw_schema_metric *metric = metric_at(s, m)->metric;
	const struct tw_series *series;
	char name[64];
	double *sum;

	if (m >= s->in.features)
		snprintf(name, sizeof(name), "%s_%s",
			 tw_component_name(metric->component),
			 metric->kind == TW_METRIC_POWER ? "power" : "joules");
	if (tw_dataset_add(out, m < s->in.features ? metric->feature : name, &sum, err) <
	    0)
		return -1;
	for (size_t row = 0; row < out->rows; row++)
		sum[row] = NAN;
	for (size_t i = 0; (series = next_series(s, m, &i)) != NULL;)
		add_series(s, series, metric->factor, sum);
	return 0;
}

static int make_table(struct sums *s, const struct tw_prom *p,
		      const struct tw_extract_args *a, struct tw_dataset *out,
		      struct tw_err *err)
{
	if (tw_extract_input_find(p, a, &s->in, err) < 0 || find_times(s, err) < 0 ||
	    tw_dataset_init(out, s->times.count, false, err) < 0)
		return -1;
	for (size_t row = 0; row < out->rows; row++)
		out->time_ms[row] = s->times.ms[row];
	for (size_t m = 0; m < count_metrics(s); m++)
		if (metric_at(s, m)->metric != NULL && add_column(s, m, out, err) < 0)
			return -1;
	return 0;
}

int tw_sample_sums(const struct tw_prom *p, const struct tw_extract_args *a,
		   struct tw_dataset *out, struct tw_err *err)
{
	struct sums s = { 0 };
	struct tw_prom *one = NULL;
	int rc = tw_machines_single(p, a->machine, &one, err);

	if (rc == 0)
		rc = make_table(&s, one != NULL ? one : p, a, out, err);
	if (rc < 0)
		tw_dataset_release(out);
	tw_ticks_release(&s.times);
	tw_prom_free(one);
	return rc;
}
