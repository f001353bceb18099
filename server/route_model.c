/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/program/log.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip_store.h"
#include "model-db/gblinear.h"
#include "model-db/index/choose.h"
#include "model-db/index/explain.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"
#include "model-db/model.h"
#include "model-db/model_files.h"
#include "model-db/weights.h"
#include "server/model_request.h"
#include "server/old_names.h"
#include "server/routes.h"
#include "server/send.h"
#include "server/service.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Weights with old names are rare; they are written for each request. */
static int send_renamed(struct tw_index_text *t, unsigned old_names,
			struct tw_http_reply *r, struct tw_err *err)
{
	struct tw_buf b = { 0 };

	if (tw_old_names_restore(t->text, t->len, old_names, &b, err) < 0) {
		tw_buf_clear(&b);
		return -1;
	}
	tw_http_reply_buf(r, &b);
	return 0;
}

/* The text belongs to the index: hold a reference to it until it is sent. */
static int send_weights(struct tw_index *x, const struct tw_index_entry *e,
			const struct tw_wanted *w, struct tw_http_reply *r,
			struct tw_err *err)
{
	struct tw_index_text t = { 0 };
	int sent;

	if (tw_index_weights(x, e, w->client, &t, err) < 0)
		return -1;
	if (w->old_names != 0) {
		sent = send_renamed(&t, w->old_names, r, err);
		tw_index_text_release(&t);
		return sent;
	}
	tw_send_text(x, &t, r);
	return 0;
}

/*
 * A zip that is made for the request. The classes that kepler-model-server's estimator
 * reads are xgboost, and two that load pickles: it gets linear models as files of
 * XGBoost.
 */
static int zip_model(const struct tw_wanted *w, struct tw_model *m,
		     struct tw_http_reply *r, struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	struct tw_buf b = { 0 }, name = { 0 };
	int rc = -1;

	if ((!w->classes && tw_model_to_gblinear(m, err) < 0) ||
	    tw_model_to_files(m, &files, err) < 0 || tw_zip_store(&files, &b, err) < 0) {
		tw_buf_clear(&b);
		goto out;
	}
	tw_http_reply_buf(r, &b);
	r->content_type = "application/zip";
	tw_buf_addf(&name, "%s.zip", m->info.name);
	r->attachment = tw_buf_detach(&name, NULL);
	r->failed |= r->attachment == NULL;
	rc = 0;
out:
	tw_fileset_clear(&files);
	return rc;
}

static int send_prior(const struct tw_wanted *w, struct tw_model *m,
		      struct tw_http_reply *r, struct tw_err *err)
{
	struct tw_buf b = { 0 };

	if (!w->weight)
		return zip_model(w, m, r, err);
	if (tw_weights_write(m, w->client, &b, err) < 0) {
		tw_buf_clear(&b);
		return -1;
	}
	tw_http_reply_buf(r, &b);
	return 0;
}

/* Objects of metadata.json would make kepler-model-server's estimator reject the zip,
 * too. */
static int send_for_python(const struct tw_index_entry *e, const struct tw_wanted *w,
			   struct tw_http_reply *r, struct tw_err *err)
{
	struct tw_model m = { 0 };
	int rc;

	if (tw_index_read_model(e, &m, err) < 0)
		return -1;
	if (w->no_spec)
		m.info.spec = (struct tw_machine_spec){ 0 };
	rc = zip_model(w, &m, r, err);
	tw_model_release(&m);
	return rc;
}

static int send_model(struct tw_index *x, const struct tw_index_entry *e,
		      const struct tw_wanted *w, struct tw_http_reply *r,
		      struct tw_err *err)
{
	if (w->weight)
		return send_weights(x, e, w, r, err);
	if (w->no_spec || (!w->classes && (e->has_details || tw_index_is_linear(e))))
		return send_for_python(e, w, r, err);
	return tw_send_zip(x, e, NULL, r, err);
}

/* Send the model of an entry. *again: it cannot be served; it is given up. */
static int try_entry(struct tw_catalog *catalog, struct tw_index *x,
		     const struct tw_choice *choice, const struct tw_wanted *w,
		     struct tw_http_reply *r, bool *again, struct tw_err *err)
{
	const struct tw_index_entry *e = choice->entry;
	struct tw_err why = { 0 };

	*again = false;
	if (!w->weight && w->trainer == NULL && !tw_catalog_prove(catalog, x, e, &why)) {
		*again = why.code != TW_NOMEM;
		return tw_fail(err, why.code, "%s", why.text);
	}
	if (send_model(x, e, w, r, &why) == 0) {
		tw_log_debug(
			"model chosen model=%s pipeline=%s group=%s match=%s weight=%d "
			"client=%d",
			e->name, e->pipeline, e->group->name,
			tw_match_name(choice->match), w->weight, (int)w->client);
		return 0;
	}
	*again = why.code != TW_NOMEM;
	if (*again)
		tw_catalog_give_up(catalog, x, e,
				   w->weight && why.code == TW_UNSUPPORTED ? &w->client
									   : NULL,
				   &why);
	return tw_fail(err, why.code, "%s", why.text);
}

/* Send the best model. If it turns out to be broken, choose again. */
static int answer(struct tw_catalog *catalog, struct tw_index *x,
		  const struct tw_wanted *w, struct tw_http_reply *r, struct tw_err *err)
{
	for (;;) {
		struct tw_choice choice;
		struct tw_err why = { 0 }, no_prior = { 0 };
		struct tw_model prior = { 0 };
		const bool chosen = tw_choose(x, w, &choice, &why) == 0;
		bool again;
		int rc;

		if (tw_choose_prior(x, w, chosen ? &choice : NULL, &prior, &no_prior) ==
		    0) {
			rc = send_prior(w, &prior, r, err);
			tw_model_release(&prior);
			return rc;
		}
		if (no_prior.code == TW_INVALID)
			return tw_fail(err, TW_NOTFOUND, "%s", no_prior.text);
		if (!chosen)
			return tw_fail(err, why.code, "%s", why.text);
		rc = try_entry(catalog, x, &choice, w, r, &again, &why);
		if (!again)
			return rc == 0 ? 0 : tw_fail(err, why.code, "%s", why.text);
	}
}

static bool wants_explanation(const struct tw_http_request *q)
{
	const char *text = tw_http_query(q, "explain");

	return text != NULL && strcmp(text, "") != 0 && strcmp(text, "0") != 0;
}

static int explain(const struct tw_index *x, const struct tw_wanted *w,
		   struct tw_http_reply *r, struct tw_err *err)
{
	struct tw_buf b = { 0 };

	if (tw_explain(x, w, &b, err) < 0) {
		tw_buf_clear(&b);
		return -1;
	}
	tw_http_reply_buf(r, &b);
	return 0;
}

void tw_post_model(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	struct tw_service *service = app;
	struct tw_catalog *catalog = &service->catalog;
	struct tw_wanted w = { 0 };
	struct tw_err err = { 0 };
	struct tw_index *x;

	if (tw_model_request_parse(q->body, q->len, service->default_machine, &w, &err) <
	    0) {
		tw_http_reply_error(r, &err);
		return;
	}
	x = tw_catalog_ref(catalog, r);
	if (x != NULL) {
		if ((wants_explanation(q) ? explain(x, &w, r, &err)
					  : answer(catalog, x, &w, r, &err)) < 0)
			tw_http_reply_error(r, &err);
	}
	tw_index_unref(x);
	tw_wanted_release(&w);
}
