/* SPDX-License-Identifier: Apache-2.0 */
#include "server/model_metrics.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/http/server/expo.h"
#include "lib/json/json.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct tw_expo_family info = {
	.name = "tw_model_info",
	.type = TW_EXPO_INFO,
	.help = "A served model.",
};

static const struct tw_expo_family mae = {
	.name = "tw_model_mae_watts",
	.type = TW_EXPO_GAUGE,
	.unit = "watts",
	.help = "Mean absolute error of a model on data that it did not see.",
};

static const struct tw_expo_family mape = {
	.name = "tw_model_mape_ratio",
	.type = TW_EXPO_GAUGE,
	.unit = "ratio",
	.help = "Mean absolute error of a model relative to the power.",
};

static const struct tw_expo_family weight = {
	.name = "tw_model_weight_watts",
	.type = TW_EXPO_GAUGE,
	.unit = "watts",
	.help = "Power that a linear model adds for one scale of a feature; without a "
		"feature, its bias.",
};

static const struct tw_expo_family left_out = {
	.name = "tw_models_without_series",
	.type = TW_EXPO_GAUGE,
	.help = "Models without series of their own, because there are too many models.",
};

/* Labels of a model's series, and room for those of a family. */
struct labels {
	struct tw_expo_label at[10];
	size_t count;
	char node_type[24];
};

static void label(struct labels *l, const char *name, const char *value)
{
	l->at[l->count++] = (struct tw_expo_label){ name, value };
}

static void label_model(struct labels *l, const struct tw_index_entry *e)
{
	l->count = 0;
	snprintf(l->node_type, sizeof(l->node_type), "%lld", e->node_type);
	label(l, "pipeline", e->pipeline);
	label(l, "source", e->source->name);
	label(l, "output", tw_output_name(e->output));
	label(l, "feature_group", e->group->name);
	label(l, "trainer", e->trainer);
	label(l, "node_type", l->node_type);
}

typedef void write_fn(struct tw_index *x, const struct tw_index_entry *e,
		      struct labels *l, struct tw_expo *out);

static void write_info(struct tw_index *x, const struct tw_index_entry *e,
		       struct labels *l, struct tw_expo *out)
{
	(void)x;
	label(l, "predictor", e->predictor);
	label(l, "processor", e->machine->spec.processor);
	tw_expo_sample(out, l->at, l->count, 1);
}

static void write_mae(struct tw_index *x, const struct tw_index_entry *e,
		      struct labels *l, struct tw_expo *out)
{
	(void)x;
	if (isfinite(e->mae_w))
		tw_expo_sample(out, l->at, l->count, e->mae_w);
}

static void write_mape(struct tw_index *x, const struct tw_index_entry *e,
		       struct labels *l, struct tw_expo *out)
{
	(void)x;
	if (isfinite(e->mape_percent))
		tw_expo_sample(out, l->at, l->count, e->mape_percent / 100);
}

/* {"All_Weights":{"Bias_Weight":b,"Numerical_Variables":{"f":{"weight":w}}}} */
static void write_component(const char *component, const json_t *v, struct labels *l,
			    struct tw_expo *out)
{
	const json_t *all = json_object_get(v, "All_Weights");
	json_t *features = json_object_get(all, "Numerical_Variables");
	const size_t count = l->count;
	const char *name;
	json_t *f;

	label(l, "component", component);
	label(l, "feature", "");
	tw_expo_sample(out, l->at, l->count,
		       json_number_value(json_object_get(all, "Bias_Weight")));
	json_object_foreach(features, name, f) {
		l->at[l->count - 1].value = name;
		tw_expo_sample(out, l->at, l->count,
			       json_number_value(json_object_get(f, "weight")));
	}
	l->count = count;
}

static void write_weights(struct tw_index *x, const struct tw_index_entry *e,
			  struct labels *l, struct tw_expo *out)
{
	struct tw_index_text text = { 0 };
	struct tw_err err = { 0 };
	json_t *doc = NULL, *v;
	const char *key;

	/*
	 * Only plain weights, which all clients since 0.5.4 take. Skip weights that
	 * cannot be read.
	 */
	if (!tw_index_has_weights(e, TW_CLIENT_0_7) ||
	    tw_index_weights(x, e, TW_CLIENT_0_7, &text, &err) < 0)
		return;
	if (tw_json_parse(text.text, text.len, "weights", &doc, &err) == 0)
		json_object_foreach(doc, key, v)
			write_component(key, v, l, out);
	json_decref(doc);
	tw_index_text_release(&text);
}

static void write_family(struct tw_index *x, const struct tw_expo_family *f,
			 write_fn *write, struct tw_expo *out)
{
	tw_expo_family(out, f);
	for (size_t i = 0; i < tw_index_count(x); i++) {
		const struct tw_index_entry *e = tw_index_at(x, i);
		struct labels l;

		if (e->rank >= TW_MODEL_METRICS_MAX)
			continue;
		label_model(&l, e);
		write(x, e, &l, out);
	}
}

void tw_model_metrics_write(struct tw_index *x, bool weights, struct tw_expo *e)
{
	const size_t count = tw_index_count(x);

	tw_expo_family(e, &left_out);
	tw_expo_count(e, NULL, 0,
		      count > TW_MODEL_METRICS_MAX ? count - TW_MODEL_METRICS_MAX : 0);
	write_family(x, &info, write_info, e);
	write_family(x, &mae, write_mae, e);
	write_family(x, &mape, write_mape, e);
	if (weights)
		write_family(x, &weight, write_weights, e);
}
