/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_request.h"

#include "lib/err.h"
#include "lib/file.h"
#include "lib/jsax.h"
#include "trainer/hints.h"
#include "trainer/names.h"
#include "trainer/prom.h"
#include "trainer/smooth.h"

#include <stdlib.h>
#include <string.h>

/* Labels may be long: a container's command line. */
static const struct tw_jsax_limits limits = { .depth = 32, .text_bytes = 64 << 10 };

/* What the members' values are handed to. */
enum member {
	NOTHING, /* of a key that nobody knows */
	NAME,
	SOURCE,
	VM_METRICS,
	THIRDPARTY,
	RESPONSE,
	TRAINER,
	ABS_TRAINERS,
	DYN_TRAINERS,
	ISOLATOR,
	ISOLATOR_ARGS,
	TARGET_HINTS,
	BG_HINTS,
	ABS_PIPELINE,
	EXTRACTOR,
	WINDOW,
	IDLE,
	MEMBER_COUNT
};

struct tw_train_reader {
	struct tw_jsax *parser;
	struct tw_train_request q;
	struct tw_prom_builder *builder; /* of the response being read */
	enum member member;              /* whose value is being read */
	enum member argument;            /* the same within isolator_args */
	unsigned depth;                  /* of that value */
	bool in_value;
	bool seen[MEMBER_COUNT];
	struct tw_strs names; /* of third-party metrics */
	bool smooth;          /* the extractor is */
	uint32_t window;
};

/* A key, with the depth at which it is one. */
struct key {
	const char *name;
	unsigned depth;
	enum member member;
	const char *path; /* for errors */
};

static const struct key keys[] = {
	{ "name", 1, NAME, "name" },
	{ "energy_source", 1, SOURCE, "energy_source" },
	{ "use_vm_metrics", 1, VM_METRICS, "use_vm_metrics" },
	{ "thirdparty_metrics", 1, THIRDPARTY, "thirdparty_metrics" },
	{ "prom_response", 1, RESPONSE, "prom_response" },
	{ "prome_response", 1, RESPONSE, "prome_response" }, /* older clients */
	{ "trainer", 1, TRAINER, "trainer" },
	{ "abs_trainers", 2, ABS_TRAINERS, "trainer.abs_trainers" },
	{ "dyn_trainers", 2, DYN_TRAINERS, "trainer.dyn_trainers" },
	{ "extractor", 2, EXTRACTOR, "trainer.extractor" },
	{ "smooth_window", 2, WINDOW, "trainer.smooth_window" },
	{ "isolator", 2, ISOLATOR, "trainer.isolator" },
	{ "isolator_args", 2, ISOLATOR_ARGS, "trainer.isolator_args" },
	{ "target_hints", 3, TARGET_HINTS, "trainer.isolator_args.target_hints" },
	{ "bg_hints", 3, BG_HINTS, "trainer.isolator_args.bg_hints" },
	{ "abs_pipeline_name", 3, ABS_PIPELINE,
	  "trainer.isolator_args.abs_pipeline_name" },
	{ "idle_prom_response", 2, IDLE, "trainer.idle_prom_response" },
};

static const char *path_of(enum member m)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].member == m)
			return keys[i].path;
	return "";
}

static int fail_type(enum member m, const char *want, struct tw_err *err)
{
	return tw_fail(err, TW_INVALID, "%s: expected %s", path_of(m), want);
}

/* What the event's key is; *out is NOTHING where nobody knows it. */
static int find_key(struct tw_train_reader *r, const struct tw_jsax_event *e,
		    enum member *out, struct tw_err *err)
{
	*out = NOTHING;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const struct key *k = &keys[i];

		if (k->depth != e->depth || strlen(k->name) != e->len ||
		    memcmp(k->name, e->text, e->len) != 0)
			continue;
		if (r->seen[k->member])
			return tw_fail(err, TW_INVALID, "%s: given twice", k->path);
		r->seen[k->member] = true;
		*out = k->member;
	}
	return 0;
}

/* ---- small members ---- */

/* The event's text as a C string. */
static int dup_text(const struct tw_jsax_event *e, enum member m, char **out,
		    struct tw_err *err)
{
	char *copy;

	if (e->type != TW_JSAX_TEXT)
		return fail_type(m, "a string", err);
	if (memchr(e->text, '\0', e->len) != NULL)
		return tw_fail(err, TW_INVALID, "%s: NUL in the text", path_of(m));
	copy = malloc(e->len + 1);
	if (copy == NULL)
		return tw_fail(err, TW_NOMEM, "%s", path_of(m));
	memcpy(copy, e->text, e->len);
	copy[e->len] = '\0';
	*out = copy;
	return 0;
}

static int take_name(struct tw_train_reader *r, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	if (e->type != TW_JSAX_TEXT)
		return fail_type(NAME, "a string", err);
	if (tw_name_check("pipeline name", e->text, e->len, err) < 0)
		return -1;
	return dup_text(e, NAME, &r->q.name, err);
}

static int take_source(struct tw_train_reader *r, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	char *text = NULL;
	int status;

	if (e->type == TW_JSAX_NULL)
		return 0;
	if (dup_text(e, SOURCE, &text, err) < 0)
		return -1;
	status = tw_names_source(text, &r->q.source, err);
	free(text);
	return status < 0 ? tw_err_wrap(err, "%s", path_of(SOURCE)) : 0;
}

static int take_isolator(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	char *text = NULL;
	int status;

	if (e->type == TW_JSAX_NULL)
		return 0;
	if (dup_text(e, ISOLATOR, &text, err) < 0)
		return -1;
	status = tw_names_isolator(text, &r->q.isolator, err);
	free(text);
	return status < 0 ? tw_err_wrap(err, "%s", path_of(ISOLATOR)) : 0;
}

static int take_extractor(struct tw_train_reader *r, const struct tw_jsax_event *e,
			  struct tw_err *err)
{
	if (e->type == TW_JSAX_NULL)
		return 0;
	for (size_t i = 0; e->type == TW_JSAX_TEXT && tw_extractor_names[i] != NULL; i++)
		if (strlen(tw_extractor_names[i]) == e->len &&
		    memcmp(tw_extractor_names[i], e->text, e->len) == 0) {
			r->smooth = i > 0;
			return 0;
		}
	return fail_type(EXTRACTOR, "\"default\" or \"smooth\"", err);
}

static int take_window(struct tw_train_reader *r, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	const double v = e->number;

	if (e->type == TW_JSAX_NULL)
		return 0;
	if (e->type != TW_JSAX_NUMBER || !(v >= 1) || v > TW_SMOOTH_WINDOW_MAX ||
	    v != (uint32_t)v)
		return tw_fail(err, TW_INVALID,
			       "%s: expected a whole number from 1 to %d",
			       path_of(WINDOW), TW_SMOOTH_WINDOW_MAX);
	r->window = (uint32_t)v;
	return 0;
}

static int take_flag(struct tw_train_reader *r, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	if (e->type != TW_JSAX_TRUE && e->type != TW_JSAX_FALSE &&
	    e->type != TW_JSAX_NULL)
		return fail_type(VM_METRICS, "true or false", err);
	r->q.vm_metrics = e->type == TW_JSAX_TRUE;
	return 0;
}

/* A list of texts; *end is true at its last event. */
static int take_list(struct tw_train_reader *r, const struct tw_jsax_event *e,
		     struct tw_strs *list, bool *end, struct tw_err *err)
{
	*end = e->depth == r->depth && e->type == TW_JSAX_ARRAY_END;
	if (e->depth == r->depth) {
		if (*end || e->type == TW_JSAX_NULL || e->type == TW_JSAX_ARRAY)
			return 0;
		return fail_type(r->member, "a list", err);
	}
	if (e->type != TW_JSAX_TEXT)
		return tw_fail(err, TW_INVALID, "%s[%zu]: expected a string",
			       path_of(r->member), list->count);
	if (list->count == TW_TRAIN_REQUEST_TRAINERS_MAX)
		return tw_fail(err, TW_INVALID, "%s: more than %d", path_of(r->member),
			       TW_TRAIN_REQUEST_TRAINERS_MAX);
	if (tw_strs_add(list, e->text, e->len, err) < 0)
		return tw_err_wrap(err, "%s[%zu]", path_of(r->member), list->count);
	return 0;
}

static int take_trainers(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	struct tw_strs *list =
		r->member == ABS_TRAINERS ? &r->q.abs_trainers : &r->q.dyn_trainers;
	bool end;

	if (take_list(r, e, list, &end, err) < 0)
		return -1;
	return end ? tw_names_trainers(list, path_of(r->member), err) : 0;
}

/* They say what of a response is kept, and so come before it. */
static int take_thirdparty(struct tw_train_reader *r, const struct tw_jsax_event *e,
			   struct tw_err *err)
{
	bool end;

	if (e->type != TW_JSAX_NULL && r->seen[RESPONSE])
		return tw_fail(err, TW_INVALID, "%s: want it before %s",
			       path_of(THIRDPARTY), path_of(RESPONSE));
	if (take_list(r, e, &r->names, &end, err) < 0)
		return -1;
	if (end && tw_thirdparty_init(&r->q.thirdparty, &r->names, err) < 0)
		return tw_err_wrap(err, "%s", path_of(THIRDPARTY));
	return 0;
}

/* ---- what the isolator is told ---- */

static int take_pipeline(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	if (e->type == TW_JSAX_NULL)
		return 0;
	if (e->type != TW_JSAX_TEXT)
		return fail_type(ABS_PIPELINE, "a string", err);
	if (tw_name_check(path_of(ABS_PIPELINE), e->text, e->len, err) < 0)
		return -1;
	return dup_text(e, ABS_PIPELINE, &r->q.abs_pipeline, err);
}

/* Other arguments are passed over. */
static int take_isolator_args(struct tw_train_reader *r, const struct tw_jsax_event *e,
			      struct tw_err *err)
{
	const unsigned depth = r->depth + 1;

	if (e->depth == r->depth) {
		if (e->type != TW_JSAX_NULL && e->type != TW_JSAX_OBJECT &&
		    e->type != TW_JSAX_OBJECT_END)
			return fail_type(ISOLATOR_ARGS, "an object", err);
		return 0;
	}
	if (e->type == TW_JSAX_KEY && e->depth == depth)
		return find_key(r, e, &r->argument, err);
	switch (r->argument) {
	case TARGET_HINTS:
		return tw_hints_event(e, depth, path_of(TARGET_HINTS), &r->q.target_hints,
				      err);
	case BG_HINTS:
		return tw_hints_event(e, depth, path_of(BG_HINTS), &r->q.bg_hints, err);
	case ABS_PIPELINE:
		return take_pipeline(r, e, err);
	default:
		return 0;
	}
}

/* ---- responses ---- */

static int take_response(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	struct tw_prom **out = r->member == IDLE ? &r->q.idle : &r->q.response;

	if (e->depth == r->depth && e->type == TW_JSAX_NULL)
		return 0;
	if (r->builder == NULL) {
		if (tw_prom_builder_new(&r->builder, err) < 0)
			return -1;
		if (r->member == RESPONSE)
			tw_prom_builder_add(r->builder, &r->names);
	}
	if (tw_prom_builder_event(r->builder, e, err) < 0)
		return tw_err_wrap(err, "%s", path_of(r->member));
	if (!tw_prom_builder_done(r->builder))
		return 0;
	*out = tw_prom_builder_detach(r->builder);
	tw_prom_builder_free(r->builder);
	r->builder = NULL;
	return 0;
}

static int take_value(struct tw_train_reader *r, const struct tw_jsax_event *e,
		      struct tw_err *err)
{
	switch (r->member) {
	case NAME:
		return take_name(r, e, err);
	case SOURCE:
		return take_source(r, e, err);
	case VM_METRICS:
		return take_flag(r, e, err);
	case THIRDPARTY:
		return take_thirdparty(r, e, err);
	case ABS_TRAINERS:
	case DYN_TRAINERS:
		return take_trainers(r, e, err);
	case ISOLATOR:
		return take_isolator(r, e, err);
	case EXTRACTOR:
		return take_extractor(r, e, err);
	case WINDOW:
		return take_window(r, e, err);
	case ISOLATOR_ARGS:
		return take_isolator_args(r, e, err);
	case RESPONSE:
	case IDLE:
		return take_response(r, e, err);
	default:
		return 0;
	}
}

static bool opens(enum tw_jsax_type type)
{
	return type == TW_JSAX_OBJECT || type == TW_JSAX_ARRAY;
}

static int take_event(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct tw_train_reader *r = arg;

	if (r->in_value) {
		if (take_value(r, e, err) < 0)
			return -1;
		r->in_value = e->depth > r->depth;
		return 0;
	}
	if (e->type == TW_JSAX_KEY)
		return find_key(r, e, &r->member, err);
	if (e->depth == 0) {
		if (e->type != TW_JSAX_OBJECT && e->type != TW_JSAX_OBJECT_END)
			return tw_fail(err, TW_PARSE, "expected an object");
		return 0;
	}
	if (e->type == TW_JSAX_OBJECT_END) /* the trainer's */
		return 0;
	/* The trainer's members are read like the request's own. */
	if (r->member == TRAINER && e->depth == 1) {
		if (e->type != TW_JSAX_OBJECT)
			return fail_type(TRAINER, "an object", err);
		return 0;
	}
	r->depth = e->depth;
	r->in_value = opens(e->type);
	return take_value(r, e, err);
}

/* ---- the whole ---- */

int tw_train_reader_new(struct tw_train_reader **out, struct tw_err *err)
{
	struct tw_train_reader *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return tw_fail(err, TW_NOMEM, "training request");
	if (tw_jsax_new(&limits, take_event, r, &r->parser, err) < 0) {
		tw_train_reader_free(r);
		return -1;
	}
	*out = r;
	return 0;
}

int tw_train_reader_feed(struct tw_train_reader *r, const char *data, size_t len,
			 struct tw_err *err)
{
	size_t used = 0;

	if (!tw_jsax_done(r->parser) &&
	    tw_jsax_feed(r->parser, data, len, &used, err) < 0)
		return -1;
	for (; used < len; used++)
		if (data[used] == '\0' || strchr(" \t\r\n", data[used]) == NULL)
			return tw_fail(err, TW_PARSE, "text behind the request's end");
	return 0;
}

static int check_whole(struct tw_train_request *q, struct tw_err *err)
{
	if (q->name == NULL)
		return tw_fail(err, TW_INVALID, "%s: missing", path_of(NAME));
	if (q->response == NULL)
		return tw_fail(err, TW_INVALID, "%s: missing", path_of(RESPONSE));
	if (q->abs_trainers.count == 0 && q->dyn_trainers.count == 0)
		return tw_fail(err, TW_INVALID,
			       "trainer: no abs_trainers and no dyn_trainers");
	if (q->source == NULL && tw_names_source(NULL, &q->source, err) < 0)
		return -1;
	if (q->isolator == NULL &&
	    tw_names_isolator(TW_ISOLATOR_DEFAULT, &q->isolator, err) < 0)
		return -1;
	return 0;
}

int tw_train_reader_end(struct tw_train_reader *r, struct tw_train_request *out,
			struct tw_err *err)
{
	if (tw_jsax_end(r->parser, err) < 0 || check_whole(&r->q, err) < 0)
		return -1;
	if (r->smooth)
		r->q.smooth = r->window > 0 ? r->window : TW_SMOOTH_WINDOW_DEFAULT;
	*out = r->q;
	r->q = (struct tw_train_request){ 0 };
	return 0;
}

void tw_train_reader_free(struct tw_train_reader *r)
{
	if (r == NULL)
		return;
	tw_jsax_free(r->parser);
	tw_prom_builder_free(r->builder);
	tw_strs_clear(&r->names);
	tw_train_request_release(&r->q);
	free(r);
}

void tw_train_request_release(struct tw_train_request *q)
{
	free(q->name);
	tw_strs_clear(&q->abs_trainers);
	tw_strs_clear(&q->dyn_trainers);
	tw_strs_clear(&q->target_hints);
	tw_strs_clear(&q->bg_hints);
	free(q->abs_pipeline);
	tw_thirdparty_release(&q->thirdparty);
	tw_prom_free(q->response);
	tw_prom_free(q->idle);
	*q = (struct tw_train_request){ 0 };
}
