/* SPDX-License-Identifier: Apache-2.0 */
/* The quality of the estimates: their models, errors and extrapolation. */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/power/estimates.h"
#include "collector/power/node.h"
#include "estimator/predict/power_model.h"
#include "lib/core/array.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * The labels of a model. `source` names the meter, so the model's source is
 * `energy_source`.
 */
static void label_model(struct tw_labels *l, const struct tw_estimate *s)
{
	l->count = 0;
	tw_labels_add(l, "energy_source", s->source->name);
	tw_labels_add(l, "model", tw_estimate_model(s));
}

/* ---- the model ---- */

static void expose_info(const struct tw_exposure *x)
{
	static const struct tw_expo_family info = { "tallywatt_model_info", TW_EXPO_INFO,
						    NULL,
						    "The model in use and its origin." };

	tw_expo_family(x->e, &info);
	for (size_t i = 0; i < tw_estimates_count(x->c->estimates); i++) {
		const struct tw_estimate s = tw_estimates_at(x->c->estimates, i);
		const struct tw_model_info *m;
		struct tw_labels l;

		if (s.model == NULL)
			continue;
		m = tw_power_model_info(s.model);
		label_model(&l, &s);
		tw_labels_add(&l, "source", "model");
		tw_labels_add(&l, "trainer", m->trainer);
		tw_labels_add(&l, "features", m->group->name);
		tw_labels_add(&l, "origin", s.origin);
		tw_labels_add(&l, "from", s.from);
		tw_labels_add(&l, "output", tw_output_name(s.output));
		tw_labels_add(&l, "idle",
			      tw_estimates_hide_idle(x->c->estimates, &s) ? "hidden"
									  : "scaled");
		tw_expo_count(x->e, l.at, l.count, 1);
	}
}

/* ---- one number of each estimate ---- */

static double core_ratio_of(const struct tw_estimate *s)
{
	return s->core_ratio;
}

static double mape_of(const struct tw_estimate *s)
{
	return tw_power_model_info(s->model)->mape_percent / 100;
}

static double confirmed_of(const struct tw_estimate *s)
{
	return s->confirmed_s == 0 ? NAN : (double)s->confirmed_s;
}

static double rows_of(const struct tw_estimate *s)
{
	return (double)s->rows;
}

static double rows_outside_of(const struct tw_estimate *s)
{
	return (double)s->rows_outside;
}

static double outside_of(const struct tw_estimate *s)
{
	return tw_seconds(s->outside_ns);
}

static double is_outside(const struct tw_estimate *s)
{
	return s->told ? s->outside : NAN;
}

static double loads_of(const struct tw_estimate *s)
{
	return (double)s->loads;
}

static double failures_of(const struct tw_estimate *s)
{
	return (double)s->failures;
}

static double failing_of(const struct tw_estimate *s)
{
	return (double)s->failing;
}

/* A NaN is not exported. */
static const struct model_metric {
	struct tw_expo_family family;
	double (*value)(const struct tw_estimate *s);
	bool of_model; /* needs a model, and has its labels */
} metrics[] = {
	{ { "tallywatt_model_core_ratio", TW_EXPO_GAUGE, "ratio",
	    "Cores of this machine / cores of the training machine; 1: unknown." },
	  core_ratio_of,
	  true },
	{ { "tallywatt_model_mape_ratio", TW_EXPO_GAUGE, "ratio",
	    "Mean absolute percentage error in validation, as a ratio, of the worst "
	    "component." },
	  mape_of,
	  true },
	{ { "tallywatt_model_confirmed_timestamp_seconds", TW_EXPO_GAUGE, "seconds",
	    "When its origin last confirmed the model, in Unix time." },
	  confirmed_of,
	  true },
	{ { "tallywatt_model_extrapolating", TW_EXPO_GAUGE, NULL,
	    "1 if the last tick was outside the training range of the model: its error "
	    "is unknown then." },
	  is_outside,
	  true },
	{ { "tallywatt_model_estimates_total", TW_EXPO_COUNTER, NULL,
	    "Ticks with an estimate." },
	  rows_of,
	  false },
	{ { "tallywatt_model_extrapolated_estimates_total", TW_EXPO_COUNTER, NULL,
	    "Ticks with an estimate outside the training range of the model." },
	  rows_outside_of,
	  false },
	{ { "tallywatt_model_extrapolated_seconds_total", TW_EXPO_COUNTER, "seconds",
	    "Time of estimates outside the training range of the model." },
	  outside_of,
	  false },
	{ { "tallywatt_model_loads_total", TW_EXPO_COUNTER, NULL, "Models loaded." },
	  loads_of,
	  false },
	{ { "tallywatt_model_failures_total", TW_EXPO_COUNTER, NULL,
	    "Models that could not be used, and failed searches for a model." },
	  failures_of,
	  false },
	{ { "tallywatt_model_refresh_failing", TW_EXPO_GAUGE, NULL,
	    "Origins of models that failed in the last refresh." },
	  failing_of,
	  false },
};

/* Counters belong to the energy source and continue when its model changes. */
static void expose_metric(const struct tw_exposure *x, const struct model_metric *m)
{
	tw_expo_family(x->e, &m->family);
	for (size_t i = 0; i < tw_estimates_count(x->c->estimates); i++) {
		const struct tw_estimate s = tw_estimates_at(x->c->estimates, i);
		struct tw_labels l = { .count = 0 };

		if (m->of_model && s.model == NULL)
			continue;
		if (m->of_model)
			label_model(&l, &s);
		else
			tw_labels_add(&l, "energy_source", s.source->name);
		if (!isnan(m->value(&s)))
			tw_expo_sample(x->e, l.at, l.count, m->value(&s));
	}
}

/* ---- by zone, and by feature ---- */

static void expose_error(const struct tw_exposure *x)
{
	static const struct tw_expo_family mae = {
		"tallywatt_model_mae_watts", TW_EXPO_GAUGE, "watts",
		"Mean absolute error on validation rows."
	};
	size_t zones;
	const struct tw_zone *z = tw_estimates_zones(x->c->estimates, &zones);

	tw_expo_family(x->e, &mae);
	for (size_t i = 0; i < zones; i++) {
		const struct tw_estimate s = tw_estimates_of_zone(x->c->estimates, &z[i]);
		const double watts = tw_estimates_mae(x->c->estimates, &z[i]);
		struct tw_labels l;

		if (isnan(watts))
			continue;
		label_model(&l, &s);
		tw_labels_add(&l, "zone", tw_zone_kind_name(z[i].kind));
		tw_expo_sample(x->e, l.at, l.count, watts);
	}
}

static void expose_ranges_of(const struct tw_exposure *x, const struct tw_estimate *s,
			     bool most)
{
	for (size_t p = 0; p < tw_power_model_parts(s->model); p++) {
		const char *name;
		double min, max;

		for (size_t f = 0;
		     (name = tw_power_model_range(s->model, p, f, &min, &max)) != NULL;
		     f++) {
			struct tw_labels l;

			if (isnan(min))
				continue;
			label_model(&l, s);
			tw_labels_add(
				&l, "zone",
				tw_component_name(tw_power_model_component(s->model, p)));
			tw_labels_add(&l, "feature", name);
			tw_expo_sample(x->e, l.at, l.count, most ? max : min);
		}
	}
}

/* Training range of each feature: the validation error holds inside it. */
static void expose_ranges(const struct tw_exposure *x)
{
	static const struct tw_expo_family range[] = {
		{ "tallywatt_model_feature_minimum", TW_EXPO_GAUGE, NULL,
		  "Lowest value of a feature in training, per second." },
		{ "tallywatt_model_feature_maximum", TW_EXPO_GAUGE, NULL,
		  "Highest value of a feature in training, per second." },
	};

	for (size_t most = 0; most < TW_COUNT(range); most++) {
		tw_expo_family(x->e, &range[most]);
		for (size_t i = 0; i < tw_estimates_count(x->c->estimates); i++) {
			const struct tw_estimate s = tw_estimates_at(x->c->estimates, i);

			if (s.model != NULL)
				expose_ranges_of(x, &s, most != 0);
		}
	}
}

void tw_expose_models(const struct tw_exposure *x)
{
	if (x->c->estimates == NULL)
		return;
	expose_info(x);
	for (size_t i = 0; i < TW_COUNT(metrics); i++)
		expose_metric(x, &metrics[i]);
	expose_error(x);
	expose_ranges(x);
}
