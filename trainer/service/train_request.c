/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/service/train_request.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/json/jsax.h"
#include "model-db/pipeline.h"
#include "trainer/response/hints.h"
#include "trainer/extract/metric_series.h"
#include "trainer/response/prom.h"
#include "trainer/extract/smooth.h"
#include "trainer/names.h"

#include <stdlib.h>
#include <string.h>

struct tw_train_reader {
	struct tw_jsax *parser;
	struct tw_train_request q;
	struct tw_prom_builder *builder; /* builds the response that is being read */
	const struct member *member;     /* whose value is being read; NULL: skip it */
	unsigned depth;                  /* depth of that value */
	bool in_value;
	uint32_t seen;        /* bits: the members that were read */
	struct tw_strs names; /* names of third-party metrics */
	struct tw_strs gauges;
	bool accept_partial;
	bool smooth;     /* the smooth extractor is chosen */
	uint32_t window; /* rows of the smooth extractor; 0: not given */
};

/* A member of the request (docs/wire.md). */
struct member {
	const char *name;
	unsigned depth;   /* of the key in the document */
	const char *path; /* names the member in errors */
	/* Take an event of the value. NULL: an object with further members. */
	int (*take)(struct tw_train_reader *r, const struct tw_jsax_event *e,
		    struct tw_err *err);
	size_t offset; /* of the result in the reader, if `take` serves several members */
};

static void *result_of(struct tw_train_reader *r)
{
	return (char *)r + r->member->offset;
}

static int fail_member(const struct tw_train_reader *r, const char *want,
		       struct tw_err *err)
{
	return tw_fail(err, TW_INVALID, "%s: expected %s", r->member->path, want);
}

/* ---- small members ---- */

/* Copy the text of the event to a C string that the caller frees. */
static int dup_text(const struct tw_train_reader *r, const struct tw_jsax_event *e,
		    char **out, struct tw_err *err)
{
	if (e->type != TW_JSAX_TEXT)
		return fail_member(r, "a string", err);
	if (tw_text_copy(e->text, e->len, out, err) < 0)
		return tw_err_wrap(err, "%s", r->member->path);
	return 0;
}

static int take_name(struct tw_train_reader *r, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	if (e->type != TW_JSAX_TEXT)
		return fail_member(r, "a string", err);
	if (tw_pipeline_name_check(e->text, e->len, err) < 0)
		return -1;
	return dup_text(r, e, &r->q.name, err);
}

/* Take the name of a source or of an isolator. */
static int take_known(struct tw_train_reader *r, const struct tw_jsax_event *e,
		      struct tw_err *err)
{
	char *text = NULL;
	int status;

	if (e->type == TW_JSAX_NULL)
		return 0;
	if (dup_text(r, e, &text, err) < 0)
		return -1;
	status = result_of(r) == &r->q.source
			 ? tw_names_source(text, &r->q.source, err)
			 : tw_names_isolator(text, &r->q.isolator, err);
	free(text);
	return status < 0 ? tw_err_wrap(err, "%s", r->member->path) : 0;
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
	return fail_member(r, "\"default\" or \"smooth\"", err);
}

static int take_partial(struct tw_train_reader *r, const struct tw_jsax_event *e,
			struct tw_err *err)
{
	for (size_t i = 0; e->type == TW_JSAX_TEXT && tw_prom_partial_names[i] != NULL;
	     i++)
		if (tw_jsax_is_text(e, tw_prom_partial_names[i])) {
			r->accept_partial = i > 0;
			return 0;
		}
	return fail_member(r, "\"refuse\" or \"accept\"", err);
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
			       r->member->path, TW_SMOOTH_WINDOW_MAX);
	r->window = (uint32_t)v;
	return 0;
}

static int take_flag(struct tw_train_reader *r, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	if (e->type != TW_JSAX_TRUE && e->type != TW_JSAX_FALSE &&
	    e->type != TW_JSAX_NULL)
		return fail_member(r, "true or false", err);
	r->q.vm_metrics = e->type == TW_JSAX_TRUE;
	return 0;
}

/* Whether the event ends the list that is being read. */
static bool ends_list(const struct tw_train_reader *r, const struct tw_jsax_event *e)
{
	return e->depth == r->depth && e->type == TW_JSAX_ARRAY_END;
}

static int take_list(struct tw_train_reader *r, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	struct tw_strs *list = result_of(r);

	if (e->depth == r->depth) {
		if (e->type == TW_JSAX_ARRAY_END || e->type == TW_JSAX_NULL ||
		    e->type == TW_JSAX_ARRAY)
			return 0;
		return fail_member(r, "a list", err);
	}
	if (e->type != TW_JSAX_TEXT)
		return tw_fail(err, TW_INVALID, "%s[%zu]: expected a string",
			       r->member->path, list->count);
	if (list->count == TW_TRAIN_REQUEST_TRAINERS_MAX)
		return tw_fail(err, TW_INVALID, "%s: more than %d names", r->member->path,
			       TW_TRAIN_REQUEST_TRAINERS_MAX);
	if (tw_strs_add(list, e->text, e->len, err) < 0)
		return tw_err_wrap(err, "%s[%zu]", r->member->path, list->count);
	return 0;
}

static int take_trainers(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	if (take_list(r, e, err) < 0)
		return -1;
	return ends_list(r, e) ? tw_names_trainers(result_of(r), r->member->path, err)
			       : 0;
}

/* The builder of the response needs these names, so they must precede the response. */
static int take_thirdparty(struct tw_train_reader *r, const struct tw_jsax_event *e,
			   struct tw_err *err)
{
	if (e->type != TW_JSAX_NULL && r->q.response != NULL)
		return tw_fail(err, TW_INVALID, "%s: must come before prom_response",
			       r->member->path);
	if (take_list(r, e, err) < 0)
		return -1;
	if (ends_list(r, e) && tw_thirdparty_init(&r->q.thirdparty, &r->names, err) < 0)
		return tw_err_wrap(err, "%s", r->member->path);
	return 0;
}

static int take_hints(struct tw_train_reader *r, const struct tw_jsax_event *e,
		      struct tw_err *err)
{
	return tw_hints_event(e, r->depth, r->member->path, result_of(r), err);
}

static int take_pipeline(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	if (e->type == TW_JSAX_NULL)
		return 0;
	if (e->type != TW_JSAX_TEXT)
		return fail_member(r, "a string", err);
	if (tw_name_check(r->member->path, e->text, e->len, err) < 0)
		return -1;
	return dup_text(r, e, &r->q.abs_pipeline, err);
}

/* ---- responses ---- */

static int take_response(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	struct tw_prom **out = result_of(r);

	if (e->depth == r->depth && e->type == TW_JSAX_NULL)
		return 0;
	if (r->builder == NULL) {
		if (tw_prom_builder_new(&r->builder, err) < 0)
			return -1;
		if (out == &r->q.response)
			tw_prom_builder_add(r->builder, &r->names);
	}
	if (tw_prom_builder_event(r->builder, e, err) < 0)
		return tw_err_wrap(err, "%s", r->member->path);
	if (!tw_prom_builder_done(r->builder))
		return 0;
	*out = tw_prom_builder_detach(r->builder);
	tw_prom_builder_free(r->builder);
	r->builder = NULL;
	return 0;
}

/* ---- the table of members ---- */

#define AT(field) offsetof(struct tw_train_reader, field)
#define ARGS "trainer.isolator_args"

static const struct member members[] = {
	{ "name", 1, "name", take_name, 0 },
	{ "energy_source", 1, "energy_source", take_known, AT(q.source) },
	{ "use_vm_metrics", 1, "use_vm_metrics", take_flag, 0 },
	{ "partial", 1, "partial", take_partial, 0 },
	{ "thirdparty_metrics", 1, "thirdparty_metrics", take_thirdparty, AT(names) },
	{ "gauges", 1, "gauges", take_list, AT(gauges) },
	{ "prom_response", 1, "prom_response", take_response, AT(q.response) },
	/* Names that older clients send. */
	{ "prome_response", 1, "prom_response", take_response, AT(q.response) },
	{ "trainer", 1, "trainer", NULL, 0 },
	{ "abs_trainers", 2, "trainer.abs_trainers", take_trainers, AT(q.abs_trainers) },
	{ "dyn_trainers", 2, "trainer.dyn_trainers", take_trainers, AT(q.dyn_trainers) },
	{ "extractor", 2, "trainer.extractor", take_extractor, 0 },
	{ "smooth_window", 2, "trainer.smooth_window", take_window, 0 },
	{ "isolator", 2, "trainer.isolator", take_known, AT(q.isolator) },
	{ "isolator_args", 2, ARGS, NULL, 0 },
	{ "target_hints", 3, ARGS ".target_hints", take_hints, AT(q.target_hints) },
	{ "bg_hints", 3, ARGS ".bg_hints", take_hints, AT(q.bg_hints) },
	{ "abs_pipeline_name", 3, ARGS ".abs_pipeline_name", take_pipeline, 0 },
	{ "idle_prom_response", 2, "trainer.idle_prom_response", take_response,
	  AT(q.idle) },
};

_Static_assert(TW_COUNT(members) <= 32, "struct tw_train_reader has a bit for each");

/* Whether the request has the member already, by this or by another key. */
static bool is_seen(const struct tw_train_reader *r, const struct member *m)
{
	for (size_t i = 0; i < TW_COUNT(members); i++)
		if ((r->seen & UINT32_C(1) << i) != 0 &&
		    strcmp(members[i].path, m->path) == 0)
			return true;
	return false;
}

/* Find the member that the key names. TW_INVALID if the request has it already. */
static int find_member(struct tw_train_reader *r, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	r->member = NULL;
	for (size_t i = 0; i < TW_COUNT(members); i++) {
		const struct member *m = &members[i];

		if (m->depth != e->depth || strlen(m->name) != e->len ||
		    memcmp(m->name, e->text, e->len) != 0)
			continue;
		if (is_seen(r, m))
			return tw_fail(err, TW_INVALID, "%s: given twice", m->path);
		r->seen |= UINT32_C(1) << i;
		r->member = m;
	}
	return 0;
}

static int take_value(struct tw_train_reader *r, const struct tw_jsax_event *e,
		      struct tw_err *err)
{
	return r->member != NULL ? r->member->take(r, e, err) : 0;
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
		if (take_value(r, e, err) < 0)
			return -1;
		r->in_value = e->depth > r->depth;
		return 0;
	}
	if (e->type == TW_JSAX_KEY)
		return find_member(r, e, err);
	if (e->depth == 0) {
		if (e->type != TW_JSAX_OBJECT && e->type != TW_JSAX_OBJECT_END)
			return tw_fail(err, TW_PARSE, "expected an object");
		return 0;
	}
	/* Members of the trainer's object are read as members of the request. */
	if (e->type == TW_JSAX_OBJECT_END)
		return 0;
	if (r->member != NULL && r->member->take == NULL) {
		if (e->type != TW_JSAX_OBJECT &&
		    (e->type != TW_JSAX_NULL || r->member->depth == 1))
			return fail_member(r, "an object", err);
		return 0;
	}
	r->depth = e->depth;
	r->in_value = opens(e->type);
	return take_value(r, e, err);
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
	return tw_jsax_feed_only(r->parser, data, len, err);
}

/* Refuse a response from which its server knows series to be missing. */
static int check_partial(const struct tw_train_request *q, struct tw_err *err)
{
	static const char advice[] = "\"partial\":\"accept\" takes it";

	if (tw_prom_check_whole(q->response, "prom_response", advice, err) < 0)
		return -1;
	return q->idle == NULL
		       ? 0
		       : tw_prom_check_whole(q->idle, "trainer.idle_prom_response",
					     advice, err);
}

static int check_whole(struct tw_train_request *q, struct tw_err *err)
{
	if (q->name == NULL)
		return tw_fail(err, TW_INVALID, "name: missing");
	if (q->response == NULL)
		return tw_fail(err, TW_INVALID, "prom_response: missing");
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
	if (tw_jsax_end(r->parser, err) < 0 || check_whole(&r->q, err) < 0 ||
	    (!r->accept_partial && check_partial(&r->q, err) < 0))
		return -1;
	if (tw_thirdparty_declare(&r->q.thirdparty, &r->gauges, err) < 0)
		return tw_err_wrap(err, "gauges");
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
