/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/service/train_request.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/jsax.h"
#include "model-db/pipeline.h"
#include "trainer/response/hints.h"
#include "trainer/extract/metric_series.h"
#include "trainer/response/prom.h"
#include "trainer/extract/smooth.h"
#include "trainer/names.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Members of a training request (docs/wire.md). */
enum member {
	MEMBER_UNKNOWN, /* its value is skipped */
	MEMBER_NAME,
	MEMBER_SOURCE,
	MEMBER_VM_METRICS,
	MEMBER_THIRDPARTY,
	MEMBER_GAUGES,
	MEMBER_RESPONSE,
	MEMBER_TRAINER,
	MEMBER_ABS_TRAINERS,
	MEMBER_DYN_TRAINERS,
	MEMBER_ISOLATOR,
	MEMBER_ISOLATOR_ARGS,
	MEMBER_TARGET_HINTS,
	MEMBER_BG_HINTS,
	MEMBER_ABS_PIPELINE,
	MEMBER_EXTRACTOR,
	MEMBER_WINDOW,
	MEMBER_IDLE,
	MEMBER_COUNT
};

struct tw_train_reader {
	struct tw_jsax *parser;
	struct tw_train_request q;
	struct tw_prom_builder *builder; /* builds the response that is being read */
	enum member member;              /* the member whose value is being read */
	enum member argument; /* the member of isolator_args that is being read */
	unsigned depth;       /* depth of that value */
	bool in_value;
	bool seen[MEMBER_COUNT];
	struct tw_strs names; /* names of third-party metrics */
	struct tw_strs gauges;
	bool smooth;     /* the smooth extractor is chosen */
	uint32_t window; /* rows of the smooth extractor; 0: not given */
};

/* A key of the request and its depth in the document. */
struct key {
	const char *name;
	unsigned depth;
	enum member member;
	const char *path; /* names the member in errors */
};

static const struct key keys[] = {
	{ "name", 1, MEMBER_NAME, "name" },
	{ "energy_source", 1, MEMBER_SOURCE, "energy_source" },
	{ "use_vm_metrics", 1, MEMBER_VM_METRICS, "use_vm_metrics" },
	{ "thirdparty_metrics", 1, MEMBER_THIRDPARTY, "thirdparty_metrics" },
	{ "gauges", 1, MEMBER_GAUGES, "gauges" },
	{ "prom_response", 1, MEMBER_RESPONSE, "prom_response" },
	{ "prome_response", 1, MEMBER_RESPONSE, "prome_response" }, /* older clients */
	{ "trainer", 1, MEMBER_TRAINER, "trainer" },
	{ "abs_trainers", 2, MEMBER_ABS_TRAINERS, "trainer.abs_trainers" },
	{ "dyn_trainers", 2, MEMBER_DYN_TRAINERS, "trainer.dyn_trainers" },
	{ "extractor", 2, MEMBER_EXTRACTOR, "trainer.extractor" },
	{ "smooth_window", 2, MEMBER_WINDOW, "trainer.smooth_window" },
	{ "isolator", 2, MEMBER_ISOLATOR, "trainer.isolator" },
	{ "isolator_args", 2, MEMBER_ISOLATOR_ARGS, "trainer.isolator_args" },
	{ "target_hints", 3, MEMBER_TARGET_HINTS, "trainer.isolator_args.target_hints" },
	{ "bg_hints", 3, MEMBER_BG_HINTS, "trainer.isolator_args.bg_hints" },
	{ "abs_pipeline_name", 3, MEMBER_ABS_PIPELINE,
	  "trainer.isolator_args.abs_pipeline_name" },
	{ "idle_prom_response", 2, MEMBER_IDLE, "trainer.idle_prom_response" },
};

static const char *member_path(enum member m)
{
	for (size_t i = 0; i < TW_COUNT(keys); i++)
		if (keys[i].member == m)
			return keys[i].path;
	return "";
}

static int fail_member(enum member m, const char *want, struct tw_err *err)
{
	return tw_fail(err, TW_INVALID, "%s: expected %s", member_path(m), want);
}

/*
 * Find the member that the key of the event names. *out is MEMBER_UNKNOWN for an
 * unknown key. TW_INVALID if the request has the member already.
 */
static int find_member(struct tw_train_reader *r, const struct tw_jsax_event *e,
		       enum member *out, struct tw_err *err)
{
	*out = MEMBER_UNKNOWN;
	for (size_t i = 0; i < TW_COUNT(keys); i++) {
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

/* Copy the text of the event to a C string that the caller frees. */
static int dup_text(const struct tw_jsax_event *e, enum member m, char **out,
		    struct tw_err *err)
{
	char *copy;

	if (e->type != TW_JSAX_TEXT)
		return fail_member(m, "a string", err);
	if (memchr(e->text, '\0', e->len) != NULL)
		return tw_fail(err, TW_INVALID, "%s: the text contains a NUL byte",
			       member_path(m));
	copy = malloc(e->len + 1);
	if (copy == NULL)
		return tw_fail(err, TW_NOMEM, "%s", member_path(m));
	memcpy(copy, e->text, e->len);
	copy[e->len] = '\0';
	*out = copy;
	return 0;
}

static int take_name(struct tw_train_reader *r, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	if (e->type != TW_JSAX_TEXT)
		return fail_member(MEMBER_NAME, "a string", err);
	if (tw_pipeline_name_check(e->text, e->len, err) < 0)
		return -1;
	return dup_text(e, MEMBER_NAME, &r->q.name, err);
}

static int take_source(struct tw_train_reader *r, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	char *text = NULL;
	int status;

	if (e->type == TW_JSAX_NULL)
		return 0;
	if (dup_text(e, MEMBER_SOURCE, &text, err) < 0)
		return -1;
	status = tw_names_source(text, &r->q.source, err);
	free(text);
	return status < 0 ? tw_err_wrap(err, "%s", member_path(MEMBER_SOURCE)) : 0;
}

static int take_isolator(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	char *text = NULL;
	int status;

	if (e->type == TW_JSAX_NULL)
		return 0;
	if (dup_text(e, MEMBER_ISOLATOR, &text, err) < 0)
		return -1;
	status = tw_names_isolator(text, &r->q.isolator, err);
	free(text);
	return status < 0 ? tw_err_wrap(err, "%s", member_path(MEMBER_ISOLATOR)) : 0;
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
	return fail_member(MEMBER_EXTRACTOR, "\"default\" or \"smooth\"", err);
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
			       member_path(MEMBER_WINDOW), TW_SMOOTH_WINDOW_MAX);
	r->window = (uint32_t)v;
	return 0;
}

static int take_flag(struct tw_train_reader *r, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	if (e->type != TW_JSAX_TRUE && e->type != TW_JSAX_FALSE &&
	    e->type != TW_JSAX_NULL)
		return fail_member(MEMBER_VM_METRICS, "true or false", err);
	r->q.vm_metrics = e->type == TW_JSAX_TRUE;
	return 0;
}

/* Take an event of a list of strings. *end is true at the end of the list. */
static int take_list(struct tw_train_reader *r, const struct tw_jsax_event *e,
		     struct tw_strs *list, bool *end, struct tw_err *err)
{
	*end = e->depth == r->depth && e->type == TW_JSAX_ARRAY_END;
	if (e->depth == r->depth) {
		if (*end || e->type == TW_JSAX_NULL || e->type == TW_JSAX_ARRAY)
			return 0;
		return fail_member(r->member, "a list", err);
	}
	if (e->type != TW_JSAX_TEXT)
		return tw_fail(err, TW_INVALID, "%s[%zu]: expected a string",
			       member_path(r->member), list->count);
	if (list->count == TW_TRAIN_REQUEST_TRAINERS_MAX)
		return tw_fail(err, TW_INVALID, "%s: more than %d names",
			       member_path(r->member), TW_TRAIN_REQUEST_TRAINERS_MAX);
	if (tw_strs_add(list, e->text, e->len, err) < 0)
		return tw_err_wrap(err, "%s[%zu]", member_path(r->member), list->count);
	return 0;
}

static int take_trainers(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	struct tw_strs *list = r->member == MEMBER_ABS_TRAINERS ? &r->q.abs_trainers
								: &r->q.dyn_trainers;
	bool end;

	if (take_list(r, e, list, &end, err) < 0)
		return -1;
	return end ? tw_names_trainers(list, member_path(r->member), err) : 0;
}

/* The builder of the response needs these names, so they must precede the response. */
static int take_thirdparty(struct tw_train_reader *r, const struct tw_jsax_event *e,
			   struct tw_err *err)
{
	bool end;

	if (e->type != TW_JSAX_NULL && r->seen[MEMBER_RESPONSE])
		return tw_fail(err, TW_INVALID, "%s: must come before %s",
			       member_path(MEMBER_THIRDPARTY),
			       member_path(MEMBER_RESPONSE));
	if (take_list(r, e, &r->names, &end, err) < 0)
		return -1;
	if (end && tw_thirdparty_init(&r->q.thirdparty, &r->names, err) < 0)
		return tw_err_wrap(err, "%s", member_path(MEMBER_THIRDPARTY));
	return 0;
}

/* ---- arguments of the isolator ---- */

static int take_pipeline(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	if (e->type == TW_JSAX_NULL)
		return 0;
	if (e->type != TW_JSAX_TEXT)
		return fail_member(MEMBER_ABS_PIPELINE, "a string", err);
	if (tw_name_check(member_path(MEMBER_ABS_PIPELINE), e->text, e->len, err) < 0)
		return -1;
	return dup_text(e, MEMBER_ABS_PIPELINE, &r->q.abs_pipeline, err);
}

/* Skip other arguments. */
static int take_isolator_args(struct tw_train_reader *r, const struct tw_jsax_event *e,
			      struct tw_err *err)
{
	const unsigned depth = r->depth + 1;

	if (e->depth == r->depth) {
		if (e->type != TW_JSAX_NULL && e->type != TW_JSAX_OBJECT &&
		    e->type != TW_JSAX_OBJECT_END)
			return fail_member(MEMBER_ISOLATOR_ARGS, "an object", err);
		return 0;
	}
	if (e->type == TW_JSAX_KEY && e->depth == depth)
		return find_member(r, e, &r->argument, err);
	switch (r->argument) {
	case MEMBER_TARGET_HINTS:
		return tw_hints_event(e, depth, member_path(MEMBER_TARGET_HINTS),
				      &r->q.target_hints, err);
	case MEMBER_BG_HINTS:
		return tw_hints_event(e, depth, member_path(MEMBER_BG_HINTS),
				      &r->q.bg_hints, err);
	case MEMBER_ABS_PIPELINE:
		return take_pipeline(r, e, err);
	default:
		return 0;
	}
}

/* ---- responses ---- */

static int take_response(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	struct tw_prom **out = r->member == MEMBER_IDLE ? &r->q.idle : &r->q.response;

	if (e->depth == r->depth && e->type == TW_JSAX_NULL)
		return 0;
	if (r->builder == NULL) {
		if (tw_prom_builder_new(&r->builder, err) < 0)
			return -1;
		if (r->member == MEMBER_RESPONSE)
			tw_prom_builder_add(r->builder, &r->names);
	}
	if (tw_prom_builder_event(r->builder, e, err) < 0)
		return tw_err_wrap(err, "%s", member_path(r->member));
	if (!tw_prom_builder_done(r->builder))
		return 0;
	*out = tw_prom_builder_detach(r->builder);
	tw_prom_builder_free(r->builder);
	r->builder = NULL;
	return 0;
}

static int take_member(struct tw_train_reader *r, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	bool end;

	switch (r->member) {
	case MEMBER_NAME:
		return take_name(r, e, err);
	case MEMBER_SOURCE:
		return take_source(r, e, err);
	case MEMBER_VM_METRICS:
		return take_flag(r, e, err);
	case MEMBER_THIRDPARTY:
		return take_thirdparty(r, e, err);
	case MEMBER_GAUGES:
		return take_list(r, e, &r->gauges, &end, err);
	case MEMBER_ABS_TRAINERS:
	case MEMBER_DYN_TRAINERS:
		return take_trainers(r, e, err);
	case MEMBER_ISOLATOR:
		return take_isolator(r, e, err);
	case MEMBER_EXTRACTOR:
		return take_extractor(r, e, err);
	case MEMBER_WINDOW:
		return take_window(r, e, err);
	case MEMBER_ISOLATOR_ARGS:
		return take_isolator_args(r, e, err);
	case MEMBER_RESPONSE:
	case MEMBER_IDLE:
		return take_response(r, e, err);
	default:
		return 0;
	}
}

/* ---- the reader ---- */

/* The text limit allows long labels, such as the command line of a container. */
static const struct tw_jsax_limits limits = { .depth = 32, .text_bytes = 64 << 10 };

static bool opens(enum tw_jsax_type type)
{
	return type == TW_JSAX_OBJECT || type == TW_JSAX_ARRAY;
}

static int take_event(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct tw_train_reader *r = arg;

	if (r->in_value) {
		if (take_member(r, e, err) < 0)
			return -1;
		r->in_value = e->depth > r->depth;
		return 0;
	}
	if (e->type == TW_JSAX_KEY)
		return find_member(r, e, &r->member, err);
	if (e->depth == 0) {
		if (e->type != TW_JSAX_OBJECT && e->type != TW_JSAX_OBJECT_END)
			return tw_fail(err, TW_PARSE, "expected an object");
		return 0;
	}
	if (e->type == TW_JSAX_OBJECT_END) /* end of the trainer's object */
		return 0;
	/* Members of the trainer's object are read as members of the request. */
	if (r->member == MEMBER_TRAINER && e->depth == 1) {
		if (e->type != TW_JSAX_OBJECT)
			return fail_member(MEMBER_TRAINER, "an object", err);
		return 0;
	}
	r->depth = e->depth;
	r->in_value = opens(e->type);
	return take_member(r, e, err);
}

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
			return tw_fail(err, TW_PARSE,
				       "data after the end of the request");
	return 0;
}

static int check_whole(struct tw_train_request *q, struct tw_err *err)
{
	if (q->name == NULL)
		return tw_fail(err, TW_INVALID, "%s: missing", member_path(MEMBER_NAME));
	if (q->response == NULL)
		return tw_fail(err, TW_INVALID, "%s: missing",
			       member_path(MEMBER_RESPONSE));
	if (q->abs_trainers.count == 0 && q->dyn_trainers.count == 0)
		return tw_fail(err, TW_INVALID,
			       "trainer: no abs_trainers and no dyn_trainers");
	/* A client's text with "rapl" means rapl-sysfs where the data have no other. */
	if ((q->source == NULL || (q->source == tw_energy_source_find("rapl-msr") &&
				   !tw_extract_has_source(q->response, q->source))) &&
	    tw_names_source(NULL, &q->source, err) < 0)
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
	if (tw_thirdparty_declare(&r->q.thirdparty, &r->gauges, err) < 0)
		return tw_err_wrap(err, "%s", member_path(MEMBER_GAUGES));
	tw_prom_declare_gauges(r->q.response, &r->gauges);
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
	tw_strs_clear(&r->gauges);
	tw_train_request_release(&r->q);
	free(r);
}

void tw_train_request_release(struct tw_train_request *q)
{
	free(q->name);
	free(q->user);
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
