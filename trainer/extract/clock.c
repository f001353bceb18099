/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/clock.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "trainer/extract/clean.h"
#include "trainer/extract/counter_series.h"
#include "trainer/extract/metric_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The feature whose metric has the time of all modes of each CPU, idle ones included. */
#define MODES_FEATURE "node_cpu_user_ms"
/* The modes of a CPU count in steps of 10 ms each: smaller differences of a step from the
 * scrapes' are no late scrape. */
#define STEP_TOLERANCE 0.05
/* A CPU's modes that do not add up to the time within this are no clock. */
#define SPAN_TOLERANCE 0.03

static int reserve(struct tw_clock *c, size_t count, struct tw_err *err)
{
	if (TW_NEW(c->ms, count, err) < 0)
		return -1;
	return TW_NEW(c->at_ms, count, err);
}

/* ---- the published time of ticks ---- */

static const struct tw_schema_metric *find_kind(const struct tw_schema *s,
						enum tw_metric_kind kind)
{
	for (size_t i = 0; i < s->metric_count; i++)
		if (s->metrics[i].kind == kind)
			return &s->metrics[i];
	return NULL;
}

static int add_wanted(const struct tw_extract_input *in, const char *metric,
		      const char *const *labels, struct tw_counter_set *out,
		      struct tw_err *err)
{
	size_t count;
	const struct tw_series *s = tw_prom_series(in->prom, metric, &count);

	for (size_t i = 0; i < count; i++)
		if (tw_series_is_wanted(&s[i], in->args) &&
		    tw_counter_set_add(out, labels, 0, &s[i], err) < 0)
			return -1;
	tw_counter_set_sort(out);
	return tw_clean_series(out, NULL, false, err);
}

/* The time of ticks starts again when the machine boots: go on by the scrapes' step. */
static void fill_ticks(struct tw_clock *c, const struct tw_merged_series *m,
		       double factor)
{
	double offset_ms = 0, last_ms = 0;

	for (size_t i = 0; i < m->count; i++) {
		/* Several exporters at one time: the mean is as good as either. */
		const double tick_ms =
			m->at[i].value / (double)m->at[i].series * factor * 1e3;
		const double ms = (double)m->at[i].time_ms;

		if (i == 0)
			offset_ms = ms - tick_ms;
		else if (tick_ms + offset_ms < last_ms)
			offset_ms = last_ms + ms - (double)m->at[i - 1].time_ms - tick_ms;
		last_ms = tick_ms + offset_ms;
		c->ms[i] = m->at[i].time_ms;
		c->at_ms[i] = last_ms;
	}
	c->count = m->count;
}

static int read_ticks(const struct tw_extract_input *in,
		      const struct tw_schema_metric *tick, struct tw_clock *c,
		      struct tw_err *err)
{
	static const char *const no_labels[] = { NULL };
	struct tw_counter_set set = { 0 };
	struct tw_merged_series m = { 0 };
	int rc = -1;

	if (add_wanted(in, tick->name, no_labels, &set, err) < 0)
		goto out;
	if (set.count > 0) {
		if (tw_merged_series_join(&m, set.at, set.count, err) < 0 ||
		    reserve(c, m.count, err) < 0)
			goto out;
		fill_ticks(c, &m, tick->factor);
	}
	rc = 0;
out:
	tw_merged_series_release(&m);
	tw_counter_set_release(&set);
	return rc;
}

/* ---- the time of a CPU's modes ---- */

/* Growth of all modes within each step, over the CPUs with samples at both ends. */
struct modes {
	struct tw_ticks ticks;
	double *grown_s;
	size_t *cpus;
	bool has_idle; /* else the modes do not add up to the time */
};

static void release_modes(struct modes *m)
{
	tw_ticks_release(&m->ticks);
	free(m->grown_s);
	free(m->cpus);
}

/* Add the growth of one CPU, whose modes' sum is s. */
static void add_cpu(struct modes *m, const struct tw_merged_series *s)
{
	uint32_t modes = 0;
	size_t k = 0;

	for (size_t i = 0; i < s->count; i++)
		modes = s->at[i].series > modes ? s->at[i].series : modes;
	for (size_t i = 1; i < s->count; i++) {
		const struct tw_merged_sample *at = &s->at[i];

		k = tw_times_find(m->ticks.ms, m->ticks.count, k, at->time_ms);
		if (at->series < modes || at[-1].series < modes ||
		    at[-1].time_ms != m->ticks.ms[k - 1] || at->value < at[-1].value)
			continue;
		m->grown_s[k] += at->value - at[-1].value;
		m->cpus[k]++;
	}
}

static bool has_idle(const struct tw_counter_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		const char *mode = tw_series_label(set->at[i].series, "mode");

		if (mode != NULL && strcmp(mode, "idle") == 0)
			return true;
	}
	return false;
}

static int add_cpus(struct modes *m, const struct tw_counter_set *set, struct tw_err *err)
{
	struct tw_merged_series sum = { 0 };
	size_t next;
	int rc = -1;

	for (size_t i = 0; i < set->count; i = next) {
		next = tw_counter_set_next(set, i);
		if (tw_merged_series_join(&sum, &set->at[i], next - i, err) < 0)
			goto out;
		add_cpu(m, &sum);
	}
	rc = 0;
out:
	tw_merged_series_release(&sum);
	return rc;
}

static int read_modes(const struct tw_extract_input *in, const char *metric,
		      struct modes *m, struct tw_err *err)
{
	static const char *const labels[] = { "cpu", NULL };
	struct tw_counter_set set = { 0 };
	int rc = -1;

	if (add_wanted(in, metric, labels, &set, err) < 0 ||
	    tw_ticks_add_set(&m->ticks, &set, err) < 0 ||
	    tw_ticks_settle(&m->ticks, err) < 0)
		goto out;
	if (TW_NEW(m->grown_s, m->ticks.count + 1, err) < 0 ||
	    TW_NEW(m->cpus, m->ticks.count + 1, err) < 0)
		goto out;
	m->has_idle = has_idle(&set);
	if (add_cpus(m, &set, err) < 0)
		goto out;
	rc = 0;
out:
	tw_counter_set_release(&set);
	return rc;
}

/* The number of CPUs, the sum of all modes per elapsed second; 0 if not known. by_cpu:
 * the growth has a counter for each CPU. */
static double count_cpus(const struct modes *m, bool *by_cpu)
{
	double grown_s = 0, elapsed_s = 0, most = 0;

	for (size_t k = 1; k < m->ticks.count; k++) {
		if (m->cpus[k] == 0)
			continue;
		grown_s += m->grown_s[k];
		elapsed_s += (double)(m->ticks.ms[k] - m->ticks.ms[k - 1]) / 1e3;
		most = fmax(most, (double)m->cpus[k]);
	}
	*by_cpu = false;
	if (elapsed_s == 0 || !m->has_idle)
		return 0;
	*by_cpu = fabs(grown_s / elapsed_s / most - 1) <= SPAN_TOLERANCE;
	if (*by_cpu)
		return most;
	/* Without a label `cpu` the sum is that of all CPUs. */
	most = round(grown_s / elapsed_s);
	return most >= 1 && fabs(grown_s / elapsed_s / most - 1) <= SPAN_TOLERANCE ? most
										   : 0;
}

static int fill_by_modes(struct tw_clock *c, const struct modes *m, struct tw_err *err)
{
	double late_ms = 0;

	if (reserve(c, m->ticks.count, err) < 0)
		return -1;
	for (size_t k = 0; k < m->ticks.count; k++) {
		if (k > 0 && m->cpus[k] > 0) {
			const double step_ms =
				(double)(m->ticks.ms[k] - m->ticks.ms[k - 1]);
			const double more_ms =
				m->grown_s[k] / (double)m->cpus[k] * 1e3 - step_ms;

			if (fabs(more_ms) > STEP_TOLERANCE * step_ms)
				late_ms += more_ms;
		}
		c->ms[k] = m->ticks.ms[k];
		c->at_ms[k] = (double)m->ticks.ms[k] + late_ms;
		if (k > 0 && c->at_ms[k] < c->at_ms[k - 1])
			c->at_ms[k] = c->at_ms[k - 1];
	}
	c->count = m->ticks.count;
	return 0;
}

/* Whether the schema's own metrics are the modes. */
static bool has_metric(const struct tw_schema *s, const char *name)
{
	for (size_t i = 0; i < s->metric_count; i++)
		if (strcmp(s->metrics[i].name, name) == 0)
			return true;
	return false;
}

/* Take the CPUs, and the clock if it is the schema's own, from the modes of a metric. */
static int use_modes(const struct tw_extract_input *in, const char *metric,
		     struct tw_clock *c, struct tw_err *err)
{
	struct modes m = { 0 };
	bool by_cpu;
	int rc = -1;

	if (read_modes(in, metric, &m, err) < 0)
		goto out;
	c->cpus = count_cpus(&m, &by_cpu);
	if (by_cpu && c->count == 0 && has_metric(in->schema, metric) &&
	    fill_by_modes(c, &m, err) < 0)
		goto out;
	rc = 0;
out:
	release_modes(&m);
	return rc;
}

int tw_clock_find(const struct tw_extract_input *in, struct tw_clock *out,
		  struct tw_err *err)
{
	const struct tw_schema_metric *tick = find_kind(in->schema, TW_METRIC_TICK);
	struct tw_clock c = { 0 };

	if (in->args->compat != TW_COMPAT_NONE) {
		*out = c;
		return 0;
	}
	if (tick != NULL && read_ticks(in, tick, &c, err) < 0)
		goto fail;
	for (size_t i = 0; c.cpus == 0 && i < tw_schema_count(); i++) {
		const struct tw_schema *s = tw_schema_at(i);

		for (size_t k = 0; c.cpus == 0 && k < s->metric_count; k++)
			if (s->metrics[k].kind == TW_METRIC_FEATURE &&
			    strcmp(s->metrics[k].feature, MODES_FEATURE) == 0 &&
			    use_modes(in, s->metrics[k].name, &c, err) < 0)
				goto fail;
	}
	*out = c;
	return 0;
fail:
	tw_clock_release(&c);
	return -1;
}

double tw_clock_at(const struct tw_clock *c, int64_t ms, size_t *place)
{
	size_t k;
	double part;

	if (c->count == 0)
		return (double)ms;
	k = *place < c->count && c->ms[*place] <= ms ? *place : 0;
	*place = k = tw_times_find(c->ms, c->count, k, ms);
	if (k < c->count && c->ms[k] == ms)
		return c->at_ms[k];
	if (k == 0)
		return c->at_ms[0] - (double)(c->ms[0] - ms);
	if (k == c->count)
		return c->at_ms[k - 1] + (double)(ms - c->ms[k - 1]);
	part = (double)(ms - c->ms[k - 1]) / (double)(c->ms[k] - c->ms[k - 1]);
	return c->at_ms[k - 1] + part * (c->at_ms[k] - c->at_ms[k - 1]);
}

void tw_clock_release(struct tw_clock *c)
{
	free(c->ms);
	free(c->at_ms);
	*c = (struct tw_clock){ 0 };
}
