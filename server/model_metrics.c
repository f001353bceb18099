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

static const struct tw_expo_family left_out[] = {
	{ "tw_models_without_series", TW_EXPO_GAUGE, NULL,
	  "Models without series of their own, because there are too many models." }
};

static void label_model(struct tw_labels *l, const struct tw_index_entry *e)
{
	l->count = 0;
	snprintf(l->text[0], sizeof(l->text[0]), "%lld", e->node_type);
	tw_labels_add(l, "pipeline", e->pipeline);
	tw_labels_add(l, "source", e->source->name);
	tw_labels_add(l, "output", tw_output_name(e->output));
	tw_labels_add(l, "feature_group", e->group->name);
	tw_labels_add(l, "trainer", e->trainer);
	tw_labels_add(l, "node_type", l->text[0]);
}

typedef void write_fn(struct tw_index *x, const struct tw_index_entry *e,
		      struct tw_labels *l, struct tw_expo *out);

static void write_info(struct tw_index *x, const struct tw_index_entry *e,
		       struct tw_labels *l, struct tw_expo *out)
{
	(void)x;
	tw_labels_add(l, "predictor", e->predictor);
	tw_labels_add(l, "processor", e->machine->spec.processor);
	tw_expo_sample(out, l->at, l->count, 1);
}

static void write_mae(struct tw_index *x, const struct tw_index_entry *e,
		      struct tw_labels *l, struct tw_expo *out)
{
	(void)x;
	if (isfinite(e->mae_w))
		tw_expo_sample(out, l->at, l->count, e->mae_w);
}

static void write_mape(struct tw_index *x, const struct tw_index_entry *e,
		       struct tw_labels *l, struct tw_expo *out)
{
	(void)x;
	if (isfinite(e->mape_percent))
		tw_expo_sample(out, l->at, l->count, e->mape_percent / 100);
}

/* {"All_Weights":{"Bias_Weight":b,"Numerical_Variables":{"f":{"weight":w}}}} */
static void write_component(const char *component, const json_t *v, struct tw_labels *l,
			    struct tw_expo *out)
{
	const json_t *all = json_object_get(v, "All_Weights");
	json_t *features = json_object_get(all, "Numerical_Variables");
	const size_t count = l->count;
	const char *name;
	json_t *f;

	tw_labels_add(l, "component", component);
	tw_labels_add(l, "feature", "");
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
			  struct tw_labels *l, struct tw_expo *out)
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

/* The families of each model, in this order; weights only if asked for. */
static const struct {
	struct tw_expo_family family;
	write_fn *write;
} families[] = {
	{ { "tw_model_info", TW_EXPO_INFO, NULL, "A served model." }, write_info },
	{ { "tw_model_mae_watts", TW_EXPO_GAUGE, "watts",
	    "Mean absolute error of a model on data that it did not see." },
	  write_mae },
	{ { "tw_model_mape_ratio", TW_EXPO_GAUGE, "ratio",
	    "Mean absolute error of a model relative to the power." },
	  write_mape },
	{ { "tw_model_weight_watts", TW_EXPO_GAUGE, "watts",
	    "Power that a linear model adds for one scale of a feature; without a "
	    "feature, its bias." },
	  write_weights },
};

const struct tw_expo_table tw_model_families[] = { TW_EXPO_TABLE(left_out),
						   TW_EXPO_TABLE(families),
						   { .first = NULL } };

static void write_family(struct tw_index *x, size_t f, struct tw_expo *out)
{
	tw_expo_family(out, &families[f].family);
	for (size_t i = 0; i < tw_index_count(x); i++) {
		const struct tw_index_entry *e = tw_index_at(x, i);
		struct tw_labels l;

		if (e->rank >= TW_MODEL_METRICS_MAX)
			continue;
		label_model(&l, e);
		families[f].write(x, e, &l, out);
	}
}

void tw_model_metrics_write(struct tw_index *x, bool weights, struct tw_expo *e)
{
	const size_t count = tw_index_count(x), max = TW_MODEL_METRICS_MAX;

	tw_expo_single(e, left_out, count > max ? count - max : 0);
	for (size_t f = 0; f < TW_COUNT(families); f++)
		if (families[f].write != write_weights || weights)
			write_family(x, f, e);
}
