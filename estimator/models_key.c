/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/models_entry.h"
#include "estimator/predict/power_model.h"
#include "model-db/index/choose.h"
#include "model-db/model_check.h"

#include <stdlib.h>
#include <string.h>

static int copy_text(char **to, const char *from, struct tw_err *err)
{
	if (from == NULL)
		return 0;
	*to = strdup(from);
	return *to != NULL ? 0 : tw_fail(err, TW_NOMEM, "wish for a model");
}

int tw_models_wanted(const struct tw_models *m, const struct tw_models_key *k,
		     struct tw_wanted *out, struct tw_err *err)
{
	struct tw_wanted w = { .classes = true,
			       .ensembles = true,
			       .trees = true,
			       .source = k->source,
			       .output = k->output,
			       .counters_unproven = k->counters_unproven,
			       .node_type = -1,
			       .loose_node_type = true,
			       .spec = { .cores = m->cores },
			       .client = TW_CLIENT_CURRENT };

	if (tw_strs_copy(&w.metrics, &k->metrics, err) < 0 ||
	    copy_text(&w.trainer, k->trainer, err) < 0 ||
	    copy_text(&w.filter, k->filter, err) < 0) {
		tw_wanted_release(&w);
		return -1;
	}
	*out = w;
	return 0;
}

int tw_models_check(const struct tw_models_key *k, const struct tw_power_model *p,
		    struct tw_err *err)
{
	const struct tw_model_info *info = tw_power_model_info(p);
	uint32_t place[TW_MODEL_FEATURES_MAX];

	if (info->output != k->output)
		return tw_fail(err, TW_INVALID, "model '%s' is for %s, not %s",
			       info->name, tw_output_name(info->output),
			       tw_output_name(k->output));
	if (info->source != k->source)
		return tw_fail(err, TW_INVALID, "model '%s' is for %s, not %s",
			       info->name, info->source->name, k->source->name);
	for (size_t i = 0; i < tw_power_model_parts(p); i++)
		if (tw_power_model_bind(p, i, &k->metrics, place, err) < 0)
			return -1;
	return 0;
}

void tw_models_key_release(struct tw_models_key *k)
{
	free(k->trainer);
	free(k->filter);
	tw_strs_clear(&k->metrics);
}
