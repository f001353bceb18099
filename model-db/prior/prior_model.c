/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/prior/prior_model.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/field/feature.h"
#include "model-db/fitness.h"
#include "model-db/model.h"
#include "profiler/cpu_identity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAST (TW_PRIOR_LOADS - 1)
/* Answers have 95 % intervals: normal quantiles, 1.960 / 1.645. */
#define FROM_90_TO_95 1.19
/* ms of CPU time in a second of one logical CPU */
#define MS_PER_CPU 1000.0

/*
 * A component's share of wall power: of idle power, and of the power above it, and the
 * factor by which they may be wrong. Package and DRAM: linear models of the recordings
 * nx12-rapl and nx12-acpi, the only ones that have both meters (docs/machines.md).
 */
struct share {
	enum tw_component component;
	double idle, dynamic, uncertainty;
};

static const struct share wall[] = { { TW_PLATFORM, 1, 1, 1 } };
static const struct share derived[] = { { TW_PACKAGE, 0.18, 0.77, 1.6 },
					{ TW_DRAM, 0.22, 0.15, 2 } };

/* Groups of CPU time, and their features that count it. */
static const struct {
	const char *group;
	const char *feature[6];
} groups[] = {
	{ "BPFOnly", { "bpf_cpu_time_ms" } },
	{ "NodeCPU",
	  { "node_cpu_irq_ms", "node_cpu_nice_ms", "node_cpu_softirq_ms",
	    "node_cpu_system_ms", "node_cpu_user_ms" } },
};

/* ---- the estimate ---- */

/* The part of a chip, or the number of cores, that the machine has. */
static double share_of(const struct tw_prior_view *v, const struct tw_machine_spec *s,
		       const struct tw_prior_machine *m)
{
	struct tw_cpu_identity id;
	double threads = s->threads_per_core > 0 ? s->threads_per_core : 1;

	if (v->unit == TW_PRIOR_OF_MACHINE)
		return 1;
	if (v->unit == TW_PRIOR_OF_CORE)
		return s->cores / threads;
	/* A virtual CPU is a hardware thread, even if the guest sees one a core. */
	tw_cpu_identify(s->processor, strlen(s->processor), NULL, &id);
	if (id.threads > 0 && id.cores > 0)
		threads = (double)id.threads / id.cores;
	return s->cores / (m->number[TW_PRIOR_CORES] * threads);
}

int tw_prior_estimate(const struct tw_prior *p, const struct tw_machine_spec *s,
		      struct tw_prior_estimate *out, struct tw_err *err)
{
	struct tw_prior_machine m;
	struct tw_prior_estimate e = { 0 };
	const struct tw_prior_view *v;

	tw_prior_machine_of_spec(s, &m);
	v = tw_prior_view_for(p, &m);
	if (s->cores == 0 || m.category[TW_PRIOR_VENDOR][0] == '\0' || v == NULL)
		return tw_fail(
			err, TW_NOTFOUND,
			"the prior needs a known processor and the number of CPUs");
	tw_prior_answer(p, v, &m, &e.curve);
	e.share = share_of(v, s, &m);
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		e.curve.w[l] *= e.share;
		e.curve.low[l] *= e.share;
		e.curve.high[l] *= e.share;
		e.curve.error[l] *= e.share;
		e.error += v->error[l] / TW_PRIOR_LOADS;
	}
	if (!(e.curve.w[0] > 0) || !isfinite(e.curve.high[LAST]))
		return tw_fail(err, TW_NOTFOUND,
			       "the prior has no answer for this machine");
	*out = e;
	return 0;
}

/* ---- the model ---- */

/* Slope above idle power with the least relative squares over 10 .. 100 % load. */
static double slope_of(const struct tw_prior_curve *c)
{
	double up = 0, down = 0;

	for (size_t l = 1; l < TW_PRIOR_LOADS; l++) {
		const double x = (double)l / LAST, weight = 1 / (c->w[l] * c->w[l]);

		up += weight * x * (c->w[l] - c->w[0]);
		down += weight * x * x;
	}
	return fmax(up / down, 0);
}

static void add_figure(json_t *metadata, const char *key, json_t *value)
{
	json_object_set_new(metadata, key, value); /* a failure shows at writing */
}

/* Bins of the interval: one a load, between the powers that the model predicts. */
static void add_interval(json_t *metadata, const struct share *k,
			 const struct tw_prior_curve *c, double slope)
{
	json_t *widths = json_array(), *edges = json_array();
	const char *name = tw_component_name(k->component);
	double error = 0, worst = 0;
	char key[64];

	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		const double x = (double)l / LAST;
		const double line = c->w[0] * k->idle + slope * k->dynamic * x;
		const double of_wall = line / (c->w[0] + slope * x);
		const double high = of_wall * c->w[l] * k->uncertainty *
				    pow(c->high[l] / c->w[l], FROM_90_TO_95);
		const double low = of_wall * c->w[l] / k->uncertainty *
				   pow(c->low[l] / c->w[l], FROM_90_TO_95);
		const double half = fmax(fmax(high - line, line - low), 0);

		json_array_append_new(widths, json_real(half));
		worst = fmax(worst, half);
		error += (c->error[l] * of_wall + fabs(of_wall * c->w[l] - line)) /
			 TW_PRIOR_LOADS;
		if (l > 0 && slope * k->dynamic > 0)
			json_array_append_new(
				edges, json_real(c->w[0] * k->idle +
						 slope * k->dynamic * (x - 0.5 / LAST)));
	}
	if (json_array_size(edges) == 0) {
		json_array_clear(widths);
		json_array_append_new(widths, json_real(worst));
	} else {
		snprintf(key, sizeof(key), "%s_interval_edges", name);
		add_figure(metadata, key, json_incref(edges));
	}
	json_decref(edges);
	snprintf(key, sizeof(key), "%s_interval_widths", name);
	add_figure(metadata, key, widths);
	snprintf(key, sizeof(key), "%s_mae", name);
	add_figure(metadata, key, json_real(error));
	snprintf(key, sizeof(key), "%s_p95", name);
	add_figure(metadata, key, json_real(worst));
}

static void add_origin(json_t *metadata, const struct tw_prior_estimate *e,
		       bool is_derived)
{
	static const char *const yes[] = { TW_CERTIFICATE_RISES,
					   TW_CERTIFICATE_NON_NEGATIVE,
					   TW_CERTIFICATE_REST, TW_CERTIFICATE_NO_JUMP };
	static const char *const units[] = { "machine", "chip", "core" };

	add_figure(metadata, "data_origin",
		   json_string("prior: SPECpower_ssj2008 results of other machines"));
	add_figure(metadata, "match", json_string("prior"));
	add_figure(metadata, "prior_view", json_string(e->curve.view->name));
	add_figure(metadata, "prior_unit", json_string(units[e->curve.view->unit]));
	add_figure(metadata, "prior_share", json_real(e->share));
	add_figure(metadata, "prior_derived", json_boolean(is_derived));
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		add_figure(metadata, yes[i], json_true());
	add_figure(metadata, TW_CERTIFICATE_ADDITIVE, json_false());
	add_figure(metadata, TW_CERTIFICATE_SHARE_DEVIATION, json_real(0));
}

/* {"All_Weights": ..}: idle power, and the same weight for each feature of CPU time. */
static int add_part(struct tw_model *m, const struct share *k,
		    const struct tw_prior_curve *c, double slope, double cpus,
		    struct tw_err *err)
{
	struct tw_model_part *part = &m->part[m->parts++];
	struct tw_buf b = { 0 };

	part->component = k->component;
	if (tw_strs_copy(&part->features, &m->info.features, err) < 0)
		return -1;
	tw_buf_adds(&b, "{\"All_Weights\":{\"Bias_Weight\":");
	tw_buf_add_double(&b, c->w[0] * k->idle);
	tw_buf_adds(&b, ",\"Categorical_Variables\":{},\"Numerical_Variables\":{");
	for (size_t i = 0; i < part->features.count; i++) {
		tw_buf_addf(&b, "%s\"%s\":{\"scale\":", i > 0 ? "," : "",
			    part->features.at[i]);
		tw_buf_add_double(&b, MS_PER_CPU * cpus);
		tw_buf_adds(&b, ",\"mean\":0,\"variance\":1,\"weight\":");
		tw_buf_add_double(&b, slope * k->dynamic);
		tw_buf_adds(&b, "}");
	}
	tw_buf_adds(&b, "}}}");
	part->text = tw_buf_detach(&b, &part->len);
	return part->text != NULL ? 0 : tw_fail(err, TW_NOMEM, "model of the prior");
}

/* The group of CPU time that the client measures. */
static int choose_group(const struct tw_strs *metrics, struct tw_model_info *i,
			struct tw_err *err)
{
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
		size_t n = 0;

		while (groups[g].feature[n] != NULL &&
		       tw_strs_has(metrics, groups[g].feature[n]))
			n++;
		if (groups[g].feature[n] != NULL)
			continue;
		i->group = tw_feature_group_find(groups[g].group);
		for (n = 0; groups[g].feature[n] != NULL; n++)
			if (tw_strs_adds(&i->features, groups[g].feature[n], err) < 0)
				return -1;
		return 0;
	}
	return tw_fail(err, TW_NOTFOUND, "the prior needs CPU time: bpf_cpu_time_ms");
}

static int make(const struct tw_prior_estimate *e, const struct tw_machine_spec *s,
		const struct tw_energy_source *source, const struct tw_strs *metrics,
		struct tw_model *m, struct tw_err *err)
{
	const bool is_wall = source->components[0] == TW_PLATFORM;
	const struct share *k = is_wall ? wall : derived;
	const size_t count = is_wall ? 1 : sizeof(derived) / sizeof(derived[0]);
	const double slope = slope_of(&e->curve);

	snprintf(m->info.trainer, sizeof(m->info.trainer), "LinearRegressionTrainer");
	snprintf(m->info.name, sizeof(m->info.name), "LinearRegressionTrainer_0");
	snprintf(m->info.predictor, sizeof(m->info.predictor), "linear");
	m->info.source = source;
	m->info.output = TW_ABS_POWER;
	m->info.spec = *s;
	m->info.mape_percent = 100 * e->error;
	m->info.metadata = json_object();
	if (m->info.metadata == NULL)
		return tw_fail(err, TW_NOMEM, "model of the prior");
	if (choose_group(metrics, &m->info, err) < 0)
		return -1;
	add_origin(m->info.metadata, e, !is_wall);
	for (size_t i = 0; i < count; i++) {
		add_interval(m->info.metadata, &k[i], &e->curve, slope);
		if (add_part(m, &k[i], &e->curve, slope, s->cores, err) < 0)
			return -1;
	}
	m->info.mae_w = 0;
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
		m->info.mae_w += e->curve.error[l] / TW_PRIOR_LOADS;
	return tw_model_check(m, err);
}

int tw_prior_model(const struct tw_prior *p, const struct tw_machine_spec *s,
		   const struct tw_energy_source *source, const struct tw_strs *metrics,
		   struct tw_model *out, struct tw_err *err)
{
	struct tw_prior_estimate e;
	struct tw_model m = { 0 };

	if (source->components[0] != TW_PLATFORM && source->components[0] != TW_PACKAGE)
		return tw_fail(err, TW_NOTFOUND, "the prior has no power of source '%s'",
			       source->name);
	if (tw_prior_estimate(p, s, &e, err) < 0)
		return -1;
	if (make(&e, s, source, metrics, &m, err) < 0) {
		tw_model_release(&m);
		return -1;
	}
	*out = m;
	return 0;
}
