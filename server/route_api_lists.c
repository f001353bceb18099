/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines, node types and models as lists of /api/v1, and the best models. */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/http/server/httpd_reply.h"
#include "lib/json/writer.h"
#include "model-db/index/choose.h"
#include "model-db/index/filter.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"
#include "server/routes.h"
#include "server/service.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* ---- arguments that select models; an absent or empty one selects all ---- */

struct query {
	const char *pipeline; /* NULL: any; lives as long as the request */
	const struct tw_energy_source *source; /* NULL: any */
	bool output[TW_OUTPUT_COUNT];
	const struct tw_feature_group *group; /* NULL: any */
	const char *trainer;                  /* NULL: any */
	long long node_type;                  /* -1: any */
	struct tw_filter filter;
};

/* NULL if the argument is absent or empty. */
static const char *find_text(const struct tw_http_request *q, const char *name)
{
	const char *text = tw_http_query(q, name);

	return text != NULL && *text != '\0' ? text : NULL;
}

/* Read a whole number. *out is unchanged if the argument is absent or empty. */
static int read_number(const struct tw_http_request *q, const char *name, uint32_t min,
		       uint32_t max, uint32_t *out, struct tw_err *err)
{
	const char *text = find_text(q, name);

	if (text == NULL)
		return 0;
	if (tw_parse_u32(text, min, max, out, err) < 0)
		return tw_err_wrap(err, "%s", name);
	return 0;
}

static int take_output(const char *name, struct query *out, struct tw_err *err)
{
	enum tw_output o;

	for (int i = 0; i < TW_OUTPUT_COUNT; i++)
		out->output[i] = name == NULL;
	if (name == NULL)
		return 0;
	if (!tw_output_find(name, &o))
		return tw_fail(err, TW_INVALID,
			       "output-type: '%.64s' is neither AbsPower nor DynPower",
			       name);
	out->output[o] = true;
	return 0;
}

static int take_node_type(const char *text, struct query *out, struct tw_err *err)
{
	uint32_t n;

	out->node_type = -1;
	if (text == NULL || strcmp(text, "-1") == 0)
		return 0;
	if (tw_parse_u32(text, 0, UINT32_MAX, &n, err) < 0)
		return tw_err_wrap(err, "node-type");
	out->node_type = n;
	return 0;
}

static int take_source(const char *name, struct query *out, struct tw_err *err)
{
	if (name == NULL)
		return 0;
	out->source = tw_energy_source_wanted(name);
	if (out->source == NULL)
		return tw_fail(err, TW_INVALID,
			       "energy-source: no energy source is called '%.64s'", name);
	return 0;
}

static int take_group(const char *name, struct query *out, struct tw_err *err)
{
	if (name == NULL)
		return 0;
	out->group = tw_feature_group_find(name);
	if (out->group == NULL)
		return tw_fail(err, TW_INVALID,
			       "feature-group: no feature group is called '%.64s'", name);
	return 0;
}

/* *out must be all zero; release it, also after a failure. */
static int read_query(const struct tw_http_request *q, struct query *out,
		      struct tw_err *err)
{
	out->pipeline = find_text(q, "pipeline");
	out->trainer = find_text(q, "trainer");
	if (take_source(find_text(q, "energy-source"), out, err) < 0 ||
	    take_group(find_text(q, "feature-group"), out, err) < 0 ||
	    take_output(find_text(q, "output-type"), out, err) < 0 ||
	    take_node_type(find_text(q, "node-type"), out, err) < 0)
		return -1;
	return tw_filter_parse(find_text(q, "filter"), &out->filter, err);
}

/* Whether the arguments select the model. */
static bool is_selected(const struct query *q, const struct tw_index_entry *e)
{
	return (q->pipeline == NULL || strcmp(q->pipeline, e->pipeline) == 0) &&
	       (q->source == NULL || q->source == e->source) && q->output[e->output] &&
	       (q->group == NULL || q->group == e->group) &&
	       (q->trainer == NULL || strcmp(q->trainer, e->trainer) == 0) &&
	       (q->node_type < 0 || q->node_type == e->node_type) &&
	       tw_filter_pass(&q->filter, e, NULL);
}

/* ---- members ---- */

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
	if (read_number(q, "offset", 0, UINT32_MAX, &p->offset, err) < 0)
		return -1;
	return read_number(q, "limit", 1, PAGE_MAX, &p->limit, err);
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
	struct query q;
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

		if (!is_selected(&s->q, e) || !on_page(&s->page))
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

	if (read_query(q, &s.q, &err) < 0 || take_page(q, &s.page, &err) < 0) {
		tw_http_reply_error(r, &err);
	} else if (x == NULL) {
		tw_http_reply_problem(r, 503, "the model database was not read yet");
	} else {
		tw_json_add_object(&b, NULL);
		write(x, &s, &b);
		end_list(&s.page, &b);
		tw_json_end_object(&b);
		tw_http_reply_tagged(q, r, &b);
	}
	tw_filter_release(&s.q.filter);
	tw_index_unref(x);
}

void tw_get_pipelines(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	answer(app, q, r, write_pipelines);
}

void tw_get_node_types(void *app, const struct tw_http_request *q,
		       struct tw_http_reply *r)
{
	answer(app, q, r, write_node_types);
}

void tw_get_models(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	answer(app, q, r, write_models);
}

void tw_get_pipeline(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
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
		tw_http_reply_tagged(q, r, &b);
	}
	tw_index_unref(x);
}

/* ---- the best models ---- */

static bool any_model_has(const struct tw_index *x, const char *attribute)
{
	for (size_t i = 0; i < tw_index_count(x); i++)
		if (!isnan(tw_index_figure(tw_index_at(x, i), attribute)))
			return true;
	return false;
}

/* Reject an attribute that no model has: it would filter nothing. */
static int check_filter(const struct tw_index *x, const struct tw_filter *f,
			struct tw_err *err)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->part[i].only.count == 0 && !any_model_has(x, f->part[i].attribute))
			return tw_fail(err, TW_INVALID, "filter: no model has a '%.64s'",
				       f->part[i].attribute);
	return 0;
}

/*
 * Whether POST /model serves the model. If not it is given up, here as there, so that the
 * list does not depend on the requests before it.
 */
static bool is_served(struct tw_catalog *c, struct tw_index *x,
		      const struct tw_index_entry *e)
{
	struct tw_index_text zip = { 0 };
	struct tw_err why = { 0 };
	int fd = -1;

	if (!tw_catalog_prove(c, x, e, &why))
		return why.code == TW_NOMEM;
	if (tw_index_zip(x, e, &zip, &fd, &why) == 0) {
		tw_index_text_release(&zip);
		if (fd >= 0)
			close(fd);
	} else if (why.code != TW_NOMEM) {
		tw_catalog_give_up(c, x, e, NULL, &why);
		return false;
	}
	return true;
}

static void add_groups(struct tw_catalog *c, struct tw_index *x, const struct query *s,
		       enum tw_output o, struct tw_buf *b)
{
	for (size_t g = 0; g < tw_feature_group_count(); g++) {
		const struct tw_feature_group *group = tw_feature_group_at(g);
		const struct tw_index_entry *e;

		if (s->group != NULL && s->group != group)
			continue;
		do
			e = tw_choose_best(x, s->source, o, group, s->node_type,
					   &s->filter);
		while (e != NULL && !is_served(c, x, e));
		if (e != NULL)
			tw_json_add_text(b, group->name, e->name);
	}
}

static int answer_best(struct tw_catalog *c, struct tw_index *x, const struct query *s,
		       const struct tw_http_request *q, struct tw_http_reply *r,
		       struct tw_err *err)
{
	struct tw_buf b = { 0 };

	if (check_filter(x, &s->filter, err) < 0)
		return -1;
	tw_json_add_object(&b, NULL);
	for (int o = 0; o < TW_OUTPUT_COUNT; o++) {
		if (!s->output[o])
			continue;
		tw_json_add_object(&b, tw_output_name((enum tw_output)o));
		add_groups(c, x, s, (enum tw_output)o, &b);
		tw_json_end_object(&b);
	}
	tw_json_end_object(&b);
	tw_http_reply_tagged(q, r, &b);
	return 0;
}

void tw_get_best_models(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	struct tw_service *service = app;
	struct query s = { 0 };
	struct tw_err err = { 0 };
	struct tw_index *x = NULL;

	if (read_query(q, &s, &err) < 0) {
		tw_http_reply_error(r, &err);
		goto out;
	}
	/* The default is that of POST /model. */
	if (s.source == NULL)
		s.source = tw_energy_source_wanted(NULL);
	if ((x = tw_catalog_ref(&service->catalog, r)) != NULL) {
		if (answer_best(&service->catalog, x, &s, q, r, &err) < 0)
			tw_http_reply_error(r, &err);
	}
out:
	tw_index_unref(x);
	tw_filter_release(&s.filter);
}
