/* SPDX-License-Identifier: Apache-2.0 */
/* /api/v1: pipelines, node types and models, and lists of them. */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"
#include "model-db/index/filter.h"
#include "model-db/index/index.h"
#include "server/query.h"
#include "server/routes.h"
#include "server/service.h"

#include <stdint.h>
#include <string.h>

/* The index has plain names only: a URL needs no escapes. */
static void add_url(struct tw_buf *b, const struct tw_index_entry *e)
{
	tw_json_add_key(b, "url");
	tw_buf_addf(b, "\"/api/v1/models/%s/%s/%s/%s/%s\"", e->pipeline, e->source->name,
		    tw_output_name(e->output), e->group->name, e->name);
}

void tw_api_add_model(struct tw_buf *b, const struct tw_index_entry *e)
{
	tw_json_add_text(b, "pipeline", e->pipeline);
	tw_json_add_text(b, "model_name", e->name);
	tw_json_add_text(b, "trainer", e->trainer);
	tw_json_add_text(b, "model_class", e->predictor);
	tw_json_add_text(b, "source", e->source->name);
	tw_json_add_text(b, "output_type", tw_output_name(e->output));
	tw_json_add_text(b, "feature_group", e->group->name);
	tw_json_add_array(b, "features");
	for (size_t i = 0; i < e->feature_count; i++)
		tw_json_add_text(b, NULL, e->features[i]);
	tw_json_end_array(b);
	tw_json_add_int(b, "node_type", e->node_type);
	tw_json_add_value_take(b, "machine_spec",
			       tw_machine_spec_to_json(&e->machine->spec));
	tw_json_add_number(b, "mae", e->mae_w);
	tw_json_add_number(b, "mape", e->mape_percent);
	tw_json_add_bool(b, "weights", e->weights_for != 0);
	tw_json_add_uint(b, "zip_bytes", e->zip_bytes);
	tw_json_add_uint(b, "preference", e->rank);
	add_url(b, e);
}

static void add_node_type(struct tw_buf *b, const struct tw_index_machine *m)
{
	tw_json_add_text(b, "pipeline", m->pipeline);
	tw_json_add_int(b, "node_type", m->node_type);
	tw_json_add_value_take(b, "attrs", tw_machine_spec_to_json(&m->spec));
	tw_json_add_uint(b, "members", m->members);
}

/* The range of a pipeline's models with this source and output. */
static size_t count_models(const struct tw_index *x, const struct tw_index_pipeline *p,
			   const struct tw_energy_source *source, enum tw_output output)
{
	size_t n = 0;

	for (size_t i = p->first; i < p->first + p->count; i++) {
		const struct tw_index_entry *e = tw_index_at(x, i);

		n += e->source == source && e->output == output;
	}
	return n;
}

static void add_sources(struct tw_buf *b, const struct tw_index *x,
			const struct tw_index_pipeline *p)
{
	tw_json_add_object(b, "sources");
	/* The models are sorted by their source. */
	for (size_t i = p->first; i < p->first + p->count; i++) {
		const struct tw_energy_source *source = tw_index_at(x, i)->source;

		if (i > p->first && tw_index_at(x, i - 1)->source == source)
			continue;
		tw_json_add_object(b, source->name);
		for (int o = 0; o < TW_OUTPUT_COUNT; o++)
			tw_json_add_uint(b, tw_output_name((enum tw_output)o),
					 count_models(x, p, source, (enum tw_output)o));
		tw_json_end_object(b);
	}
	tw_json_end_object(b);
}

static size_t count_node_types(const struct tw_index *x,
			       const struct tw_index_pipeline *p)
{
	size_t n = 0;

	for (size_t i = 0; i < tw_index_machine_count(x); i++)
		n += tw_index_machine_at(x, i)->pipeline == p->name;
	return n;
}

static void add_pipeline(struct tw_buf *b, const struct tw_index *x,
			 const struct tw_index_pipeline *p)
{
	tw_json_add_text(b, "name", p->name);
	tw_json_add_uint(b, "models", p->count);
	tw_json_add_uint(b, "node_types", count_node_types(x, p));
	add_sources(b, x, p);
	tw_json_add_key(b, "url");
	tw_buf_addf(b, "\"/api/v1/pipelines/%s\"", p->name);
}

/* ---- lists ---- */

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
		add_pipeline(b, x, tw_index_pipeline_at(x, i));
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
		add_node_type(b, m);
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
		add_pipeline(&b, x, p);
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

const struct tw_http_route tw_route_api_pipeline = {
	.method = "GET",
	.path = "/api/v1/pipelines/{pipeline}",
	.handle = get_pipeline,
};
