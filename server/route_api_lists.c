/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/json/writer.h"
#include "model-db/index/filter.h"
#include "model-db/index/index.h"
#include "server/api_json.h"
#include "server/query.h"
#include "server/routes.h"
#include "server/service.h"

#include <stdint.h>
#include <string.h>

/* /api/v1: lists of pipelines, node types and models. */

#define PAGE 100
#define PAGE_MAX 1000

/* The page of a list, and the position in it. */
struct page {
	uint32_t offset, limit;
	size_t total, written;
};

static int take_page(const struct tw_http_request *q, struct page *p, struct tw_err *err)
{
	p->limit = PAGE;
	if (tw_query_number(q, "offset", 0, UINT32_MAX, &p->offset, err) < 0)
		return -1;
	return tw_query_number(q, "limit", 1, PAGE_MAX, &p->limit, err);
}

/* Count an element. True: it is on the page. */
static bool on_page(struct page *p)
{
	const size_t i = p->total++;

	if (i < p->offset || p->written == p->limit)
		return false;
	p->written++;
	return true;
}

static void end_list(struct page *p, struct tw_buf *b)
{
	const size_t next = p->offset + p->written;

	tw_json_end_array(b);
	tw_json_add_uint(b, "total", p->total);
	if (p->written > 0 && next < p->total)
		tw_json_add_uint(b, "next", next);
	else
		tw_json_add_null(b, "next");
}

/* The selected elements, and the function that writes each. */
struct selection {
	struct tw_query q;
	struct page page;
};

typedef void write_fn(const struct tw_index *x, struct selection *s, struct tw_buf *b);

static void write_pipelines(const struct tw_index *x, struct selection *s,
			    struct tw_buf *b)
{
	tw_json_add_array(b, "pipelines");
	for (size_t i = 0; i < tw_index_pipeline_count(x); i++) {
		if (!on_page(&s->page))
			continue;
		tw_json_add_object(b, NULL);
		tw_api_add_pipeline(b, x, tw_index_pipeline_at(x, i));
		tw_json_end_object(b);
	}
}

static void write_node_types(const struct tw_index *x, struct selection *s,
			     struct tw_buf *b)
{
	tw_json_add_array(b, "node_types");
	for (size_t i = 0; i < tw_index_machine_count(x); i++) {
		const struct tw_index_machine *m = tw_index_machine_at(x, i);

		if (s->q.pipeline != NULL && strcmp(s->q.pipeline, m->pipeline) != 0)
			continue;
		if (!on_page(&s->page))
			continue;
		tw_json_add_object(b, NULL);
		tw_api_add_node_type(b, m);
		tw_json_end_object(b);
	}
}

static void write_models(const struct tw_index *x, struct selection *s, struct tw_buf *b)
{
	tw_json_add_array(b, "models");
	for (size_t i = 0; i < tw_index_count(x); i++) {
		const struct tw_index_entry *e = tw_index_at(x, i);

		if (!tw_query_has(&s->q, e) || !on_page(&s->page))
			continue;
		tw_json_add_object(b, NULL);
		tw_api_add_model(b, e);
		tw_json_end_object(b);
	}
}

/* An index without models has empty lists. */
static void answer(void *app, const struct tw_http_request *q, struct tw_http_reply *r,
		   write_fn *write)
{
	struct tw_service *service = app;
	struct tw_index *x = tw_catalog_current(&service->catalog);
	struct selection s = { 0 };
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };

	if (tw_query_parse(q, &s.q, &err) < 0 || take_page(q, &s.page, &err) < 0) {
		tw_http_reply_error(r, &err);
	} else if (x == NULL) {
		tw_http_reply_problem(r, 503, "the model database was not read yet");
	} else {
		tw_json_add_object(&b, NULL);
		write(x, &s, &b);
		end_list(&s.page, &b);
		tw_json_end_object(&b);
		tw_http_reply_buf(r, &b);
	}
	tw_query_release(&s.q);
	tw_index_unref(x);
}

static void get_pipelines(void *app, const struct tw_http_request *q,
			  struct tw_http_reply *r)
{
	answer(app, q, r, write_pipelines);
}

static void get_node_types(void *app, const struct tw_http_request *q,
			   struct tw_http_reply *r)
{
	answer(app, q, r, write_node_types);
}

static void get_models(void *app, const struct tw_http_request *q,
		       struct tw_http_reply *r)
{
	answer(app, q, r, write_models);
}

const struct tw_http_route tw_route_api_pipelines = {
	.method = "GET",
	.path = "/api/v1/pipelines",
	.handle = get_pipelines,
};

const struct tw_http_route tw_route_api_node_types = {
	.method = "GET",
	.path = "/api/v1/node-types",
	.handle = get_node_types,
};

const struct tw_http_route tw_route_api_models = {
	.method = "GET",
	.path = "/api/v1/models",
	.handle = get_models,
};
