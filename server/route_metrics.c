/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/http/server/expo.h"
#include "lib/http/server/httpd_stats.h"
#include "lib/json/json.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"
#include "server/fleet/pull.h"
#include "server/routes.h"
#include "server/service.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

/*
 * Limit of models with series of their own. The most preferred models get them;
 * tw_models_without_series counts the others.
 */
#define MODELS_MAX 1000

/* ---- the models of the index ---- */

static const struct tw_expo_family models_left_out[] = {
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
	 * Export only plain weights, which all clients since 0.5.4 accept. Skip
	 * unreadable weights.
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
} model_families[] = {
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

static void write_family(struct tw_index *x, size_t f, struct tw_expo *out)
{
	tw_expo_family(out, &model_families[f].family);
	for (size_t i = 0; i < tw_index_count(x); i++) {
		const struct tw_index_entry *e = tw_index_at(x, i);
		struct tw_labels l;

		if (e->rank >= MODELS_MAX)
			continue;
		label_model(&l, e);
		model_families[f].write(x, e, &l, out);
	}
}

static void write_models(struct tw_index *x, bool weights, struct tw_expo *e)
{
	const size_t count = tw_index_count(x), max = MODELS_MAX;

	tw_expo_single(e, models_left_out, count > max ? count - max : 0);
	for (size_t f = 0; f < TW_COUNT(model_families); f++)
		if (model_families[f].write != write_weights || weights)
			write_family(x, f, e);
}

/* ---- the server ---- */

static const struct tw_expo_family reloads[] = {
	{ "tw_reloads_total", TW_EXPO_COUNTER, NULL,
	  "How often the database was read, by result." },
};

struct numbers {
	double loaded_s, load_s;
	uint64_t refused, given_up;
	size_t models, pipelines;
};

#define ROW(name, type, unit, help, member) \
	TW_EXPO_ROW("tw_" name, type, unit, help, struct numbers, member, 1)

static const struct tw_expo_row of_reload[] = {
	ROW("loaded_timestamp_seconds", TW_EXPO_GAUGE, "seconds",
	    "Time at which the served index was made.", loaded_s),
	ROW("load_seconds", TW_EXPO_GAUGE, "seconds",
	    "Duration of making the served index.", load_s),
	ROW("models_refused", TW_EXPO_GAUGE, NULL,
	    "Files and directories that the last reload rejected; the log has the "
	    "reasons.",
	    refused),
	ROW("models_given_up_total", TW_EXPO_COUNTER, NULL,
	    "Models that failed in use and are served no more.", given_up),
};

static const struct tw_expo_row of_index[] = {
	ROW("models", TW_EXPO_GAUGE, NULL, "Models in the index.", models),
	ROW("pipelines", TW_EXPO_GAUGE, NULL, "Pipelines in the index.", pipelines),
};

void tw_server_list_metrics(struct tw_buf *out)
{
	static const struct tw_expo_table index[] = {
		TW_EXPO_TABLE(reloads),
		TW_EXPO_TABLE(of_reload),
		TW_EXPO_TABLE(of_index),
		{ .first = NULL },
	};
	static const struct tw_expo_table models[] = {
		TW_EXPO_TABLE(models_left_out),
		TW_EXPO_TABLE(model_families),
		{ .first = NULL },
	};

	tw_expo_list(out, tw_http_families);
	tw_expo_list(out, index);
#if TW_FLEET
	tw_pulls_list_metrics(out);
#endif
	tw_expo_list(out, models);
}

static void write_metrics(void *service, struct tw_expo *e)
{
	struct tw_service *s = service;
	struct tw_index *x = tw_catalog_current(&s->catalog);
	const struct numbers numbers = {
		.loaded_s = (double)atomic_load(&s->loaded_s),
		.load_s = (double)atomic_load(&s->load_us) / 1e6,
		.refused = atomic_load(&s->refused),
		.given_up = atomic_load(&s->catalog.given_up),
		.models = x != NULL ? tw_index_count(x) : 0,
		.pipelines = x != NULL ? tw_index_pipeline_count(x) : 0,
	};

	tw_http_stats_write(s->http, "tw-server", e);
	tw_expo_family(e, reloads);
	tw_expo_count_by(e, "result", "ok", atomic_load(&s->reloads));
	tw_expo_count_by(e, "result", "failed", atomic_load(&s->reloads_failed));
	tw_expo_numbers(e, of_reload, TW_COUNT(of_reload), &numbers);
#if TW_FLEET
	tw_pulls_write(s->pulls, e);
#endif
	tw_expo_numbers(e, of_index, TW_COUNT(of_index), &numbers);
	if (x != NULL)
		write_models(x, s->weights_metrics, e);
	tw_index_unref(x);
}

void tw_get_metrics(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	tw_http_reply_metrics(q, r, write_metrics, app);
}
