/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/calibrate/calibrate_pipeline.h"

#include "estimator/predict/certificate.h"
#include "estimator/predict/power_model.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "lib/zip/fileset.h"
#include "model-db/model.h"
#include "model-db/pipeline.h"
#include "model-db/prior/prior_model.h"
#include "profiler/profile.h"
#include "trainer/machines/readings.h"

#include <jansson.h>
#include <stdlib.h>

/* The curve, and weights of BPFOnly and NodeCPU. */
#define MODELS_MAX 3

static int certify(struct tw_model *m, struct tw_err *err)
{
	struct tw_certificate c;
	struct tw_power_model *p = NULL;
	int rc = -1;

	if (tw_power_model_borrow(m, &p, err) < 0 ||
	    tw_certify(p, NULL, 0, NULL, &c, err) < 0 ||
	    tw_certificate_write(&c, m->info.metadata, err) < 0)
		goto out;
	rc = 0;
out:
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
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
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

/* metadata.json of the pipeline. NULL without memory. */
static json_t *describe(const char *name, const struct tw_power_reading *r,
			size_t readings)
{
	json_t *list = json_array();

	for (size_t i = 0; list != NULL && i < readings; i++)
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
				 1, err) < 0 ||
	    tw_pipeline_set_profile(out, &p, err) < 0)
		goto out;
	rc = 0;
out:
	tw_profile_release(&p);
	return rc;
}

int tw_calibrate_pipeline(const char *name, const struct tw_prior_estimate *e,
			  const struct tw_machine_spec *spec,
			  const struct tw_power_reading *r, size_t readings,
			  struct tw_fileset *out, struct tw_err *err)
{
	struct tw_model *models = calloc(MODELS_MAX, sizeof(*models));
	json_t *metadata = describe(name, r, readings);
	size_t count = 0;
	int rc = -1;

	if (metadata == NULL || models == NULL) {
		tw_fail(err, TW_NOMEM, "pipeline '%s'", name);
		goto out;
	}
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
	for (size_t i = 0; models != NULL && i < MODELS_MAX; i++)
		tw_model_release(&models[i]);
	free(models);
	json_decref(metadata);
	return rc;
}
