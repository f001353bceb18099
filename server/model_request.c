/* SPDX-License-Identifier: Apache-2.0 */
#include "server/model_request.h"

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/json/jsax.h"
#include "model-db/index/choose.h"
#include "server/old_names.h"

#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Prefix of members in errors. */
#define WHERE "request"

/* ---- values of members; null counts as absent ---- */

/* The type of the value, for errors: "a list", "true". */
static const char *describe(const struct tw_jsax_event *e)
{
	switch (e->type) {
	case TW_JSAX_ARRAY:
		return "a list";
	case TW_JSAX_TRUE:
		return "true";
	case TW_JSAX_FALSE:
		return "false";
	default:
		return tw_jsax_type_name(e->type);
	}
}

static int fail_type(const char *name, const char *want, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	return tw_fail(err, TW_PARSE, WHERE ".%s: expected %s, got %s", name, want,
		       describe(e));
}

static int check_text(const char *name, const struct tw_jsax_event *e, struct tw_err *err)
{
	if (e->type != TW_JSAX_TEXT)
		return fail_type(name, "a string", e, err);
	if (memchr(e->text, '\0', e->len) != NULL)
		return tw_fail(err, TW_PARSE, WHERE ".%s: a NUL in it", name);
	return 0;
}

/* Copy the text to *out, which is yours. An empty text counts as absent. */
static int copy_text(const char *name, const struct tw_jsax_event *e, char **out,
		     struct tw_err *err)
{
	if (e->type == TW_JSAX_NULL)
		return 0;
	if (check_text(name, e, err) < 0)
		return -1;
	return e->len > 0 ? tw_text_copy(e->text, e->len, out, err) : 0;
}

static int read_bool(const char *name, const struct tw_jsax_event *e, bool *out,
		     struct tw_err *err)
{
	if (e->type == TW_JSAX_TRUE || e->type == TW_JSAX_FALSE)
		*out = e->type == TW_JSAX_TRUE;
	else if (e->type != TW_JSAX_NULL)
		return fail_type(name, "true or false", e, err);
	return 0;
}

static bool is_word(const struct tw_jsax_event *e, const char *word)
{
	return strlen(word) == e->len && strncasecmp(e->text, word, e->len) == 0;
}

/* A boolean, or its name as text in any case: "true", "False". */
static int read_bool_word(const char *name, const struct tw_jsax_event *e, bool *out,
			  struct tw_err *err)
{
	if (e->type != TW_JSAX_TEXT)
		return read_bool(name, e, out, err);
	if (!is_word(e, "true") && !is_word(e, "false"))
		return fail_type(name, "true or false", e, err);
	*out = is_word(e, "true");
	return 0;
}

/* ---- the members ---- */

/*
 * Read the request from parser events: building a tree of values would cost more than all
 * other work for it.
 */

/* Far above the number of node types of any database. */
#define NODE_TYPE_MAX 1000000

#define DEPTH_MAX 64

/* The known keys; others are ignored. */
enum key {
	KEY_FILTER,
	KEY_LOOSE_NODE_TYPE,
	KEY_MACHINE_SPEC,
	KEY_METRICS,
	KEY_MODEL_CLASSES,
	KEY_NODE_TYPE,
	KEY_OUTPUT_TYPE,
	KEY_PIPELINE_NAME,
	KEY_SOURCE,
	KEY_SPEC,
	KEY_TRAINER_NAME,
	KEY_WEIGHT,
	KEY_COUNT
};

struct member;

/* The state of the reader. */
struct reader {
	const char *data;
	struct tw_wanted w;
	const struct tw_output_name *output; /* NULL: not given yet */
	bool weight_given;
	bool other_classes; /* "model_classes" lists more than linear models */
	size_t metrics;     /* number of entries of "metrics" */

	const struct member
		*member;   /* the member whose value follows; NULL: an unknown key */
	char spec_key[24]; /* the key within "machine_spec"; empty if it is longer */
	unsigned seen, spec_seen; /* a bit for each key */
	bool refused;             /* a reader function failed, not the parser */
};

typedef int take_fn(struct reader *r, const struct tw_jsax_event *e, struct tw_err *err);

struct member {
	const char *name;
	take_fn *take; /* its value, or the start of a list or object */
	take_fn *each; /* an entry of that list or object; NULL: entries are ignored */
};

/* ---- keys ---- */

static int take_filter(struct reader *r, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	return copy_text(r->member->name, e, &r->w.filter, err);
}

static int take_pipeline(struct reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	return copy_text(r->member->name, e, &r->w.pipeline, err);
}

static int take_trainer(struct reader *r, const struct tw_jsax_event *e,
			struct tw_err *err)
{
	return copy_text(r->member->name, e, &r->w.trainer, err);
}

static int take_loose(struct reader *r, const struct tw_jsax_event *e, struct tw_err *err)
{
	return read_bool(r->member->name, e, &r->w.loose_node_type, err);
}

static int take_weight(struct reader *r, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	r->weight_given = e->type != TW_JSAX_NULL;
	return read_bool_word(r->member->name, e, &r->w.weight, err);
}

static int take_list(struct reader *r, const struct tw_jsax_event *e, struct tw_err *err)
{
	if (e->type != TW_JSAX_ARRAY && e->type != TW_JSAX_NULL)
		return fail_type(r->member->name, "a list", e, err);
	return 0;
}

static int take_metrics(struct reader *r, const struct tw_jsax_event *e,
			struct tw_err *err)
{
	if (e->type == TW_JSAX_NULL)
		return tw_fail(err, TW_PARSE, WHERE ".metrics: must not be null");
	return take_list(r, e, err);
}

static int take_metric(struct reader *r, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	const size_t i = r->metrics++;

	/* Keep counting for the error at the end. */
	if (i >= TW_MODEL_REQUEST_METRICS_MAX)
		return 0;
	if (e->type != TW_JSAX_TEXT)
		return tw_fail(err, TW_PARSE,
			       WHERE ".metrics[%zu]: expected a string, got %s", i,
			       describe(e));
	if (e->len > TW_FEATURE_NAME_MAX)
		return tw_fail(err, TW_INVALID,
			       WHERE ".metrics[%zu]: %zu bytes, limit is %d", i, e->len,
			       TW_FEATURE_NAME_MAX);
	if (tw_strs_add(&r->w.metrics, e->text, e->len, err) < 0)
		return tw_err_wrap(err, WHERE ".metrics[%zu]", i);
	return 0;
}

/* The client has said all by sending it. */
static int take_nothing(struct reader *r, const struct tw_jsax_event *e,
			struct tw_err *err)
{
	(void)r;
	(void)e;
	(void)err;
	return 0;
}

static bool is_text(const struct tw_jsax_event *e, const char *text)
{
	return e->type == TW_JSAX_TEXT && e->len == strlen(text) &&
	       memcmp(e->text, text, e->len) == 0;
}

/* Model classes that the client reads. */
static int take_class(struct reader *r, const struct tw_jsax_event *e, struct tw_err *err)
{
	(void)err;
	r->w.classes = true;
	r->w.ensembles |= is_text(e, "ensemble");
	r->w.trees |= is_text(e, "xgboost");
	r->other_classes |= !is_text(e, "linear");
	return 0;
}

/* Read a whole number, or its text; -1 and "" mean any. */
static int take_node_type(struct reader *r, const struct tw_jsax_event *e,
			  struct tw_err *err)
{
	char text[16];
	uint32_t n;

	if (e->type == TW_JSAX_NULL)
		return 0;
	if (e->type == TW_JSAX_NUMBER && e->number == trunc(e->number)) {
		if (e->number < -1 || e->number > NODE_TYPE_MAX)
			return tw_fail(err, TW_INVALID,
				       WHERE ".node_type: %.0f is not from -1 to %d",
				       e->number, NODE_TYPE_MAX);
		r->w.node_type = (long long)e->number;
		return 0;
	}
	if (e->type != TW_JSAX_TEXT)
		return fail_type(r->member->name, "a whole number", e, err);
	if (check_text(r->member->name, e, err) < 0)
		return -1;
	if (e->len >= sizeof(text))
		return tw_fail(err, TW_INVALID, WHERE ".node_type: %zu bytes of text",
			       e->len);
	memcpy(text, e->text, e->len);
	text[e->len] = '\0';
	if (*text == '\0' || strcmp(text, "-1") == 0)
		return 0;
	if (tw_parse_u32(text, 0, NODE_TYPE_MAX, &n, err) < 0)
		return tw_err_wrap(err, WHERE ".node_type");
	r->w.node_type = n;
	return 0;
}

static int take_output(struct reader *r, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	if (e->type == TW_JSAX_NULL)
		return tw_fail(err, TW_PARSE, WHERE ".output_type: must not be null");
	if (check_text(r->member->name, e, err) < 0)
		return -1;
	r->output = tw_output_name_find(e->text, e->len);
	if (r->output == NULL)
		return tw_fail(err, TW_INVALID,
			       WHERE
			       ".output_type: '%.*s' is neither AbsPower nor DynPower",
			       (int)(e->len < 64 ? e->len : 64), e->text);
	r->w.output = r->output->output;
	return 0;
}

static int take_source(struct reader *r, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	char *name = NULL;
	int rc = -1;

	if (copy_text(r->member->name, e, &name, err) < 0)
		return -1;
	r->w.source = tw_energy_source_wanted(name);
	if (r->w.source == NULL) {
		tw_fail(err, TW_INVALID,
			WHERE ".source: no energy source is called '%.64s'", name);
		goto out;
	}
	rc = 0;
out:
	free(name);
	return rc;
}

/* ---- the machine ---- */

static int take_spec(struct reader *r, const struct tw_jsax_event *e, struct tw_err *err)
{
	if (e->type != TW_JSAX_OBJECT && e->type != TW_JSAX_NULL)
		return tw_fail(err, TW_INVALID, WHERE ".%s: expected an object, got %s",
			       r->member->name, describe(e));
	r->w.spec_sent = e->type == TW_JSAX_OBJECT;
	return 0;
}

static int take_spec_member(struct reader *r, const struct tw_jsax_event *e,
			    struct tw_err *err)
{
	const struct tw_spec_value v = { .kind = describe(e),
					 .text = e->type == TW_JSAX_TEXT ? e->text : NULL,
					 .len = e->len,
					 .is_number = e->type == TW_JSAX_NUMBER,
					 .number = e->number };

	if (e->type == TW_JSAX_KEY) {
		const bool fits = e->len < sizeof(r->spec_key);

		memcpy(r->spec_key, e->text, fits ? e->len : 0);
		r->spec_key[fits ? e->len : 0] = '\0';
		return 0;
	}
	if (e->type == TW_JSAX_NULL)
		return 0;
	return tw_machine_spec_take(&r->w.spec, &r->spec_seen, r->spec_key, &v,
				    WHERE ".machine_spec", err);
}

#define MACHINE "default_machine"

/* Cuts the pair. */
static int take_pair(struct tw_machine_spec *s, unsigned *seen, char *pair,
		     struct tw_err *err)
{
	const unsigned before = *seen;
	char *equals = strchr(pair, '=');
	struct tw_spec_value v = { .kind = "text" };

	if (equals == NULL)
		return tw_fail(err, TW_INVALID, MACHINE ": want KEY=VALUE, not '%.64s'",
			       pair);
	*equals = '\0';
	v.text = equals + 1;
	v.len = strlen(v.text);
	if (tw_machine_spec_take(s, seen, pair, &v, MACHINE, err) < 0)
		return -1;
	if (*seen == before)
		return tw_fail(err, TW_INVALID,
			       MACHINE ": '%.64s' is not a key of machine_spec", pair);
	return 0;
}

int tw_default_machine_parse(const char *text, struct tw_machine_spec *out,
			     struct tw_err *err)
{
	struct tw_strs pairs = { 0 };
	unsigned seen = 0;
	int rc = -1;

	*out = (struct tw_machine_spec){ 0 };
	if (tw_strs_split(&pairs, text, err) < 0)
		goto out;
	for (size_t i = 0; i < pairs.count; i++)
		if (take_pair(out, &seen, pairs.at[i], err) < 0)
			goto out;
	if (out->processor[0] == '\0' || out->cores == 0) {
		tw_fail(err, TW_INVALID, MACHINE ": it needs processor and cores");
		goto out;
	}
	rc = 0;
out:
	tw_strs_clear(&pairs);
	return rc;
}

/* ---- the request ---- */

static const struct member members[KEY_COUNT] = {
	[KEY_FILTER] = { "filter", take_filter, NULL },
	[KEY_LOOSE_NODE_TYPE] = { "loose_node_type", take_loose, NULL },
	[KEY_MACHINE_SPEC] = { "machine_spec", take_spec, take_spec_member },
	[KEY_METRICS] = { "metrics", take_metrics, take_metric },
	[KEY_MODEL_CLASSES] = { "model_classes", take_list, take_class },
	[KEY_NODE_TYPE] = { "node_type", take_node_type, NULL },
	[KEY_OUTPUT_TYPE] = { "output_type", take_output, NULL },
	[KEY_PIPELINE_NAME] = { "pipeline_name", take_pipeline, NULL },
	[KEY_SOURCE] = { "source", take_source, NULL },
	[KEY_SPEC] = { "spec", take_nothing, NULL },
	[KEY_TRAINER_NAME] = { "trainer_name", take_trainer, NULL },
	[KEY_WEIGHT] = { "weight", take_weight, NULL },
};

static bool is_seen(const struct reader *r, enum key key)
{
	return (r->seen >> key & 1) != 0;
}

static int begin_member(struct reader *r, const struct tw_jsax_event *e,
			struct tw_err *err)
{
	r->member = NULL;
	for (unsigned i = 0; i < KEY_COUNT; i++) {
		if (strlen(members[i].name) != e->len ||
		    memcmp(members[i].name, e->text, e->len) != 0)
			continue;
		if (is_seen(r, (enum key)i))
			return tw_fail(err, TW_PARSE, WHERE ".%s: given twice",
				       members[i].name);
		r->seen |= 1u << i;
		r->member = &members[i];
	}
	return 0;
}

static bool is_end(const struct tw_jsax_event *e)
{
	return e->type == TW_JSAX_OBJECT_END || e->type == TW_JSAX_ARRAY_END;
}

static int dispatch(struct reader *r, const struct tw_jsax_event *e, struct tw_err *err)
{
	if (is_end(e))
		return 0;
	if (e->depth == 0 && e->type != TW_JSAX_OBJECT)
		return tw_fail(err, TW_PARSE, WHERE ": expected an object, got %s",
			       describe(e));
	if (e->depth == 1 && e->type == TW_JSAX_KEY)
		return begin_member(r, e, err);
	if (e->depth == 1 && r->member != NULL)
		return r->member->take(r, e, err);
	if (e->depth == 2 && r->member != NULL && r->member->each != NULL)
		return r->member->each(r, e, err);
	return 0;
}

static int take_event(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct reader *r = arg;

	if (dispatch(r, e, err) < 0) {
		r->refused = true;
		return -1;
	}
	return 0;
}

/* Checks that need the whole request. */
static int complete(struct reader *r, struct tw_err *err)
{
	if (r->output == NULL)
		return tw_fail(err, TW_PARSE, WHERE ".output_type: missing");
	if (!is_seen(r, KEY_METRICS))
		return tw_fail(err, TW_PARSE, WHERE ".metrics: missing");
	if (r->metrics > TW_MODEL_REQUEST_METRICS_MAX)
		return tw_fail(err, TW_INVALID,
			       WHERE ".metrics: %zu entries, limit is %d", r->metrics,
			       TW_MODEL_REQUEST_METRICS_MAX);
	if (!r->weight_given)
		r->w.weight = r->output->weight;
	/* Clients with other models to choose from have chosen the trainer. */
	r->w.default_trainer = tw_trainer_is_default(r->w.trainer) &&
			       (r->w.classes ? !r->other_classes : r->w.weight);
	/* A client that lists model classes knows its counters. */
	r->w.counters_unproven = !r->w.classes && tw_feature_list_unproven(&r->w.metrics);
	/* A zip has fixed names of features: a client with old names cannot use it. */
	if (r->w.weight && tw_old_names_replace(&r->w.metrics, &r->w.old_names, err) < 0)
		return tw_err_wrap(err, WHERE);
	if (r->w.source == NULL)
		r->w.source = tw_energy_source_wanted(NULL);
	return 0;
}

/* No release of Kepler sends these. */
static const unsigned not_kepler = 1u << KEY_LOOSE_NODE_TYPE | 1u << KEY_MODEL_CLASSES |
				   1u << KEY_PIPELINE_NAME | 1u << KEY_SPEC;

/*
 * Recognise the client by the keys that its generation sends (docs/wire.md, "Client
 * generations"). Kepler from 0.7.12 on always sends node type 0, which means any. Other
 * clients mean node type 0 by it; they send keys that no release of Kepler does.
 */
static void tell_client(struct reader *r)
{
	struct tw_wanted *w = &r->w;

	w->client = TW_CLIENT_CURRENT;
	w->no_spec = is_seen(r, KEY_SPEC);
	if (is_seen(r, KEY_MACHINE_SPEC)) {
		if (w->node_type == 0 && (r->seen & not_kepler) == 0)
			w->node_type = -1;
	} else if (is_seen(r, KEY_WEIGHT)) {
		if (w->node_type == 1)
			w->client = TW_CLIENT_0_7;
	} else if (!is_seen(r, KEY_SOURCE)) {
		w->client = r->output->client;
	}
}

/* Kepler's node types 0 and 1 are constants of its sources; other clients mean them. */
static bool chooses_machine(const struct reader *r)
{
	const struct tw_wanted *w = &r->w;

	return is_seen(r, KEY_MACHINE_SPEC) || !w->loose_node_type || w->node_type > 1 ||
	       (w->node_type >= 0 && (r->seen & not_kepler) != 0);
}

int tw_model_request_parse(const char *data, size_t len,
			   const struct tw_machine_spec *default_machine,
			   struct tw_wanted *out, struct tw_err *err)
{
	const struct tw_jsax_limits limits = { .depth = DEPTH_MAX, .text_bytes = len };
	struct reader r = { .data = data,
			    .w = { .node_type = -1, .loose_node_type = true } };

	if (tw_jsax_parse(&limits, take_event, &r, data, len, err) < 0) {
		if (!r.refused)
			tw_err_wrap(err, WHERE);
		goto fail;
	}
	if (complete(&r, err) < 0)
		goto fail;
	tell_client(&r);
	if (default_machine != NULL && !chooses_machine(&r)) {
		r.w.spec = *default_machine;
		r.w.node_type = -1;
	}
	*out = r.w;
	return 0;
fail:
	tw_wanted_release(&r.w);
	return -1;
}
