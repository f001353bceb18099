/* SPDX-License-Identifier: Apache-2.0 */
/* The quality of the estimates: their models, errors and extrapolation. */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/power/estimates.h"
#include "estimator/predict/power_model.h"
#include "lib/core/array.h"

#include <math.h>

/* The figures that an estimate exports; NAN: no sample. */
struct figures {
	double core_ratio, mape_ratio, extrapolating;
	double confirmed_s;
	uint64_t rows, rows_outside, loads, failures;
	double outside_s;
	uint32_t failing;
};

#define ROW(name, type, unit, help, member) \
	TW_EXPO_ROW("tallywatt_model_" name, type, unit, help, struct figures, member, 1)

static const struct tw_expo_row of_model[] = {
	ROW("core_ratio", TW_EXPO_GAUGE, "ratio",
	    "Cores of this machine / cores of the training machine; 1: unknown.",
	    core_ratio),
	ROW("mape_ratio", TW_EXPO_GAUGE, "ratio",
	    "Mean absolute percentage error in validation, as a ratio, of the worst "
	    "component.",
	    mape_ratio),
	ROW("confirmed_timestamp_seconds", TW_EXPO_GAUGE, "seconds",
	    "When its origin last confirmed the model, in Unix time.", confirmed_s),
	ROW("extrapolating", TW_EXPO_GAUGE, NULL,
	    "1 if the last tick was outside the training range of the model: its error "
	    "is unknown then.",
	    extrapolating),
};

/* Counters belong to the energy source and continue when its model changes. */
static const struct tw_expo_row of_source[] = {
	ROW("estimates_total", TW_EXPO_COUNTER, NULL, "Ticks with an estimate.", rows),
	ROW("extrapolated_estimates_total", TW_EXPO_COUNTER, NULL,
	    "Ticks with an estimate outside the training range of the model.",
	    rows_outside),
	ROW("extrapolated_seconds_total", TW_EXPO_COUNTER, "seconds",
	    "Time of estimates outside the training range of the model.", outside_s),
	ROW("loads_total", TW_EXPO_COUNTER, NULL, "Models loaded.", loads),
	ROW("failures_total", TW_EXPO_COUNTER, NULL,
	    "Models that could not be used, and failed searches for a model.", failures),
	ROW("refresh_failing", TW_EXPO_GAUGE, NULL,
	    "Origins of models that failed in the last refresh.", failing),
};

enum { INFO, MAE, MINIMUM, MAXIMUM };

static const struct tw_expo_family families[] = {
	[INFO] = { "tallywatt_model_info", TW_EXPO_INFO, NULL,
		   "The model in use and its origin." },
	[MAE] = { "tallywatt_model_mae_watts", TW_EXPO_GAUGE, "watts",
		  "Mean absolute error on validation rows." },
	/* Training range of each feature: the validation error holds inside it. */
	[MINIMUM] = { "tallywatt_model_feature_minimum", TW_EXPO_GAUGE, NULL,
		      "Lowest value of a feature in training, per second." },
	[MAXIMUM] = { "tallywatt_model_feature_maximum", TW_EXPO_GAUGE, NULL,
		      "Highest value of a feature in training, per second." },
};

const struct tw_expo_table tw_estimate_families[] = {
	TW_EXPO_TABLE(families),
	TW_EXPO_TABLE(of_model),
	TW_EXPO_TABLE(of_source),
	{ .first = NULL },
};

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
	tw_expo_family(x->e, &families[INFO]);
	for (size_t i = 0; i < tw_estimates_count(x->c->estimates); i++) {
		const struct tw_estimate *s = tw_estimates_at(x->c->estimates, i);
		const struct tw_model_info *m;
		struct tw_labels l;

		if (s->model == NULL)
			continue;
		m = tw_power_model_info(s->model);
		label_model(&l, s);
		tw_labels_add(&l, "source", "model");
		tw_labels_add(&l, "trainer", m->trainer);
		tw_labels_add(&l, "features", m->group->name);
		tw_labels_add(&l, "origin", s->origin);
		tw_labels_add(&l, "from", s->from);
		tw_labels_add(&l, "output", tw_output_name(s->output));
		tw_labels_add(&l, "idle",
			      tw_estimates_hide_idle(x->c->estimates, s) ? "hidden"
									 : "scaled");
		tw_expo_count(x->e, l.at, l.count, 1);
	}
}

/* ---- the numbers of each estimate ---- */

static struct figures figures_of(const struct tw_estimate *s)
{
	return (struct figures){
		.core_ratio = s->core_ratio,
		.mape_ratio = s->model != NULL
				      ? tw_power_model_info(s->model)->mape_percent / 100
				      : NAN,
		.confirmed_s = s->confirmed_s == 0 ? NAN : (double)s->confirmed_s,
		.extrapolating = s->fresh ? s->outside : NAN,
		.rows = s->rows,
		.rows_outside = s->rows_outside,
		.outside_s = tw_seconds(s->outside_ns),
		.loads = s->loads,
		.failures = s->failures,
		.failing = s->failing,
	};
}

static void expose_row(const struct tw_exposure *x, const struct tw_expo_row *row,
		       bool by_model)
{
	tw_expo_family(x->e, &row->family);
	for (size_t i = 0; i < tw_estimates_count(x->c->estimates); i++) {
		const struct tw_estimate *s = tw_estimates_at(x->c->estimates, i);
		const struct figures figures = figures_of(s);
		struct tw_labels l = { .count = 0 };

		if (by_model && s->model == NULL)
			continue;
		if (by_model)
			label_model(&l, s);
		else
			tw_labels_add(&l, "energy_source", s->source->name);
		tw_expo_number(x->e, row, &l, &figures);
	}
}

/* ---- by zone, and by feature ---- */

static void expose_error(const struct tw_exposure *x)
{
	size_t zones;
	const struct tw_zone *z = tw_estimates_zones(x->c->estimates, &zones);

	tw_expo_family(x->e, &families[MAE]);
	for (size_t i = 0; i < zones; i++) {
		const struct tw_estimate *s =
			tw_estimates_of_zone(x->c->estimates, &z[i]);
		const double watts = tw_estimates_mae(x->c->estimates, &z[i]);
		struct tw_labels l;

		if (isnan(watts))
			continue;
		label_model(&l, s);
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

static void expose_ranges(const struct tw_exposure *x)
{
	for (size_t most = 0; most < 2; most++) {
		tw_expo_family(x->e, &families[MINIMUM + most]);
		for (size_t i = 0; i < tw_estimates_count(x->c->estimates); i++) {
			const struct tw_estimate *s = tw_estimates_at(x->c->estimates, i);

			if (s->model != NULL)
				expose_ranges_of(x, s, most != 0);
		}
	}
}

void tw_expose_models(const struct tw_exposure *x)
{
	if (x->c->estimates == NULL)
		return;
	expose_info(x);
	for (size_t i = 0; i < TW_COUNT(of_model); i++)
		expose_row(x, &of_model[i], true);
	for (size_t i = 0; i < TW_COUNT(of_source); i++)
		expose_row(x, &of_source[i], false);
	expose_error(x);
	expose_ranges(x);
}
