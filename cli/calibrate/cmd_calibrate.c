/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/calibrate/calibrate_readings.h"
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "collector/system/roots.h"
#include "estimator/predict/certificate.h"
#include "estimator/predict/power_model.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "lib/json/json.h"
#include "lib/zip/fileset.h"
#include "model-db/model.h"
#include "model-db/pipeline.h"
#include "model-db/prior/prior_file.h"
#include "model-db/prior/prior_model.h"
#include "model-db/publish.h"
#include "model-db/signature.h"
#include "profiler/discover.h"
#include "profiler/profile.h"
#include "trainer/machines/posterior.h"
#include "trainer/machines/readings.h"
#include "trainer/publishing.h"

#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPEC_BYTES_MAX ((size_t)64 << 10)
#define PHASES 3
/* A reading outside of the prior's interval by this factor measures something else. */
#define FAR_OUTSIDE 1.5
/* A reading that is off by this factor has another unit. */
#define OTHER_UNIT 30

struct config {
	char *model_db, *prior, *name, *idle, *full, *csv, *csv_load, *meter_error;
	char *spec, *proc, *sys, *dev, *powercap, *sign, *sign_password_file;
	struct tw_strs at;
	uint64_t for_ms;
	/* Parsed from the options above: */
	struct tw_reading_list given;
	double error, load_of_csv;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "model-db", model_db, "DB", "publish to this model database"),
	  .env = "TW_MODEL_DB", .required = true },
	{ TW_ROW(TEXT, "prior", prior, "DB",
		 "model database with the prior, if --model-db has none"),
	  .fallback = TW_MODEL_DB },
	{ TW_ROW(TEXT, "name", name, "NAME", "name of the pipeline, which is replaced"),
	  .fallback = "calibrated" },
	{ TW_ROW(TEXT, "idle", idle, "W", "power of the machine at rest") },
	{ TW_ROW(TEXT, "full", full, "W", "power of the machine at full load") },
	{ TW_ROW(LIST, "at", at, "LOAD=W,...",
		 "power at other loads, in percent: 50=120") },
	{ TW_ROW(TEXT, "csv", csv, "FILE",
		 "a wattmeter's CSV: columns watts and cpu (percent) or cpu_share (0 to "
		 "1)") },
	{ TW_ROW(TEXT, "csv-load", csv_load, "LOAD",
		 "load of all rows of --csv, in percent") },
	{ TW_ROW(DURATION_MS, "for", for_ms, "TIME",
		 "length of a recording by a meter of this machine"),
	  .fallback = "60s", .min = PHASES * 100, .max = PHASES * 600000 },
	{ TW_ROW(TEXT, "meter-error", meter_error, "PERCENT",
		 "standard error of the readings"),
	  .fallback = "1" },
	{ TW_ROW(TEXT, "spec", spec, "FILE",
		 "spec of the machine (JSON); else this machine's") },
	TW_OPTS_SIGN(struct config),
	TW_OPTS_MACHINE_METERS,
};

static void say(const char *text)
{
	fprintf(stderr, "tallywatt calibrate: %s\n", text);
}

/* ---- options ---- */

static int parse_number(const char *flag, const char *text, double min, double max,
			double *out, struct tw_err *err)
{
	if (!tw_parse_double(text, strlen(text), out) || !(*out >= min && *out <= max))
		return tw_fail(err, TW_INVALID,
			       "%s: '%.64s' is not a number from %g to %g", flag, text,
			       min, max);
	return 0;
}

static int take_given(struct config *c, struct tw_err *err)
{
	double w;

	if (c->idle != NULL && (parse_number("--idle", c->idle, 0, 1e6, &w, err) < 0 ||
				tw_reading_list_add(&c->given, 0, w, c->error, err) < 0))
		return -1;
	if (c->full != NULL && (parse_number("--full", c->full, 0, 1e6, &w, err) < 0 ||
				tw_reading_list_add(&c->given, 1, w, c->error, err) < 0))
		return -1;
	for (size_t i = 0; i < c->at.count; i++)
		if (tw_reading_list_parse(&c->given, c->at.at[i], c->error, err) < 0)
			return tw_err_wrap(err, "--at");
	if (c->given.count > 0 && c->csv != NULL)
		return tw_fail(err, TW_INVALID, "--csv, and readings by other options");
	if (c->csv_load != NULL && c->csv == NULL)
		return tw_fail(err, TW_INVALID, "--csv-load needs --csv");
	return c->given.count > 0 ? tw_readings_check(c->given.at, c->given.count, err)
				  : 0;
}

static int check_use(void *config, struct tw_err *err)
{
	struct config *c = config;
	int rc;

	if (tw_pipeline_name_check(c->name, strlen(c->name), err) < 0 ||
	    parse_number("--meter-error", c->meter_error, 0, 50, &c->error, err) < 0)
		return -1;
	c->error /= 100;
	c->load_of_csv = NAN;
	if (c->csv_load != NULL) {
		if (parse_number("--csv-load", c->csv_load, 0, 100, &c->load_of_csv,
				 err) < 0)
			return -1;
		c->load_of_csv /= 100;
	}
	rc = take_given(c, err);
	if (rc < 0)
		tw_reading_list_release(&c->given);
	return rc;
}

/* ---- the machine and its readings ---- */

static int find_spec(const struct config *c, struct tw_machine_spec *out,
		     struct tw_err *err)
{
	char *text = NULL;
	json_t *doc = NULL;
	size_t len;
	int rc = -1;

	if (c->spec == NULL)
		return tw_machine_spec_discover(c->proc, c->sys, out, err);
	if (tw_file_read(c->spec, SPEC_BYTES_MAX, &text, &len, err) == 0 &&
	    tw_json_parse(text, len, c->spec, &doc, err) == 0 &&
	    tw_machine_spec_from_json(doc, c->spec, out, err) == 0)
		rc = 0;
	json_decref(doc);
	free(text);
	return rc;
}

static int find_readings(struct config *c, struct tw_reading_list *l, struct tw_err *err)
{
	const struct tw_roots roots = { c->proc, c->sys, c->dev, c->powercap };
	const struct tw_reading_record r = { .roots = &roots,
					     .phase_ms = c->for_ms / PHASES,
					     .error = c->error,
					     .say = say };

	if (c->given.count > 0) {
		*l = c->given;
		c->given = (struct tw_reading_list){ 0 };
		return 0;
	}
	if (c->csv != NULL ? tw_reading_list_read_csv(l, c->csv, c->load_of_csv, c->error,
						      say, err) < 0
			   : tw_reading_list_record(l, &r, err) < 0)
		return -1;
	if (l->count > 0)
		l->count = tw_readings_reduce(l->at, l->count);
	return tw_readings_check(l->at, l->count, err);
}

/* The prior of the database, or the one that ships. */
static int load_prior(const struct config *c, struct tw_prior *out, struct tw_err *err)
{
	if (tw_prior_load(c->model_db, out, err) == 0)
		return 0;
	if (err->code != TW_NOTFOUND)
		return -1;
	*err = (struct tw_err){ 0 };
	if (tw_prior_load(c->prior, out, err) < 0)
		return err->code == TW_NOTFOUND ? tw_fail(err, TW_NOTFOUND,
							  "no prior in '%.100s' and "
							  "'%.100s': pass --prior",
							  c->model_db, c->prior)
						: -1;
	return 0;
}

/* ---- the posterior ---- */

static int check_outside(const struct tw_prior_curve *prior,
			 const struct tw_power_reading *r, struct tw_err *err)
{
	const size_t l = (size_t)lround(r->load * (TW_PRIOR_LOADS - 1));
	const double low = prior->low[l], high = prior->high[l];
	const double factor = fmax(low / r->w, r->w / high);
	char line[240];

	if (factor <= FAR_OUTSIDE)
		return 0;
	snprintf(line, sizeof(line),
		 "%.1f W at %.0f %% load is far outside of the prior's %.1f to %.1f W: "
		 "does the meter measure this machine, and all of it, in watts?",
		 r->w, 100 * r->load, low, high);
	if (factor > OTHER_UNIT)
		return tw_fail(err, TW_INVALID, "%s", line);
	say(line);
	return 0;
}

/*
 * Both estimates are of the machine that the spec describes. Without a published TDP, or
 * for a machine unlike the table, the prior answers by a supposed TDP or by a typical
 * machine; the posterior does without both.
 */
static int estimate(const struct tw_prior *p, const struct tw_machine_spec *spec,
		    const struct tw_reading_list *l, struct tw_prior_estimate *prior,
		    struct tw_prior_estimate *posterior, struct tw_err *err)
{
	struct tw_power_reading of_unit[TW_PRIOR_READINGS_MAX];
	struct tw_posterior q = { 0 };
	struct tw_prior_machine m;
	const struct tw_prior_view *v;
	int rc;

	if (tw_prior_estimate(p, spec, prior, err) < 0)
		return -1;
	tw_prior_machine_of_spec(spec, &m);
	v = tw_prior_view_for(p, &m);
	if (v == NULL)
		return tw_fail(err, TW_NOTFOUND, "the prior has no view for '%s'",
			       spec->processor);
	*posterior = (struct tw_prior_estimate){ .share = tw_prior_share(v, spec, &m),
						 .readings = l->count };
	for (size_t i = 0; i < l->count; i++) {
		if (check_outside(&prior->curve, &l->at[i], err) < 0)
			return -1;
		of_unit[i] = l->at[i];
		of_unit[i].w /= posterior->share;
	}
	if (tw_posterior_learn(p, v, of_unit, l->count, 0, &q, err) < 0)
		return -1;
	tw_posterior_answer(&q, &m, of_unit, &posterior->curve);
	posterior->curve.view = v; /* lives as long as the prior */
	rc = tw_prior_take_share(posterior, posterior, err);
	tw_posterior_release(&q);
	return rc;
}

/* The curve, and weights of BPFOnly and NodeCPU. */
#define MODELS_MAX 3

/*
 * ---- the pipeline ----
 *
 * The curve as a model for estimators, and linear weights of CPU time for Kepler, each
 * with a certificate.
 */

static int certify(struct tw_model *m, struct tw_err *err)
{
	struct tw_certificate c;
	struct tw_power_model *p = NULL;
	int rc = -1;

	if (tw_power_model_borrow(m, &p, err) == 0 &&
	    tw_certify(p, NULL, 0, NULL, &c, err) == 0 &&
	    tw_certificate_write(&c, m->info.metadata, err) == 0)
		rc = 0;
	tw_power_model_free(p);
	return rc;
}

static int make_models(const struct tw_prior_estimate *e,
		       const struct tw_machine_spec *spec, struct tw_model *models,
		       size_t *count, struct tw_err *err)
{
	static const char *const metrics[] = {
		"bpf_cpu_time_ms", "node_cpu_irq_ms,node_cpu_nice_ms,node_cpu_softirq_ms,"
				   "node_cpu_system_ms,node_cpu_user_ms"
	};
	const struct tw_energy_source *acpi = tw_energy_source_find("acpi");

	if (tw_prior_curve_model(e, spec, &models[*count], err) < 0)
		return -1;
	++*count;
	for (size_t i = 0; i < TW_COUNT(metrics); i++) {
		struct tw_strs names = { 0 };
		const int rc = tw_strs_split(&names, metrics[i], err) < 0
				       ? -1
				       : tw_prior_model_of(e, spec, acpi, &names,
							   &models[*count], err);

		tw_strs_clear(&names);
		if (rc < 0)
			return -1;
		++*count;
	}
	for (size_t i = 0; i < *count; i++)
		if (certify(&models[i], err) < 0)
			return -1;
	return 0;
}

/* metadata.json of the pipeline. */
static json_t *describe(const char *name, const struct tw_power_reading *r,
			size_t readings)
{
	json_t *list = json_array();

	for (size_t i = 0; i < readings; i++)
		json_array_append_new(
			list, json_pack("{s:f,s:f}", "load", r[i].load, "watts", r[i].w));
	return json_pack("{s:i,s:s,s:s,s:s,s:o}", "format_version", TW_MODEL_FORMAT,
			 "name", name, "creator", "tallywatt " TW_VERSION, "match",
			 TW_PRIOR_CALIBRATED, "readings", list);
}

static int add_profile(const struct tw_prior_estimate *e, struct tw_fileset *out,
		       struct tw_err *err)
{
	const double idle[] = { e->curve.w[0] };
	struct tw_profile p = { 0 };
	int rc = -1;

	if (tw_profile_add_power(&p, tw_energy_source_find("acpi"), TW_PLATFORM, 0, idle,
				 1, err) == 0 &&
	    tw_pipeline_set_profile(out, &p, err) == 0)
		rc = 0;
	tw_profile_release(&p);
	return rc;
}

static int make_pipeline(const char *name, const struct tw_prior_estimate *e,
			 const struct tw_machine_spec *spec,
			 const struct tw_power_reading *r, size_t readings,
			 struct tw_fileset *out, struct tw_err *err)
{
	struct tw_model models[MODELS_MAX] = { 0 };
	json_t *metadata = describe(name, r, readings);
	size_t count = 0;
	int rc = -1;

	if (make_models(e, spec, models, &count, err) < 0)
		goto out;
	for (size_t i = 0; i < count; i++)
		if (tw_pipeline_add_model(out, &models[i], err) < 0)
			goto out;
	if (tw_pipeline_add_summary(out, metadata, models, count, err) < 0 ||
	    add_profile(e, out, err) < 0)
		goto out;
	tw_fileset_sort(out);
	rc = 0;
out:
	for (size_t i = 0; i < MODELS_MAX; i++)
		tw_model_release(&models[i]);
	json_decref(metadata);
	return rc;
}

/* ---- the result ---- */

static int publish(const struct config *c, const struct tw_prior_estimate *e,
		   const struct tw_machine_spec *spec, const struct tw_reading_list *l,
		   struct tw_err *err)
{
	struct tw_publish_terms terms = { 0 };
	struct tw_fileset pipeline = { 0 };
	struct tw_signer signer = { 0 };
	size_t models;
	int rc = -1;

	if (c->sign != NULL) {
		if (tw_signer_read(c->sign, c->sign_password_file, &signer, err) < 0)
			goto out;
		terms.signer = &signer;
	}
	if (make_pipeline(c->name, e, spec, l->at, l->count, &pipeline, err) < 0 ||
	    tw_publishing_check(&pipeline, &models, err) < 0 ||
	    tw_dir_make(c->model_db, err) < 0 ||
	    tw_pipeline_publish_with(c->model_db, c->name, &pipeline, &terms, err) < 0)
		goto out;
	rc = 0;
out:
	tw_fileset_clear(&pipeline);
	tw_signer_release(&signer);
	return rc;
}

static void add_curve(struct tw_buf *b, const struct tw_prior_curve *c, size_t l)
{
	tw_buf_addf(b, "  %8.1f W (%.1f .. %.1f)", c->w[l], c->low[l], c->high[l]);
}

static void print(const struct config *c, const struct tw_machine_spec *spec,
		  const struct tw_prior_estimate *prior,
		  const struct tw_prior_estimate *posterior)
{
	struct tw_buf b = { 0 };

	tw_buf_addf(&b, "processor: %s, %u CPUs; prior's view: %s\n", spec->processor,
		    spec->cores, prior->curve.view->name);
	tw_buf_adds(&b, "load, prior and calibrated prior with 90 % intervals\n");
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		tw_buf_addf(&b, "%4zu %%", 10 * l);
		add_curve(&b, &prior->curve, l);
		add_curve(&b, &posterior->curve, l);
		tw_buf_adds(&b, "\n");
	}
	tw_buf_addf(&b, "expected error: %.1f %% before, %.1f %% now\n",
		    100 * prior->error, 100 * posterior->error);
	tw_buf_addf(&b, "pipeline: %s in %s\n", c->name, c->model_db);
	tw_command_print(&b);
}

static int calibrate(void *config, struct tw_err *err)
{
	struct config *c = config;
	struct tw_prior_estimate prior, posterior;
	struct tw_machine_spec spec = { 0 };
	struct tw_reading_list l = { 0 };
	struct tw_prior p = { 0 };
	int rc = -1;

	if (load_prior(c, &p, err) == 0 && find_spec(c, &spec, err) == 0 &&
	    find_readings(c, &l, err) == 0 &&
	    estimate(&p, &spec, &l, &prior, &posterior, err) == 0 &&
	    publish(c, &posterior, &spec, &l, err) == 0) {
		print(c, &spec, &prior, &posterior);
		rc = 0;
	}
	tw_reading_list_release(&l);
	tw_reading_list_release(&c->given);
	tw_prior_release(&p);
	return rc;
}

const struct tw_command tw_command_calibrate = {
	.opts = TW_COMMAND_OPTS(
		"calibrate", NULL,
		"Fit the prior to this machine by a few readings of its power."),
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = calibrate,
};
