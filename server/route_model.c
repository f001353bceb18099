/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/log.h"
#include "model-db/choose.h"
#include "model-db/index.h"
#include "server/model_request.h"
#include "server/models.h"
#include "server/routes.h"

#include <stdlib.h>

/* A request is some hundred bytes. */
#define BODY_MAX ((size_t)64 * 1024)

/* No model that the index took is larger. */
#define ZIP_MAX ((size_t)64 << 20)

static void let_go(void *index)
{
	tw_index_unref(index);
}

/* Where it is on disk is for the log only. */
static int fail_unreadable(struct tw_models *models, const struct tw_index_entry *e,
			   const struct tw_err *why, struct tw_err *err)
{
	tw_models_log_unreadable(models, why);
	return tw_fail(err, why->code, "model '%s' of pipeline '%s': its file is %s",
		       e->info.name, e->pipeline,
		       why->code == TW_NOTFOUND ? "gone" : "not readable");
}

/* The index's own text, and a reference for as long as it is being sent. */
static void lend_weights(struct tw_index *x, const struct tw_index_entry *e,
			 enum tw_client client, struct tw_http_reply *r)
{
	tw_http_reply_lend(r, e->weights[client], e->weights_len[client], let_go,
			   tw_index_ref(x));
}

/* Large ones are not kept: who asks for them asks once. */
static int make_weights(struct tw_models *models, const struct tw_index_entry *e,
			enum tw_client client, struct tw_http_reply *r,
			struct tw_err *err)
{
	struct tw_model m = { 0 };
	struct tw_buf b = { 0 };
	struct tw_err why = { 0 };
	size_t len;
	char *text;
	int rc = -1;

	if (tw_index_read_model(e, &m, &why) < 0 ||
	    tw_weights_write(&m, client, &b, &why) < 0) {
		fail_unreadable(models, e, &why, err);
		goto out;
	}
	text = tw_buf_detach(&b, &len);
	if (text == NULL) {
		tw_fail(err, TW_NOMEM, "weights of '%s'", e->info.name);
		goto out;
	}
	tw_http_reply_take(r, text, len);
	rc = 0;
out:
	tw_buf_clear(&b);
	tw_model_release(&m);
	return rc;
}

static int read_zip(struct tw_models *models, const struct tw_index_entry *e,
		    struct tw_http_reply *r, struct tw_err *err)
{
	struct tw_err why = { 0 };
	struct tw_buf name = { 0 };
	char *data = NULL;
	size_t len;

	if (tw_file_read(e->zip_path, ZIP_MAX, &data, &len, &why) < 0)
		return fail_unreadable(models, e, &why, err);
	tw_http_reply_take(r, data, len);
	if (len == 0)
		return tw_fail(err, TW_IO,
			       "model '%s' of pipeline '%s': its file is empty",
			       e->info.name, e->pipeline);
	tw_buf_addf(&name, "%s.zip", e->info.name);
	r->attachment = tw_buf_detach(&name, NULL);
	if (r->attachment == NULL)
		return tw_fail(err, TW_NOMEM, "name of a model");
	r->content_type = "application/zip";
	return 0;
}

static int answer(struct tw_models *models, struct tw_index *x, const struct tw_wanted *w,
		  struct tw_http_reply *r, struct tw_err *err)
{
	const struct tw_index_entry *e;

	if (tw_choose(x, w, &e, err) < 0)
		return -1;
	tw_log_debug("model chosen model=%s pipeline=%s group=%s weight=%d client=%d",
		     e->info.name, e->pipeline, e->info.group->name, w->weight,
		     (int)w->client);
	if (!w->weight)
		return read_zip(models, e, r, err);
	if (e->weights[w->client] == NULL)
		return make_weights(models, e, w->client, r, err);
	lend_weights(x, e, w->client, r);
	return 0;
}

static void post_model(void *app, const struct tw_http_request *q,
		       struct tw_http_reply *r)
{
	struct tw_wanted w = { 0 };
	struct tw_err err = { 0 };
	struct tw_index *x;

	if (tw_model_request_parse(q->body, q->len, &w, &err) < 0) {
		tw_http_reply_error(r, &err);
		return;
	}
	x = tw_models_ref(app, r);
	if (x != NULL && answer(app, x, &w, r, &err) < 0)
		tw_http_reply_error(r, &err);
	tw_index_unref(x);
	tw_wanted_release(&w);
}

const struct tw_http_route tw_route_model = {
	.method = "POST",
	.path = "/model",
	.body_max = BODY_MAX,
	.handle = post_model,
};
