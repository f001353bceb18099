/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_request.h"

#include "lib/core/err.h"
#include "trainer/extract/prom.h"
#include "trainer/extract/smooth.h"
#include "trainer/names.h"
#include "trainer/train_member.h"

#include <stdlib.h>
#include <string.h>

/* Labels may be long: a container's command line. */
static const struct tw_jsax_limits limits = { .depth = 32, .text_bytes = 64 << 10 };

static bool opens(enum tw_jsax_type type)
{
	return type == TW_JSAX_OBJECT || type == TW_JSAX_ARRAY;
}

static int take_event(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct tw_train_reader *r = arg;

	if (r->in_value) {
		if (tw_train_member_take(r, e, err) < 0)
			return -1;
		r->in_value = e->depth > r->depth;
		return 0;
	}
	if (e->type == TW_JSAX_KEY)
		return tw_train_member_find(r, e, &r->member, err);
	if (e->depth == 0) {
		if (e->type != TW_JSAX_OBJECT && e->type != TW_JSAX_OBJECT_END)
			return tw_fail(err, TW_PARSE, "expected an object");
		return 0;
	}
	if (e->type == TW_JSAX_OBJECT_END) /* the trainer's */
		return 0;
	/* The trainer's members are read like the request's own. */
	if (r->member == TW_MEMBER_TRAINER && e->depth == 1) {
		if (e->type != TW_JSAX_OBJECT)
			return tw_train_member_fail(TW_MEMBER_TRAINER, "an object", err);
		return 0;
	}
	r->depth = e->depth;
	r->in_value = opens(e->type);
	return tw_train_member_take(r, e, err);
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
			return tw_fail(err, TW_PARSE, "text behind the request's end");
	return 0;
}

static int check_whole(struct tw_train_request *q, struct tw_err *err)
{
	if (q->name == NULL)
		return tw_fail(err, TW_INVALID, "%s: missing",
			       tw_train_member_path(TW_MEMBER_NAME));
	if (q->response == NULL)
		return tw_fail(err, TW_INVALID, "%s: missing",
			       tw_train_member_path(TW_MEMBER_RESPONSE));
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
