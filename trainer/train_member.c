/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_member.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "trainer/extract/hints.h"
#include "trainer/extract/prom.h"
#include "trainer/extract/smooth.h"
#include "trainer/names.h"

#include <stdlib.h>
#include <string.h>

/* A key, with the depth at which it is one. */
struct key {
	const char *name;
	unsigned depth;
	enum tw_train_member member;
	const char *path; /* for errors */
};

static const struct key keys[] = {
	{ "name", 1, TW_MEMBER_NAME, "name" },
	{ "energy_source", 1, TW_MEMBER_SOURCE, "energy_source" },
	{ "use_vm_metrics", 1, TW_MEMBER_VM_METRICS, "use_vm_metrics" },
	{ "thirdparty_metrics", 1, TW_MEMBER_THIRDPARTY, "thirdparty_metrics" },
	{ "prom_response", 1, TW_MEMBER_RESPONSE, "prom_response" },
	{ "prome_response", 1, TW_MEMBER_RESPONSE, "prome_response" }, /* older clients */
	{ "trainer", 1, TW_MEMBER_TRAINER, "trainer" },
	{ "abs_trainers", 2, TW_MEMBER_ABS_TRAINERS, "trainer.abs_trainers" },
	{ "dyn_trainers", 2, TW_MEMBER_DYN_TRAINERS, "trainer.dyn_trainers" },
	{ "extractor", 2, TW_MEMBER_EXTRACTOR, "trainer.extractor" },
	{ "smooth_window", 2, TW_MEMBER_WINDOW, "trainer.smooth_window" },
	{ "isolator", 2, TW_MEMBER_ISOLATOR, "trainer.isolator" },
	{ "isolator_args", 2, TW_MEMBER_ISOLATOR_ARGS, "trainer.isolator_args" },
	{ "target_hints", 3, TW_MEMBER_TARGET_HINTS,
	  "trainer.isolator_args.target_hints" },
	{ "bg_hints", 3, TW_MEMBER_BG_HINTS, "trainer.isolator_args.bg_hints" },
	{ "abs_pipeline_name", 3, TW_MEMBER_ABS_PIPELINE,
	  "trainer.isolator_args.abs_pipeline_name" },
	{ "idle_prom_response", 2, TW_MEMBER_IDLE, "trainer.idle_prom_response" },
};

const char *tw_train_member_path(enum tw_train_member m)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].member == m)
			return keys[i].path;
	return "";
}

int tw_train_member_fail(enum tw_train_member m, const char *want, struct tw_err *err)
{
	return tw_fail(err, TW_INVALID, "%s: expected %s", tw_train_member_path(m), want);
}

/* What the event's key is; *out is TW_MEMBER_NOTHING where nobody knows it. */
int tw_train_member_find(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 enum tw_train_member *out, struct tw_err *err)
{
	*out = TW_MEMBER_NOTHING;
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
static int dup_text(const struct tw_jsax_event *e, enum tw_train_member m, char **out,
		    struct tw_err *err)
{
	char *copy;

	if (e->type != TW_JSAX_TEXT)
		return tw_train_member_fail(m, "a string", err);
	if (memchr(e->text, '\0', e->len) != NULL)
		return tw_fail(err, TW_INVALID, "%s: NUL in the text",
			       tw_train_member_path(m));
	copy = malloc(e->len + 1);
	if (copy == NULL)
		return tw_fail(err, TW_NOMEM, "%s", tw_train_member_path(m));
	memcpy(copy, e->text, e->len);
	copy[e->len] = '\0';
	*out = copy;
	return 0;
}

static int take_name(struct tw_train_reader *r, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	if (e->type != TW_JSAX_TEXT)
		return tw_train_member_fail(TW_MEMBER_NAME, "a string", err);
	if (tw_name_check("pipeline name", e->text, e->len, err) < 0)
		return -1;
	return dup_text(e, TW_MEMBER_NAME, &r->q.name, err);
}

static int take_source(struct tw_train_reader *r, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	char *text = NULL;
	int status;

	if (e->type == TW_JSAX_NULL)
		return 0;
	if (dup_text(e, TW_MEMBER_SOURCE, &text, err) < 0)
		return -1;
	status = tw_names_source(text, &r->q.source, err);
	free(text);
	return status < 0 ? tw_err_wrap(err, "%s", tw_train_member_path(TW_MEMBER_SOURCE))
			  : 0;
}

static int take_isolator(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	char *text = NULL;
	int status;

	if (e->type == TW_JSAX_NULL)
		return 0;
	if (dup_text(e, TW_MEMBER_ISOLATOR, &text, err) < 0)
		return -1;
	status = tw_names_isolator(text, &r->q.isolator, err);
	free(text);
	return status < 0
		       ? tw_err_wrap(err, "%s", tw_train_member_path(TW_MEMBER_ISOLATOR))
		       : 0;
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
	return tw_train_member_fail(TW_MEMBER_EXTRACTOR, "\"default\" or \"smooth\"",
				    err);
}

static int take_window(struct tw_train_reader *r, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	const double v = e->number;

	if (e->type == TW_JSAX_NULL)
		return 0;
	if (e->type != TW_JSAX_NUMBER || !(v >= 1) || v > TW_SMOOTH_WINDOW_MAX ||
	    v != (uint32_t)v)
		return tw_fail(
			err, TW_INVALID, "%s: expected a whole number from 1 to %d",
			tw_train_member_path(TW_MEMBER_WINDOW), TW_SMOOTH_WINDOW_MAX);
	r->window = (uint32_t)v;
	return 0;
}

static int take_flag(struct tw_train_reader *r, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	if (e->type != TW_JSAX_TRUE && e->type != TW_JSAX_FALSE &&
	    e->type != TW_JSAX_NULL)
		return tw_train_member_fail(TW_MEMBER_VM_METRICS, "true or false", err);
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
		return tw_train_member_fail(r->member, "a list", err);
	}
	if (e->type != TW_JSAX_TEXT)
		return tw_fail(err, TW_INVALID, "%s[%zu]: expected a string",
			       tw_train_member_path(r->member), list->count);
	if (list->count == TW_TRAIN_REQUEST_TRAINERS_MAX)
		return tw_fail(err, TW_INVALID, "%s: more than %d",
			       tw_train_member_path(r->member),
			       TW_TRAIN_REQUEST_TRAINERS_MAX);
	if (tw_strs_add(list, e->text, e->len, err) < 0)
		return tw_err_wrap(err, "%s[%zu]", tw_train_member_path(r->member),
				   list->count);
	return 0;
}

static int take_trainers(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	struct tw_strs *list = r->member == TW_MEMBER_ABS_TRAINERS ? &r->q.abs_trainers
								   : &r->q.dyn_trainers;
	bool end;

	if (take_list(r, e, list, &end, err) < 0)
		return -1;
	return end ? tw_names_trainers(list, tw_train_member_path(r->member), err) : 0;
}

/* They say what of a response is kept, and so come before it. */
static int take_thirdparty(struct tw_train_reader *r, const struct tw_jsax_event *e,
			   struct tw_err *err)
{
	bool end;

	if (e->type != TW_JSAX_NULL && r->seen[TW_MEMBER_RESPONSE])
		return tw_fail(err, TW_INVALID, "%s: want it before %s",
			       tw_train_member_path(TW_MEMBER_THIRDPARTY),
			       tw_train_member_path(TW_MEMBER_RESPONSE));
	if (take_list(r, e, &r->names, &end, err) < 0)
		return -1;
	if (end && tw_thirdparty_init(&r->q.thirdparty, &r->names, err) < 0)
		return tw_err_wrap(err, "%s", tw_train_member_path(TW_MEMBER_THIRDPARTY));
	return 0;
}

/* ---- what the isolator is told ---- */

static int take_pipeline(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	if (e->type == TW_JSAX_NULL)
		return 0;
	if (e->type != TW_JSAX_TEXT)
		return tw_train_member_fail(TW_MEMBER_ABS_PIPELINE, "a string", err);
	if (tw_name_check(tw_train_member_path(TW_MEMBER_ABS_PIPELINE), e->text, e->len,
			  err) < 0)
		return -1;
	return dup_text(e, TW_MEMBER_ABS_PIPELINE, &r->q.abs_pipeline, err);
}

/* Other arguments are passed over. */
static int take_isolator_args(struct tw_train_reader *r, const struct tw_jsax_event *e,
			      struct tw_err *err)
{
	const unsigned depth = r->depth + 1;

	if (e->depth == r->depth) {
		if (e->type != TW_JSAX_NULL && e->type != TW_JSAX_OBJECT &&
		    e->type != TW_JSAX_OBJECT_END)
			return tw_train_member_fail(TW_MEMBER_ISOLATOR_ARGS, "an object",
						    err);
		return 0;
	}
	if (e->type == TW_JSAX_KEY && e->depth == depth)
		return tw_train_member_find(r, e, &r->argument, err);
	switch (r->argument) {
	case TW_MEMBER_TARGET_HINTS:
		return tw_hints_event(e, depth,
				      tw_train_member_path(TW_MEMBER_TARGET_HINTS),
				      &r->q.target_hints, err);
	case TW_MEMBER_BG_HINTS:
		return tw_hints_event(e, depth, tw_train_member_path(TW_MEMBER_BG_HINTS),
				      &r->q.bg_hints, err);
	case TW_MEMBER_ABS_PIPELINE:
		return take_pipeline(r, e, err);
	default:
		return 0;
	}
}

/* ---- responses ---- */

static int take_response(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	struct tw_prom **out = r->member == TW_MEMBER_IDLE ? &r->q.idle : &r->q.response;

	if (e->depth == r->depth && e->type == TW_JSAX_NULL)
		return 0;
	if (r->builder == NULL) {
		if (tw_prom_builder_new(&r->builder, err) < 0)
			return -1;
		if (r->member == TW_MEMBER_RESPONSE)
			tw_prom_builder_add(r->builder, &r->names);
	}
	if (tw_prom_builder_event(r->builder, e, err) < 0)
		return tw_err_wrap(err, "%s", tw_train_member_path(r->member));
	if (!tw_prom_builder_done(r->builder))
		return 0;
	*out = tw_prom_builder_detach(r->builder);
	tw_prom_builder_free(r->builder);
	r->builder = NULL;
	return 0;
}

int tw_train_member_take(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	switch (r->member) {
	case TW_MEMBER_NAME:
		return take_name(r, e, err);
	case TW_MEMBER_SOURCE:
		return take_source(r, e, err);
	case TW_MEMBER_VM_METRICS:
		return take_flag(r, e, err);
	case TW_MEMBER_THIRDPARTY:
		return take_thirdparty(r, e, err);
	case TW_MEMBER_ABS_TRAINERS:
	case TW_MEMBER_DYN_TRAINERS:
		return take_trainers(r, e, err);
	case TW_MEMBER_ISOLATOR:
		return take_isolator(r, e, err);
	case TW_MEMBER_EXTRACTOR:
		return take_extractor(r, e, err);
	case TW_MEMBER_WINDOW:
		return take_window(r, e, err);
	case TW_MEMBER_ISOLATOR_ARGS:
		return take_isolator_args(r, e, err);
	case TW_MEMBER_RESPONSE:
	case TW_MEMBER_IDLE:
		return take_response(r, e, err);
	default:
		return 0;
	}
}
