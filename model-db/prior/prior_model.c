/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/prior/prior_model.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/field/feature.h"
#include "lib/json/writer.h"
#include "model-db/fitness.h"
#include "model-db/model.h"
#include "profiler/cpu_identity.h"
#include "profiler/typical_tdp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LAST (TW_PRIOR_LOADS - 1)
/* Answers have 95 % intervals: normal quantiles, 1.960 / 1.645. */
#define FROM_90_TO_95 1.19
/* ms of CPU time in a second of one logical CPU */
#define MS_PER_CPU 1000.0

/*
 * Power of packages over their TDP, and of DRAM over GiB of memory, at 0, 10, 50 and 100
 * % load; the mean error, a share of the power; and the 90 % interval, a factor.
 * model-db/learning/learn-package learns them from recordings (docs/machines.md).
 */
struct sureness {
	double error, interval;
};

struct rule {
	double ratio[4];
	/* Of machines like those of the recordings; of others: desktop and mobile
	 * processors, DRAM of guests and of other sizes. */
	struct sureness sure, of_others;
};

static const double rule_load[4] = { 0, 0.1, 0.5, 1 };
static const struct rule package_rule = { { 0.135, 0.262, 0.768, 0.998 },
					  { 0.17, 1.79 },
					  { 0.76, 4.85 } };
static const struct rule dram_rule = { { 0.048, 0.066, 0.071, 0.076 },
				       { 0.16, 1.62 },
				       { 0.30, 1.91 } };

/*
 * Ratios of DRAM are of machines with the mean GiB. They change with a power of GiB,
 * because larger machines have larger modules, from the least to the most GiB of the
 * recordings.
 */
static const struct dram_size {
	double mean, power, least, most;
} dram_size = { 352, -0.39, 188, 755 };

/*
 * A component's share of wall power, where TDP or memory is unknown: of idle power, and
 * of the power above it, and the factor by which they may be wrong: linear models of the
 * recordings nx12-rapl and nx12-acpi, the only ones that have both meters.
 */
static const struct share {
	enum tw_component component;
	double idle, dynamic, uncertainty;
} shares[] = { { TW_PACKAGE, 0.18, 0.77, 1.6 }, { TW_DRAM, 0.22, 0.15, 2 } };

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

/* A virtual CPU is a hardware thread, even if the guest sees one a core. */
static double threads_of_core(const struct tw_machine_spec *s)
{
	struct tw_cpu_identity id;

	tw_cpu_identify(s->processor, strlen(s->processor), NULL, &id);
	if (id.threads > 0 && id.cores > 0)
		return (double)id.threads / id.cores;
	return s->threads_per_core > 0 ? s->threads_per_core : 1;
}

double tw_prior_share(const struct tw_prior_view *v, const struct tw_machine_spec *s,
		      const struct tw_prior_machine *m)
{
	if (v->unit == TW_PRIOR_OF_MACHINE)
		return 1;
	if (v->unit == TW_PRIOR_OF_CPU)
		return s->cores;
	if (v->unit == TW_PRIOR_OF_CORE)
		return s->cores /
		       (s->threads_per_core > 0 ? (double)s->threads_per_core : 1);
	return s->cores / (m->number[TW_PRIOR_CORES] * threads_of_core(s));
}

static bool is_usable(const struct tw_prior_curve *c)
{
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
		if (!(c->w[l] > 0) || !isfinite(c->high[l]) || !isfinite(c->low[l]) ||
		    !isfinite(c->error[l]))
			return false;
	return true;
}

int tw_prior_take_share(const struct tw_prior_estimate *of_unit,
			struct tw_prior_estimate *out, struct tw_err *err)
{
	struct tw_prior_estimate e = *of_unit;

	e.error = 0;
	e.tdp_w *= e.share;
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		e.curve.w[l] *= e.share;
		e.curve.low[l] *= e.share;
		e.curve.high[l] *= e.share;
		e.curve.error[l] *= e.share;
		e.error += e.curve.error[l] / e.curve.w[l] / TW_PRIOR_LOADS;
	}
	if (!is_usable(&e.curve))
		return tw_fail(err, TW_NOTFOUND,
			       "the prior has no answer for this machine");
	*out = e;
	return 0;
}

/* A chip: as published, or as its generation's products. TDP is NaN if unknown. */
static struct tw_typical_tdp find_chip(const struct tw_prior_machine *m)
{
	const double cores = m->number[TW_PRIOR_CORES], tdp_w = m->number[TW_PRIOR_TDP];
	struct tw_typical_tdp chip = { .cores = cores, .tdp_w = tdp_w, .factor = 1 };

	if ((isnan(tdp_w) || isnan(cores)) &&
	    !tw_typical_tdp(m->category[TW_PRIOR_GENERATION],
			    m->category[TW_PRIOR_PROCESSOR], cores, &chip))
		chip.tdp_w = NAN;
	return chip;
}

/*
 * A whole machine whose TDP nobody published has that of its generation's products: views
 * with a TDP are then better than those without. Of one chip they are not
 * (docs/machines.md).
 */
static void suppose_tdp(struct tw_prior_machine *m, const struct tw_typical_tdp *chip)
{
	if (isnan(m->number[TW_PRIOR_TDP]) && !isnan(m->number[TW_PRIOR_CHIPS]) &&
	    chip->is_own)
		m->number[TW_PRIOR_TDP] = chip->tdp_w;
}

/* Whether no chip of the table has so low a TDP. */
static bool is_below_table(const struct tw_prior *p, const struct tw_typical_tdp *chip)
{
	double least = NAN;

	for (size_t i = 0; i < p->rows; i++)
		least = fmin(least, p->row[i].number[TW_PRIOR_TDP]);
	return chip->tdp_w < least;
}

/* TDP of the unit that an answer is of. */
static double unit_tdp(enum tw_prior_unit unit, const struct tw_typical_tdp *chip,
		       const struct tw_machine_spec *s, const struct tw_prior_machine *m)
{
	switch (unit) {
	case TW_PRIOR_OF_MACHINE:
		return chip->tdp_w * m->number[TW_PRIOR_CHIPS];
	case TW_PRIOR_OF_CORE:
		return chip->tdp_w / chip->cores;
	case TW_PRIOR_OF_CPU:
		return chip->tdp_w / (chip->cores * threads_of_core(s));
	default:
		return chip->tdp_w;
	}
}

int tw_prior_estimate(const struct tw_prior *p, const struct tw_machine_spec *s,
		      struct tw_prior_estimate *out, struct tw_err *err)
{
	struct tw_prior_machine m;
	struct tw_prior_estimate e = { 0 };
	const struct tw_prior_view *v;
	struct tw_typical_tdp chip;
	int rc;

	if (s->cores == 0)
		return tw_fail(err, TW_NOTFOUND,
			       "the prior needs the number of CPUs: machine_spec.cores");
	tw_prior_machine_of_spec(s, &m);
	if (strcmp(m.category[TW_PRIOR_GENERATION], "ibm_z") == 0)
		return tw_fail(err, TW_UNSUPPORTED,
			       "the prior has no machine like the mainframe '%s'",
			       s->processor);
	chip = find_chip(&m);
	suppose_tdp(&m, &chip);
	v = tw_prior_view_for(p, &m);
	rc = v == NULL || !tw_prior_is_related(p, v, &m) || is_below_table(p, &chip)
		     ? tw_prior_typical(p, &e.curve, err)
		     : tw_prior_answer(p, v, &m, &e.curve, err);
	if (rc < 0)
		return -1;
	e.share = tw_prior_share(e.curve.view, s, &m);
	e.tdp_w = unit_tdp(e.curve.view->unit, &chip, s, &m);
	e.tdp_factor = chip.factor;
	return tw_prior_take_share(&e, out, err);
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

/* The mean of |exp(z) - 1| of a normal z: z has a standard deviation of log(factor). */
static double mean_error(double factor)
{
	const double sd = log(factor);

	return exp(0.5 * sd * sd) * erf(sd / sqrt(2));
}

/* The 90 % interval of a normal variable, in standard deviations. */
#define NORMAL_90 1.645

static bool is_client(const char *processor)
{
	static const char *const of[] = {
		"intel_core_",   "intel_pentium",  "intel_celeron", "intel_n",
		"intel_xeon_e_", "intel_xeon_e3_", "intel_xeon_63", "intel_xeon_w_1",
		"amd_ryzen_",    "amd_fx_",        "amd_epyc_4"
	};

	if (strncmp(processor, "amd_ryzen_threadripper", 22) == 0)
		return false;
	for (size_t i = 0; i < TW_COUNT(of); i++)
		if (strncmp(processor, of[i], strlen(of[i])) == 0)
			return true;
	return false;
}

/* width: half of the 90 % interval, a logarithm. */
static void set_interval(struct tw_prior_curve *c, size_t l, double width)
{
	c->low[l] = c->w[l] * exp(-width);
	c->high[l] = c->w[l] * exp(width);
}

static double ratio_at(const struct rule *r, double load)
{
	size_t k = 1;

	while (load > rule_load[k])
		k++;
	return r->ratio[k - 1] + (r->ratio[k] - r->ratio[k - 1]) *
					 (load - rule_load[k - 1]) /
					 (rule_load[k] - rule_load[k - 1]);
}

static void curve_by_share(enum tw_component component, const struct tw_prior_curve *wall,
			   struct tw_prior_curve *out)
{
	const struct share *share = &shares[component == TW_DRAM];

	*out = *wall;
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		out->w[l] = wall->w[0] * share->idle +
			    (wall->w[l] - wall->w[0]) * share->dynamic;
		out->error[l] = out->w[l] * hypot(wall->error[l] / wall->w[l],
						  mean_error(share->uncertainty));
		set_interval(out, l,
			     hypot(0.5 * log(wall->high[l] / wall->low[l]),
				   NORMAL_90 * log(share->uncertainty)));
	}
}

/*
 * GiB that the ratios of DRAM are of. A guest has a part of its host's modules, whose
 * size is unknown.
 */
static double dram_base(const struct tw_prior_estimate *e,
			const struct tw_machine_spec *s)
{
	const double gib = s->memory_gib;

	if (gib == 0)
		return NAN;
	if (e->curve.view->unit != TW_PRIOR_OF_MACHINE)
		return gib;
	return gib *
	       pow(fmin(fmax(gib, dram_size.least), dram_size.most) / dram_size.mean,
		   dram_size.power);
}

/* Whether the recordings say nothing of a component of such a machine. */
static bool is_unlike_recordings(enum tw_component component,
				 const struct tw_prior_estimate *e,
				 const struct tw_machine_spec *s)
{
	if (is_client(s->processor))
		return true;
	return component == TW_DRAM &&
	       (e->curve.view->unit != TW_PRIOR_OF_MACHINE ||
		s->memory_gib < dram_size.least || s->memory_gib > dram_size.most);
}

/* The curve of a component: by its rule, or by its share of wall power. */
static void component_curve(enum tw_component component,
			    const struct tw_prior_estimate *e,
			    const struct tw_machine_spec *s, struct tw_prior_curve *out)
{
	const struct rule *rule = component == TW_DRAM ? &dram_rule : &package_rule;
	const struct sureness *sure =
		is_unlike_recordings(component, e, s) ? &rule->of_others : &rule->sure;
	/* TDP, or GiB of DRAM, and the factor by which it may be wrong. */
	const double base = component == TW_PACKAGE ? e->tdp_w : dram_base(e, s);
	const double factor = component == TW_PACKAGE ? e->tdp_factor : 1;

	if (isnan(base)) {
		curve_by_share(component, &e->curve, out);
		return;
	}
	*out = e->curve;
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		out->w[l] = base * ratio_at(rule, (double)l / LAST);
		out->error[l] = out->w[l] * hypot(sure->error, mean_error(factor));
		set_interval(out, l, hypot(log(sure->interval), NORMAL_90 * log(factor)));
	}
}

/* sqrt(pi / 2): the standard deviation of a normal variable, in means of its |x|. */
#define SD_OF_ERROR 1.2533

/*
 * The expected |error| of an answer that lies `gap` beside the curve, whose own expected
 * error is this one: the mean of |x| of a normal variable with that mean.
 */
static double error_beside(double error, double gap)
{
	const double sd = fmax(SD_OF_ERROR * error, 1e-9), z = gap / sd;

	return error * exp(-0.5 * z * z) + gap * erf(z / sqrt(2));
}

/*
 * Bins of the interval, one a load, between the powers that the model predicts. model_w
 * is the power of the model at each load; the curve may differ from it.
 */
static void add_interval(struct tw_model_info *info, enum tw_component component,
			 const struct tw_prior_curve *c, const double *model_w)
{
	json_t *metadata = info->metadata;
	json_t *widths = json_array(), *edges = json_array();
	const char *name = tw_component_name(component);
	double error = 0, relative = 0, worst = 0, last = 0;
	bool rises = true;
	char key[64];

	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		const double part = model_w[l];
		const double high = c->w[l] * pow(c->high[l] / c->w[l], FROM_90_TO_95);
		const double low = c->w[l] * pow(c->low[l] / c->w[l], FROM_90_TO_95);
		const double half = fmax(fmax(high - part, part - low), 0);
		const double miss = error_beside(c->error[l], fabs(c->w[l] - part));

		json_array_append_new(widths, json_real(half));
		worst = fmax(worst, half);
		error += miss / TW_PRIOR_LOADS;
		relative += miss / c->w[l] / TW_PRIOR_LOADS;
		rises = rises && (l == 0 || part > last);
		if (l > 0)
			json_array_append_new(edges, json_real((last + part) / 2));
		last = part;
	}
	if (!rises) {
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
	snprintf(key, sizeof(key), "%s_mape", name);
	add_figure(metadata, key, json_real(100 * relative));
	info->mae_w = fmax(info->mae_w, error);
	info->mape_percent = fmax(info->mape_percent, 100 * relative);
}

static void add_origin(json_t *metadata, const struct tw_prior_estimate *e,
		       bool is_derived)
{
	static const char *const yes[] = { TW_CERTIFICATE_RISES,
					   TW_CERTIFICATE_NON_NEGATIVE,
					   TW_CERTIFICATE_REST, TW_CERTIFICATE_NO_JUMP };
	static const char *const units[] = { "machine", "chip", "core", "cpu" };

	add_figure(metadata, "data_origin",
		   json_string(e->readings > 0
				       ? "calibrated prior: readings of the machine, and "
					 "SPECpower_ssj2008 results of others"
				       : "prior: SPECpower_ssj2008 results of other "
					 "machines"));
	add_figure(metadata, "match",
		   json_string(e->readings > 0 ? TW_PRIOR_CALIBRATED : "prior"));
	if (e->readings > 0)
		add_figure(metadata, TW_PRIOR_READINGS,
			   json_integer((json_int_t)e->readings));
	add_figure(metadata, "prior_view", json_string(e->curve.view->name));
	add_figure(metadata, "prior_unit", json_string(units[e->curve.view->unit]));
	add_figure(metadata, "prior_share", json_real(e->share));
	add_figure(metadata, "prior_derived", json_boolean(is_derived));
	for (size_t i = 0; i < TW_COUNT(yes); i++)
		add_figure(metadata, yes[i], json_true());
	add_figure(metadata, TW_CERTIFICATE_ADDITIVE, json_false());
	add_figure(metadata, TW_CERTIFICATE_SHARE_DEVIATION, json_real(0));
}

/* {"All_Weights": ..}: idle power, and the same weight for each feature of CPU time. */
static int add_part(struct tw_model *m, enum tw_component component,
		    const struct tw_prior_curve *c, double slope, double cpus,
		    struct tw_err *err)
{
	struct tw_model_part *part = &m->part[m->parts++];
	struct tw_buf b = { 0 };

	part->component = component;
	if (tw_strs_copy(&part->features, &m->info.features, err) < 0)
		return -1;
	tw_buf_adds(&b, "{\"All_Weights\":{\"Bias_Weight\":");
	tw_buf_add_double(&b, c->w[0]);
	tw_buf_adds(&b, ",\"Categorical_Variables\":{},\"Numerical_Variables\":{");
	for (size_t i = 0; i < part->features.count; i++) {
		tw_json_add_object(&b, part->features.at[i]);
		tw_json_add_number(&b, "scale", MS_PER_CPU * cpus);
		tw_json_add_uint(&b, "mean", 0);
		tw_json_add_uint(&b, "variance", 1);
		tw_json_add_number(&b, "weight", slope);
		tw_json_end_object(&b);
	}
	tw_buf_adds(&b, "}}}");
	part->text = tw_buf_detach(&b, &part->len);
	return part->text != NULL ? 0 : tw_fail(err, TW_NOMEM, "model of the prior");
}

/* The group of CPU time that the client measures. */
static int choose_group(const struct tw_strs *metrics, struct tw_model_info *i,
			struct tw_err *err)
{
	for (size_t g = 0; g < TW_COUNT(groups); g++) {
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

/* The same for all models of an estimate: but for features and parts. */
static int begin(const struct tw_prior_estimate *e, const struct tw_machine_spec *s,
		 const struct tw_energy_source *source, const char *trainer,
		 const char *predictor, struct tw_model *m, struct tw_err *err)
{
	snprintf(m->info.trainer, sizeof(m->info.trainer), "%s", trainer);
	snprintf(m->info.name, sizeof(m->info.name), "%s_0", trainer);
	snprintf(m->info.predictor, sizeof(m->info.predictor), "%s", predictor);
	m->info.source = source;
	m->info.output = TW_ABS_POWER;
	m->info.spec = *s;
	m->info.metadata = json_object();
	if (m->info.metadata == NULL)
		return tw_fail(err, TW_NOMEM, "model of the prior");
	add_origin(m->info.metadata, e, source->components[0] != TW_PLATFORM);
	return 0;
}

/* A part of a model: its curve, and the slope of the line that is sent. */
struct part {
	struct tw_prior_curve curve;
	double slope;
};

/* Lower a component to the power that is left for it. Its rule is then wrong by that. */
static void lower(struct tw_prior_curve *c, size_t l, double most)
{
	const double by = most / c->w[l];

	if (by >= 1)
		return;
	c->error[l] = most * hypot(c->error[l] / c->w[l], 1 - by);
	c->low[l] *= by;
	c->w[l] = most;
}

/*
 * Package and DRAM are parts of the machine: where their rules exceed wall power, DRAM is
 * lowered first, down to its share of wall power. Its rule is the less certain one: a
 * VM's memory may be more than its share of the host's.
 */
static void find_parts(const struct tw_prior_estimate *e, const struct tw_machine_spec *s,
		       struct part *package, struct part *dram)
{
	struct tw_prior_curve least;
	double rest = e->curve.w[0] + slope_of(&e->curve), slopes;

	component_curve(TW_PACKAGE, e, s, &package->curve);
	component_curve(TW_DRAM, e, s, &dram->curve);
	curve_by_share(TW_DRAM, &e->curve, &least);
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		const double w = e->curve.w[l];

		lower(&dram->curve, l, fmax(w - package->curve.w[l], least.w[l]));
		lower(&package->curve, l, w - dram->curve.w[l]);
		package->curve.high[l] = fmin(package->curve.high[l], e->curve.high[l]);
		dram->curve.high[l] = fmin(dram->curve.high[l], e->curve.high[l]);
	}
	package->slope = slope_of(&package->curve);
	dram->slope = slope_of(&dram->curve);
	/* The lines, too. */
	rest -= package->curve.w[0] + dram->curve.w[0];
	slopes = package->slope + dram->slope;
	if (slopes > rest) {
		package->slope *= rest / slopes;
		dram->slope *= rest / slopes;
	}
}

static int make(const struct tw_prior_estimate *e, const struct tw_machine_spec *s,
		const struct tw_energy_source *source, const struct tw_strs *metrics,
		struct tw_model *m, struct tw_err *err)
{
	static const enum tw_component wall[] = { TW_PLATFORM },
				       rapl[] = { TW_PACKAGE, TW_DRAM };
	const bool is_wall = source->components[0] == TW_PLATFORM;
	const enum tw_component *k = is_wall ? wall : rapl;
	const size_t count = is_wall ? 1 : 2;
	struct part part[2] = { { e->curve, slope_of(&e->curve) } };

	if (begin(e, s, source, "LinearRegressionTrainer", "linear", m, err) < 0 ||
	    choose_group(metrics, &m->info, err) < 0)
		return -1;
	if (!is_wall)
		find_parts(e, s, &part[0], &part[1]);
	for (size_t i = 0; i < count; i++) {
		const struct tw_prior_curve *c = &part[i].curve;
		double line[TW_PRIOR_LOADS];

		for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
			line[l] = c->w[0] + part[i].slope * (double)l / LAST;
		add_interval(&m->info, k[i], c, line);
		if (add_part(m, k[i], c, part[i].slope, s->cores, err) < 0)
			return -1;
	}
	return tw_model_check(m, err);
}

int tw_prior_model_of(const struct tw_prior_estimate *e, const struct tw_machine_spec *s,
		      const struct tw_energy_source *source,
		      const struct tw_strs *metrics, struct tw_model *out,
		      struct tw_err *err)
{
	struct tw_model m = { 0 };

	if (source->components[0] != TW_PLATFORM && source->components[0] != TW_PACKAGE)
		return tw_fail(err, TW_NOTFOUND, "the prior has no power of source '%s'",
			       source->name);
	if (make(e, s, source, metrics, &m, err) < 0) {
		tw_model_release(&m);
		return -1;
	}
	*out = m;
	return 0;
}

/* ---- the curve ---- */

/* No load: the least load of the curve that is not 0, as a share of full load. */
#define REST_LOAD 0.001

static void add_grid(struct tw_buf *b, double full)
{
	tw_buf_adds(b, "[");
	tw_buf_add_double(b, REST_LOAD * full);
	for (size_t l = 1; l < TW_PRIOR_LOADS; l++) {
		tw_buf_adds(b, ",");
		tw_buf_add_double(b, full * (double)l / LAST);
	}
	tw_buf_adds(b, "]");
}

/* A tree whose leaves are the powers of the curve: it splits halfway between its loads.
 */
static void add_tree(struct tw_buf *b, const double *w, double full)
{
	tw_buf_adds(b, "{\"split\":[");
	for (size_t l = 0; l < LAST; l++)
		tw_buf_adds(b, "0,-1,");
	tw_buf_adds(b, "-1],\"value\":[");
	for (size_t l = 0; l < LAST; l++) {
		tw_buf_add_double(b, full * ((double)l + 0.5) / LAST);
		tw_buf_adds(b, ",");
		tw_buf_add_double(b, w[l]);
		tw_buf_adds(b, ",");
	}
	tw_buf_add_double(b, w[LAST]);
	tw_buf_adds(b, "]}");
}

static int add_curve(struct tw_model *m, const struct tw_prior_curve *c, double full,
		     struct tw_err *err)
{
	struct tw_model_part *part = &m->part[m->parts++];
	struct tw_buf b = { 0 };

	part->component = TW_PLATFORM;
	if (tw_strs_copy(&part->features, &m->info.features, err) < 0)
		return -1;
	tw_buf_adds(&b, "{\"isotonic\":{\"load\":0,\"work\":[1],\"rest\":");
	tw_buf_add_double(&b, c->w[0]);
	tw_buf_adds(&b, ",\"grid\":");
	add_grid(&b, full);
	tw_buf_adds(&b, ",\"model\":{\"trees\":{\"base\":0,\"forest\":[");
	add_tree(&b, c->w, full);
	tw_buf_adds(&b, "]}}}}");
	part->text = tw_buf_detach(&b, &part->len);
	return part->text != NULL ? 0 : tw_fail(err, TW_NOMEM, "curve of the prior");
}

int tw_prior_curve_model(const struct tw_prior_estimate *e,
			 const struct tw_machine_spec *s, struct tw_model *out,
			 struct tw_err *err)
{
	const struct tw_energy_source *source = tw_energy_source_find("acpi");
	struct tw_strs cpu_time = { 0 };
	struct tw_model m = { 0 };
	int rc = -1;

	if (tw_strs_adds(&cpu_time, groups[0].feature[0], err) < 0 ||
	    begin(e, s, source, TW_PRIOR_CURVE_TRAINER, "isotonic", &m, err) < 0 ||
	    choose_group(&cpu_time, &m.info, err) < 0)
		goto out;
	add_interval(&m.info, TW_PLATFORM, &e->curve, e->curve.w);
	if (add_curve(&m, &e->curve, MS_PER_CPU * s->cores, err) < 0 ||
	    tw_model_check(&m, err) < 0)
		goto out;
	*out = m;
	m = (struct tw_model){ 0 };
	rc = 0;
out:
	tw_strs_clear(&cpu_time);
	tw_model_release(&m);
	return rc;
}
