/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sample_model.h"

#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "model-db/fitness.h"
#include "model-db/pipeline.h"
#include "model-db/publish.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char * or (const char *text, const char *otherwise)
{
	return text != NULL ? text : otherwise;
}

/*
 * Bias 10, or 0 of a workload; feature i has scale 1000 and weight i + 1. Or trees that
 * cannot be read.
 */
static char *component_text(const struct sample *s, const struct tw_feature_group *g)
{
	char text[4096];
	size_t used;

	if (s->text != NULL)
		return strdup(s->text);
	if (strcmp(or (s->predictor, "linear"), "linear") != 0)
		return strdup("{\"learner\":{\"trees\":[0.5,1e-3]}}");
	used = (size_t)snprintf(text, sizeof(text),
				"{\"All_Weights\":{\"Bias_Weight\":%d,"
				"\"Categorical_Variables\":{},\"Numerical_Variables\":{",
				s->output == TW_DYN_POWER ? 0 : 10);
	for (size_t i = 0; i < g->count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s\"%s\":{\"scale\":1000,\"mean\":0,"
					 "\"variance\":1000000,\"weight\":%zu}",
					 i > 0 ? "," : "", g->features[i], i + 1);
	snprintf(text + used, sizeof(text) - used, "}}}");
	return strdup(text);
}

static void add_part(const struct sample *s, const struct tw_feature_group *g,
		     enum tw_component c, struct tw_model *out)
{
	struct tw_model_part *p = &out->part[out->parts++];
	struct tw_err err = { 0 };

	p->component = c;
	assert_int_equal(tw_strs_copy(&p->features, &out->info.features, &err), 0);
	p->feature_min = calloc(g->count, sizeof(double));
	p->feature_max = calloc(g->count, sizeof(double));
	assert_true(p->feature_min != NULL && p->feature_max != NULL);
	for (size_t i = 0; i < g->count; i++)
		p->feature_max[i] = 1e6 + 0.1 * (double)i;
	p->text = component_text(s, g);
	assert_non_null(p->text);
	p->len = strlen(p->text);
}

/* A model whose text tells nothing has a certificate, so that it may be chosen. */
static const char *metadata_of(const struct sample *s)
{
	if (s->metadata != NULL)
		return s->metadata;
	return strcmp(or (s->predictor, "linear"), "linear") == 0 ? "{}"
	       : s->output == TW_DYN_POWER ? "{\"" TW_CERTIFICATE_ADDITIVE "\":true}"
					   : "{\"" TW_CERTIFICATE_RISES "\":true}";
}

void sample_model(const struct sample *s, struct tw_model *out)
{
	const struct tw_feature_group *g =
		tw_feature_group_find(or (s->group, "CounterOnly"));
	struct tw_model_info *i = &out->info;
	struct tw_err err = { 0 };

	assert_non_null(g);
	i->source = tw_energy_source_find(or (s->source, "rapl-sysfs"));
	assert_non_null(i->source);
	i->group = g;
	i->output = s->output;
	i->node_type = s->node_type;
	i->mae_w = s->mae_w != 0 ? s->mae_w : 1.5;
	i->mape_percent = s->mape_percent != 0 ? s->mape_percent : 12.25;
	i->spec = s->spec;
	snprintf(i->trainer, sizeof(i->trainer), "%s",
		 or (s->trainer, "SGDRegressorTrainer"));
	snprintf(i->predictor, sizeof(i->predictor), "%s", or (s->predictor, "linear"));
	assert_in_range(snprintf(i->name, sizeof(i->name), "%.100s_%lld", i->trainer,
				 i->node_type),
			1, sizeof(i->name) - 1);
	for (size_t f = 0; f < g->count; f++)
		assert_int_equal(tw_strs_adds(&i->features, g->features[f], &err), 0);
	i->metadata = json_loads(metadata_of(s), 0, NULL);
	assert_non_null(i->metadata);
	if (i->source->components[0] == TW_PLATFORM) {
		add_part(s, g, TW_PLATFORM, out);
	} else {
		add_part(s, g, TW_PACKAGE, out);
		add_part(s, g, TW_DRAM, out);
	}
}

void sample_publish(const char *db, const char *pipeline, const struct sample *s,
		    size_t count)
{
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct tw_model m = { 0 };

		sample_model(&s[i], &m);
		if (tw_pipeline_add_model(&files, &m, &err) < 0)
			fail_msg("%s", err.text);
		tw_model_release(&m);
	}
	if (tw_pipeline_publish(db, pipeline, &files, &err) < 0)
		fail_msg("%s", err.text);
	tw_fileset_clear(&files);
}
