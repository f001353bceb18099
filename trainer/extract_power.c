/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract_parts.h"

#include "lib/err.h"

#include <stdlib.h>
#include <string.h>

/* Watts of one component. */
struct curve {
	int64_t *time_ms;
	double *watts;
	size_t count;
};

static void release_curve(struct curve *c)
{
	free(c->time_ms);
	free(c->watts);
	*c = (struct curve){ 0 };
}

/* Energy series of the component and source, as counters told apart by their units. */
static int find_counters(const struct tw_metric_series *m,
			 const struct tw_extract_args *a, struct tw_counters *out,
			 struct tw_err *err)
{
	bool strict = m->metric->kind == TW_METRIC_ENERGY &&
		      a->resets == TW_RESETS_REFUSE && a->compat == TW_COMPAT_NONE;
	const struct tw_series *s;
	size_t i = 0;

	while ((s = tw_metric_series_next(m, &i)) != NULL) {
		if (strict && tw_series_check_resets(s, m->metric->name, err) < 0)
			return -1;
		if (tw_counters_add(out, m->schema->unit_labels, 0, s, err) < 0)
			return -1;
	}
	tw_counters_sort(out);
	return 0;
}

static size_t count_keys(const struct tw_counters *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i = tw_counters_next(c, i))
		n++;
	return n;
}

/* Drop the times at which a counter is missing: their sum is not the component's. */
static size_t keep_whole(struct tw_track *t, size_t keys, int64_t *time_ms,
			 double *joules)
{
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++) {
		if (t->at[i].keys < keys)
			continue;
		time_ms[n] = t->at[i].time_ms;
		joules[n++] = t->at[i].value;
	}
	return n;
}

/*
 * Energy to power, in place:
 *
 *	P[i] = (E[i] - E[i-1]) / step,	step = t[i] - t[i-1]
 *
 * or, as kepler-model-server has it, the mean of all steps. Where energy falls, the power
 * before it goes on (0 at first). The first time falls away.
 */
static void derive(struct curve *c, double factor, enum tw_compat compat)
{
	double mean_s, last = 0;

	if (c->count < 2) {
		c->count = 0;
		return;
	}
	mean_s = (double)(c->time_ms[c->count - 1] - c->time_ms[0]) / 1e3 /
		 (double)(c->count - 1);
	for (size_t i = 1; i < c->count; i++) {
		double step_s = (double)(c->time_ms[i] - c->time_ms[i - 1]) / 1e3;
		double joules = (c->watts[i] - c->watts[i - 1]) * factor;

		if (joules >= 0)
			last = joules / (compat == TW_COMPAT_KMS ? mean_s : step_s);
		/* The energy of i - 1 is not needed any more. */
		c->watts[i - 1] = last;
	}
	c->count--;
	memmove(c->time_ms, c->time_ms + 1, c->count * sizeof(*c->time_ms));
}

/* A gauge has no difference; its first time falls away, as no rate is known there. */
static void shift(struct curve *c, double factor)
{
	c->count -= c->count > 0;
	memmove(c->time_ms, c->time_ms + 1, c->count * sizeof(*c->time_ms));
	for (size_t i = 0; i < c->count; i++)
		c->watts[i] = c->watts[i + 1] * factor;
}

static int make_curve(const struct tw_prom *p, const struct tw_schema *schema,
		      const struct tw_extract_args *a, enum tw_component component,
		      struct curve *out, struct tw_err *err)
{
	struct tw_metric_series m = tw_energy_series(p, schema, component, a->source);
	struct tw_counters counters = { 0 };
	struct tw_track track = { 0 };
	int rc = -1;

	if (find_counters(&m, a, &counters, err) < 0 ||
	    tw_track_join(&track, counters.at, counters.count, err) < 0)
		goto out;
	out->time_ms = calloc(track.count + 1, sizeof(*out->time_ms));
	out->watts = calloc(track.count + 1, sizeof(*out->watts));
	if (out->time_ms == NULL || out->watts == NULL) {
		tw_fail(err, TW_NOMEM, "%zu samples of power", track.count);
		goto out;
	}
	out->count =
		keep_whole(&track, a->compat == TW_COMPAT_KMS ? 0 : count_keys(&counters),
			   out->time_ms, out->watts);
	if (m.metric->kind == TW_METRIC_POWER)
		shift(out, m.metric->factor);
	else
		derive(out, m.metric->factor, a->compat);
	rc = 0;
out:
	tw_track_release(&track);
	tw_counters_release(&counters);
	return rc;
}

/* Advance each curve to the next time that all of them have; false at the end. */
static bool find_common(const struct curve *c, size_t count, size_t *at)
{
	size_t same = 0;

	while (same < count) {
		same = 0;
		for (size_t k = 0; k < count; k++) {
			int64_t first = at[0] < c[0].count ? c[0].time_ms[at[0]] : 0;

			while (at[k] < c[k].count && c[k].time_ms[at[k]] < first)
				at[k]++;
			if (at[k] == c[k].count)
				return false;
			if (c[k].time_ms[at[k]] > first) {
				/* The first has no such time: take its next. */
				at[0]++;
				break;
			}
			same++;
		}
	}
	return true;
}

/* Put the curves beside each other; times without any power are dropped. */
static int join_curves(const struct curve *c, size_t count, struct tw_power *out,
		       struct tw_err *err)
{
	size_t at[TW_COMPONENT_COUNT] = { 0 }, room = c[0].count + 1;

	out->time_ms = calloc(room, sizeof(*out->time_ms));
	out->memory = calloc(room * count, sizeof(*out->memory));
	if (out->time_ms == NULL || out->memory == NULL)
		return tw_fail(err, TW_NOMEM, "power at %zu times", c[0].count);
	for (size_t k = 0; k < count; k++)
		out->watts[k] = out->memory + k * room;

	for (; find_common(c, count, at); at[0]++) {
		bool any = false;

		for (size_t k = 0; k < count; k++) {
			out->watts[k][out->times] = c[k].watts[at[k]];
			any |= c[k].watts[at[k]] != 0;
		}
		out->time_ms[out->times] = c[0].time_ms[at[0]];
		out->times += any;
	}
	return 0;
}

int tw_power_extract(const struct tw_prom *p, const struct tw_schema *schema,
		     const struct tw_extract_args *a, const enum tw_component *component,
		     size_t components, struct tw_power *out, struct tw_err *err)
{
	struct curve curve[TW_COMPONENT_COUNT] = { 0 };
	struct tw_power power = { 0 };
	int rc = -1;

	for (size_t k = 0; k < components; k++)
		if (make_curve(p, schema, a, component[k], &curve[k], err) < 0)
			goto out;
	if (join_curves(curve, components, &power, err) < 0)
		goto out;
	*out = power;
	power = (struct tw_power){ 0 };
	rc = 0;
out:
	for (size_t k = 0; k < TW_COMPONENT_COUNT; k++)
		release_curve(&curve[k]);
	tw_power_release(&power);
	return rc;
}

void tw_power_release(struct tw_power *p)
{
	free(p->time_ms);
	free(p->memory);
	*p = (struct tw_power){ 0 };
}
