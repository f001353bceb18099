/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/hash.h"
#include "lib/http/client/http_range.h"
#include "lib/json/writer.h"
#include "model-db/index/index.h"
#include "model-db/report/plot.h"
#include "server/plots.h"
#include "server/routes.h"
#include "server/show.h"

#include <inttypes.h>
#include <stdio.h>

/*
 * /api/v1: plots of a model, drawn from its validation rows on request. A model whose
 * rows are missing or broken is served nevertheless.
 */

#define ETAG_TEXT 24

static int list_plots(struct tw_index *x, const struct tw_index_entry *e,
		      const struct tw_http_request *q, struct tw_http_reply *r,
		      struct tw_err *err)
{
	struct tw_plots p = { 0 };
	struct tw_err why = { 0 };
	struct tw_buf b = { 0 };

	(void)x;
	(void)err;
	if (tw_plots_load(e, &p, &why) < 0) {
		tw_http_reply_problem(r, why.code == TW_NOMEM ? 503 : 500, why.text);
		return 0;
	}
	tw_json_add_object(&b, NULL);
	tw_json_add_array(&b, "plots");
	for (size_t i = 0; i < p.count; i++) {
		const char *component = tw_component_name(p.at[i].component);

		tw_json_add_object(&b, NULL);
		tw_json_add_text(&b, "component", component);
		tw_json_add_text(&b, "plot", p.at[i].plot->name);
		tw_json_add_text(&b, "title", p.at[i].plot->title);
		tw_json_add_key(&b, "url");
		tw_buf_addf(&b, "\"%s/%s/%s\"", q->path, component, p.at[i].plot->name);
		tw_json_end_object(&b);
	}
	tw_json_end_array(&b);
	tw_json_add_uint(&b, "total", p.count);
	tw_json_end_object(&b);
	tw_plots_release(&p);
	tw_http_reply_buf(r, &b);
	return 0;
}

/* TW_NOTFOUND: the error names the part that does not exist. */
static int draw(const struct tw_index_entry *e, const struct tw_http_request *q,
		struct tw_buf *out, struct tw_err *err)
{
	const struct tw_plot *plot = tw_plot_find(tw_http_param(q, "plot"));
	struct tw_plots p = { 0 };
	enum tw_component c;
	int rc = -1;

	if (plot == NULL)
		return tw_fail(err, TW_NOTFOUND, "no plot is called '%.64s'",
			       tw_http_param(q, "plot"));
	if (!tw_component_find(tw_http_param(q, "component"), &c))
		return tw_fail(err, TW_NOTFOUND, "no component is called '%.64s'",
			       tw_http_param(q, "component"));
	if (tw_plots_load(e, &p, err) < 0)
		goto out;
	if (p.rows.rows == 0) {
		tw_fail(err, TW_NOTFOUND,
			"model '%s' of pipeline '%s' has no rows of its validation, and "
			"so no plots",
			e->name, e->pipeline);
		goto out;
	}
	if (tw_plot_draw(plot, &p.rows, c, e->name, out, err) < 0)
		goto out;
	if (tw_buf_failed(out)) {
		tw_fail(err, TW_NOMEM, "plot");
		goto out;
	}

	rc = 0;
out:
	tw_plots_release(&p);
	return rc;
}

/* A weak tag: gzip may send other bytes of the same picture. */
static void send_plot(const struct tw_http_request *q, struct tw_buf *b,
		      struct tw_http_reply *r)
{
	const char *known = tw_http_header(q, "If-None-Match");
	char etag[ETAG_TEXT] = "W/";

	snprintf(etag + 2, sizeof(etag) - 2, "\"%016" PRIx64 "\"",
		 tw_hash(b->data, b->len));
	if (known != NULL && tw_http_etag_listed(known, etag + 2)) {
		tw_buf_clear(b);
		r->status = 304;
	} else {
		tw_http_reply_buf(r, b);
		r->content_type = "image/svg+xml";
	}
	tw_http_reply_header(r, "ETag", etag);
}

static int show_plot(struct tw_index *x, const struct tw_index_entry *e,
		     const struct tw_http_request *q, struct tw_http_reply *r,
		     struct tw_err *err)
{
	struct tw_err why = { 0 };
	struct tw_buf b = { 0 };

	(void)x;
	(void)err;
	if (draw(e, q, &b, &why) == 0) {
		send_plot(q, &b, r);
	} else if (why.code == TW_NOTFOUND || why.code == TW_NOMEM) {
		tw_http_reply_error(r, &why);
	} else {
		tw_http_reply_problem(r, 500, why.text);
	}
	tw_buf_clear(&b);
	return 0;
}

static void get_plots(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	tw_show_model(app, q, r, list_plots);
}

static void get_plot(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	tw_show_model(app, q, r, show_plot);
}

const struct tw_http_route tw_route_api_plots = {
	.method = "GET",
	.path = TW_SHOW_MODEL "/plots",
	.handle = get_plots,
};

const struct tw_http_route tw_route_api_plot = {
	.method = "GET",
	.path = TW_SHOW_MODEL "/plots/{component}/{plot}",
	.handle = get_plot,
};
