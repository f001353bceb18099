/* SPDX-License-Identifier: Apache-2.0 */
#include "server/model_request.h"

#include "lib/err.h"
#include "lib/json.h"
#include "lib/num.h"
#include "model-db/choose.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WHERE "request"

/* No database has more node types. */
#define NODE_TYPE_MAX 1000000

/* Every name that an output type ever had. */
static const struct output_name {
	const char *name;
	enum tw_output output;
	bool weight;           /* what it asked for before there was a key "weight" */
	enum tw_client client; /* what Kepler up to 0.5.3 takes as its weights */
} output_names[] = {
	{ "AbsComponentModelWeight", TW_ABS_POWER, true, TW_CLIENT_0_5 },
	{ "AbsComponentPower", TW_ABS_POWER, false, TW_CLIENT_0_5 },
	{ "AbsModelWeight", TW_ABS_POWER, true, TW_CLIENT_0_5_TOTAL },
	{ "AbsPower", TW_ABS_POWER, false, TW_CLIENT_0_5_TOTAL },
	{ "DynComponentModelWeight", TW_DYN_POWER, true, TW_CLIENT_0_5 },
	{ "DynComponentPower", TW_DYN_POWER, false, TW_CLIENT_0_5 },
	{ "DynModelWeight", TW_DYN_POWER, true, TW_CLIENT_0_5_TOTAL },
	{ "DynPower", TW_DYN_POWER, false, TW_CLIENT_0_5_TOTAL },
};

static const struct output_name *find_output(const char *name)
{
	for (size_t i = 0; i < sizeof(output_names) / sizeof(output_names[0]); i++)
		if (strcmp(output_names[i].name, name) == 0)
			return &output_names[i];
	return NULL;
}

static int take_metrics(const json_t *doc, struct tw_wanted *w, struct tw_err *err)
{
	const json_t *list = NULL;

	if (tw_json_array(doc, WHERE, "metrics", false, &list, err) < 0)
		return -1;
	if (json_array_size(list) > TW_REQUEST_METRICS_MAX)
		return tw_fail(err, TW_INVALID,
			       WHERE ".metrics: %zu entries, limit is %d",
			       json_array_size(list), TW_REQUEST_METRICS_MAX);
	for (size_t i = 0; i < json_array_size(list); i++) {
		size_t len = json_string_length(json_array_get(list, i));

		if (len > TW_FEATURE_NAME_MAX)
			return tw_fail(err, TW_INVALID,
				       WHERE ".metrics[%zu]: %zu bytes, limit is %d", i,
				       len, TW_FEATURE_NAME_MAX);
	}
	return tw_json_strs(doc, WHERE, "metrics", false, &w->metrics, err);
}

/* Also *old, what the name asks for from a client that sends no "weight". */
static int take_output(const json_t *doc, struct tw_wanted *w,
		       const struct output_name **old, struct tw_err *err)
{
	const char *name = NULL;

	if (tw_json_text(doc, WHERE, "output_type", false, &name, err) < 0)
		return -1;
	*old = find_output(name);
	if (*old == NULL)
		return tw_fail(err, TW_INVALID,
			       WHERE
			       ".output_type: '%.64s' is neither AbsPower nor DynPower",
			       name);
	w->output = (*old)->output;
	return 0;
}

static int take_source(const json_t *doc, struct tw_wanted *w, struct tw_err *err)
{
	const char *name = NULL;

	if (tw_json_text(doc, WHERE, "source", true, &name, err) < 0)
		return -1;
	w->source = tw_energy_source_wanted(name);
	if (w->source == NULL)
		return tw_fail(err, TW_INVALID,
			       WHERE ".source: no energy source is called '%.64s'", name);
	return 0;
}

/* A copy of a text; an empty one is as good as none. */
static int take_text(const json_t *doc, const char *key, char **out, struct tw_err *err)
{
	const char *text = "";

	if (tw_json_text(doc, WHERE, key, true, &text, err) < 0)
		return -1;
	if (*text == '\0')
		return 0;
	*out = strdup(text);
	if (*out == NULL)
		return tw_fail(err, TW_NOMEM, WHERE ".%s", key);
	return 0;
}

/* A whole number, or its text; -1 and "" are any. */
static int take_node_type(const json_t *doc, struct tw_wanted *w, struct tw_err *err)
{
	const json_t *v = json_object_get(doc, "node_type");
	const char *text = json_string_value(v);
	uint32_t n;

	w->node_type = -1;
	if (text == NULL)
		return tw_json_int(doc, WHERE, "node_type", true, -1, NODE_TYPE_MAX,
				   &w->node_type, err);
	if (*text == '\0' || strcmp(text, "-1") == 0)
		return 0;
	if (tw_parse_u32(text, 0, NODE_TYPE_MAX, &n, err) < 0)
		return tw_err_wrap(err, WHERE ".node_type");
	w->node_type = n;
	return 0;
}

/* Kinds that the client reads. Others than ensembles are given to who does not say. */
static int take_classes(const json_t *doc, struct tw_wanted *w, struct tw_err *err)
{
	const json_t *list = NULL;

	if (tw_json_array(doc, WHERE, "model_classes", true, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));

		w->ensembles |= name != NULL && strcmp(name, "ensemble") == 0;
	}
	return 0;
}

static int take_keys(const json_t *doc, struct tw_wanted *w,
		     const struct output_name **old, struct tw_err *err)
{
	if (take_output(doc, w, old, err) < 0 || take_metrics(doc, w, err) < 0 ||
	    take_source(doc, w, err) < 0 || take_node_type(doc, w, err) < 0)
		return -1;
	w->weight = (*old)->weight;
	w->loose_node_type = true;
	if (tw_json_bool(doc, WHERE, "weight", true, &w->weight, err) < 0 ||
	    tw_json_bool(doc, WHERE, "loose_node_type", true, &w->loose_node_type, err) <
		    0)
		return -1;
	if (take_text(doc, "trainer_name", &w->trainer, err) < 0 ||
	    take_text(doc, "pipeline_name", &w->pipeline, err) < 0 ||
	    take_text(doc, "filter", &w->filter, err) < 0 ||
	    take_classes(doc, w, err) < 0)
		return -1;
	return tw_machine_spec_from_json(json_object_get(doc, "machine_spec"),
					 WHERE ".machine_spec", &w->spec, err);
}

/*
 * Who asks, by the keys that each generation sends (docs/wire.md, "Client generations").
 * Kepler from 0.7.12 never sets the node type and sends 0: that is any.
 */
static void tell_client(const json_t *doc, const struct output_name *old,
			struct tw_wanted *w)
{
	w->client = TW_CLIENT_CURRENT;
	if (json_object_get(doc, "machine_spec") != NULL) {
		if (w->node_type == 0)
			w->node_type = -1;
	} else if (json_object_get(doc, "weight") != NULL) {
		if (w->node_type == 1)
			w->client = TW_CLIENT_0_7;
	} else if (json_object_get(doc, "source") == NULL) {
		w->client = old->client;
	}
}

int tw_model_request_parse(const char *data, size_t len, struct tw_wanted *out,
			   struct tw_err *err)
{
	const struct output_name *old;
	struct tw_wanted w = { 0 };
	json_t *doc = NULL;
	int rc = -1;

	if (tw_json_parse(data, len, WHERE, &doc, err) < 0 ||
	    take_keys(doc, &w, &old, err) < 0)
		goto out;
	tell_client(doc, old, &w);

	*out = w;
	w = (struct tw_wanted){ 0 };
	rc = 0;
out:
	tw_wanted_release(&w);
	json_decref(doc);
	return rc;
}
