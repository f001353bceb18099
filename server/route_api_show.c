/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/http/server/accept.h"
#include "lib/json/writer.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"
#include "model-db/model.h"
#include "model-db/report/card.h"
#include "server/api_json.h"
#include "server/plots.h"
#include "server/routes.h"
#include "server/send_foreign.h"
#include "server/send_zip.h"
#include "server/service.h"
#include "server/show.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* /api/v1: one pipeline, one model, and the parts of a model. */

static int show_model(struct tw_index *x, const struct tw_index_entry *e,
		      const struct tw_http_request *q, struct tw_http_reply *r,
		      struct tw_err *err)
{
	struct tw_model m = { 0 };
	struct tw_buf b = { 0 };

	(void)x;
	(void)q;
	if (tw_index_read_model(e, &m, err) < 0)
		return -1;
	tw_json_add_object(&b, NULL);
	tw_api_add_model(&b, e);
	tw_json_add_value(&b, "metadata", m.info.metadata);
	tw_json_end_object(&b);
	tw_http_reply_buf(r, &b);
	tw_model_release(&m);
	return 0;
}

static void let_go(void *index)
{
	tw_index_unref(index);
}

static int show_weights(struct tw_index *x, const struct tw_index_entry *e,
			const struct tw_http_request *q, struct tw_http_reply *r,
			struct tw_err *err)
{
	struct tw_index_text t = { 0 };

	(void)q;
	if (!tw_index_has_weights(e, TW_CLIENT_CURRENT))
		return tw_fail(err, TW_UNSUPPORTED, "no weights");
	if (tw_index_weights(x, e, TW_CLIENT_CURRENT, &t, err) < 0)
		return -1;
	if (t.own != NULL)
		tw_http_reply_lend(r, t.text, t.len, free, t.own);
	else
		tw_http_reply_lend(r, t.text, t.len, let_go, tw_index_ref(x));
	return 0;
}

/* Plots need validation rows. */
static int write_markdown(const struct tw_index_entry *e, const struct tw_model *m,
			  struct tw_buf *b, struct tw_err *err)
{
	struct tw_card_plot *shown = NULL;
	struct tw_plots p = { 0 };
	struct tw_err broken = { 0 };
	int rc = -1;

	if (tw_plots_load(e, &p, &broken) < 0 && broken.code == TW_NOMEM) {
		tw_fail(err, TW_NOMEM, "%s", broken.text);
		goto out;
	}
	if (tw_plots_show(&p, &shown, err) < 0 ||
	    tw_card_markdown(m, shown, p.count, b, err) < 0)
		goto out;
	rc = 0;
out:
	tw_plots_free_shown(shown, p.count);
	tw_plots_release(&p);
	return rc;
}

/* JSON if the Accept header prefers it to Markdown. */
static int write_card(const struct tw_index_entry *e, const struct tw_model *m,
		      bool as_json, struct tw_buf *b, struct tw_err *err)
{
	if (!as_json)
		return write_markdown(e, m, b, err);
	tw_card_json(m, b);
	return 0;
}

static int show_card(struct tw_index *x, const struct tw_index_entry *e,
		     const struct tw_http_request *q, struct tw_http_reply *r,
		     struct tw_err *err)
{
	const char *accept = tw_http_header(q, "Accept");
	const bool as_json = tw_accept_weight(accept, "application", "json", NULL) >
			     tw_accept_weight(accept, "text", "markdown", NULL);
	struct tw_model m = { 0 };
	struct tw_buf b = { 0 };
	int rc = -1;

	(void)x;
	if (tw_index_read_model(e, &m, err) < 0 ||
	    write_card(e, &m, as_json, &b, err) < 0)
		goto out;
	tw_http_reply_buf(r, &b);
	tw_http_reply_header(r, "Vary", "Accept");
	if (!as_json)
		r->content_type = "text/markdown; charset=utf-8";
	rc = 0;
out:
	tw_buf_clear(&b);
	tw_model_release(&m);
	return rc;
}

static int show_zip(struct tw_index *x, const struct tw_index_entry *e,
		    const struct tw_http_request *q, struct tw_http_reply *r,
		    struct tw_err *err)
{
	return tw_send_zip(x, e, q, r, err);
}

static void get_model(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	tw_show_model(app, q, r, show_model);
}

static void get_weights(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	tw_show_model(app, q, r, show_weights);
}

static void get_card(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	tw_show_model(app, q, r, show_card);
}

static void get_zip(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	tw_show_model(app, q, r, show_zip);
}

/* Split "<model>.zip" or "<model>.json", the file names of kepler-model-db. */
static tw_show_fn *split_file(const char *file, char *name, size_t size)
{
	static const struct {
		const char *suffix;
		tw_show_fn *show;
	} kinds[] = { { ".zip", show_zip }, { ".json", show_weights } };
	const size_t len = strlen(file);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const size_t n = strlen(kinds[i].suffix);

		if (len > n && len - n < size &&
		    strcmp(file + len - n, kinds[i].suffix) == 0) {
			snprintf(name, size, "%.*s", (int)(len - n), file);
			return kinds[i].show;
		}
	}
	return NULL;
}

/* Reply with a model of ours, else with a foreign file of that name. */
static void get_file(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	struct tw_service *s = app;
	struct tw_index *x = tw_catalog_ref(&s->catalog, r);
	const struct tw_index_entry *e = NULL;
	char name[TW_MODEL_NAME_MAX];
	struct tw_err err = { 0 };
	tw_show_fn *fn;

	if (x == NULL)
		return;
	fn = split_file(tw_http_param(q, "file"), name, sizeof(name));
	if (fn == NULL)
		tw_fail(&err, TW_NOTFOUND, "only <model>.zip and <model>.json are here");
	else
		e = tw_show_find(x, q, name, &err);
	if (e != NULL)
		tw_show_entry(s, x, e, q, r, fn);
	else if (fn == NULL || !tw_send_foreign(s, x, q, r))
		tw_http_reply_error(r, &err);
	tw_index_unref(x);
}

static void get_pipeline(void *app, const struct tw_http_request *q,
			 struct tw_http_reply *r)
{
	struct tw_service *s = app;
	struct tw_index *x = tw_catalog_ref(&s->catalog, r);
	const struct tw_index_pipeline *p;
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };

	if (x == NULL)
		return;
	p = tw_index_pipeline_find(x, tw_http_param(q, "pipeline"));
	if (p == NULL) {
		tw_fail(&err, TW_NOTFOUND, "no pipeline is called '%.64s'",
			tw_http_param(q, "pipeline"));
		tw_http_reply_error(r, &err);
	} else {
		tw_json_add_object(&b, NULL);
		tw_api_add_pipeline(&b, x, p);
		tw_json_add_key(&b, "metadata");
		if (p->metadata != NULL)
			tw_buf_add(&b, p->metadata, p->metadata_len);
		else
			tw_buf_adds(&b, "null");
		tw_json_end_object(&b);
		tw_http_reply_buf(r, &b);
	}
	tw_index_unref(x);
}

const struct tw_http_route tw_route_api_model = {
	.method = "GET",
	.path = TW_SHOW_MODEL,
	.handle = get_model,
};

const struct tw_http_route tw_route_api_weights = {
	.method = "GET",
	.path = TW_SHOW_MODEL "/weights",
	.handle = get_weights,
};

const struct tw_http_route tw_route_api_card = {
	.method = "GET",
	.path = TW_SHOW_MODEL "/card",
	.handle = get_card,
};

const struct tw_http_route tw_route_api_zip = {
	.method = "GET",
	.path = TW_SHOW_MODEL "/zip",
	.handle = get_zip,
};

const struct tw_http_route tw_route_files_model = {
	.method = "GET",
	.path = "/models/{pipeline}/{source}/{output}/{group}/{file}",
	.handle = get_file,
};

const struct tw_http_route tw_route_api_pipeline = {
	.method = "GET",
	.path = "/api/v1/pipelines/{pipeline}",
	.handle = get_pipeline,
};
