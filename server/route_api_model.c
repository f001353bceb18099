/* SPDX-License-Identifier: Apache-2.0 */
/* /api/v1: one model and its parts. An error names the part of the path that is wrong. */
#include "estimator/predict/power_model.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/server/accept.h"
#include "lib/http/server/httpd_reply.h"
#include "lib/json/writer.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"
#include "model-db/model.h"
#include "model-db/report/card.h"
#include "model-db/report/plot.h"
#include "model-db/validation.h"
#include "server/routes.h"
#include "server/send.h"
#include "server/service.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- models named by a path ---- */

/*
 * Write the reply about a model. TW_UNSUPPORTED, for a model without weights, is a 404.
 * After another failure the model is given up, and the reply is a 500.
 */
typedef int show_fn(struct tw_index *x, const struct tw_index_entry *e,
		    const struct tw_http_request *q, struct tw_http_reply *r,
		    struct tw_err *err);

/* NULL: the error names the part of the path that does not exist. */
static const struct tw_index_entry *find_model(const struct tw_index *x,
					       const struct tw_http_request *q,
					       const char *name, struct tw_err *err)
{
	const char *pipeline = tw_http_param(q, "pipeline");
	const struct tw_energy_source *source =
		tw_energy_source_find(tw_http_param(q, "source"));
	const struct tw_feature_group *group =
		tw_feature_group_find(tw_http_param(q, "group"));
	const struct tw_index_entry *e = NULL;
	enum tw_output output;

	if (tw_index_pipeline_find(x, pipeline) == NULL)
		tw_fail(err, TW_NOTFOUND, "no pipeline is called '%.64s'", pipeline);
	else if (source == NULL)
		tw_fail(err, TW_NOTFOUND, "no energy source is called '%.64s'",
			tw_http_param(q, "source"));
	else if (!tw_output_find(tw_http_param(q, "output"), &output))
		tw_fail(err, TW_NOTFOUND, "'%.64s' is neither AbsPower nor DynPower",
			tw_http_param(q, "output"));
	else if (group == NULL)
		tw_fail(err, TW_NOTFOUND, "no feature group is called '%.64s'",
			tw_http_param(q, "group"));
	else if ((e = tw_index_find(x, pipeline, source, output, group, name)) == NULL)
		tw_fail(err, TW_NOTFOUND, "no model of that place is called '%.64s'",
			name);
	return e;
}

static unsigned status_of(enum tw_code code)
{
	if (code == TW_UNSUPPORTED)
		return 404;
	return code == TW_NOMEM ? 503 : 500;
}

static void show_entry(struct tw_service *s, struct tw_index *x,
		       const struct tw_index_entry *e, const struct tw_http_request *q,
		       struct tw_http_reply *r, show_fn *fn)
{
	struct tw_err err = { 0 }, why = { 0 };

	if (fn(x, e, q, r, &why) == 0)
		return;
	/* A model asked for by name has no substitute. The log has its path. */
	if (why.code != TW_NOMEM && why.code != TW_UNSUPPORTED)
		tw_catalog_give_up(&s->catalog, x, e, NULL, &why);
	tw_fail(&err, why.code, "model '%s' of pipeline '%s' %s", e->name, e->pipeline,
		why.code == TW_UNSUPPORTED ? "has no weights" : "cannot be read");
	tw_http_reply_problem(r, status_of(why.code), err.text);
}

static void show_named(void *app, const struct tw_http_request *q,
		       struct tw_http_reply *r, show_fn *fn)
{
	struct tw_service *s = app;
	struct tw_index *x = tw_catalog_ref(&s->catalog, r);
	const struct tw_index_entry *e;
	struct tw_err err = { 0 };

	if (x == NULL)
		return;
	e = find_model(x, q, tw_http_param(q, "model"), &err);
	if (e == NULL)
		tw_http_reply_error(r, &err);
	else
		show_entry(s, x, e, q, r, fn);
	tw_index_unref(x);
}

/*
 * ---- plots ----
 *
 * Each kind, for each component whose validation rows have power above 0.
 */

struct plots {
	struct tw_dataset rows;
	struct {
		enum tw_component component;
		const struct tw_plot *plot;
	} * at;
	size_t count;
};

static void release_plots(struct plots *p)
{
	tw_dataset_release(&p->rows);
	free(p->at);
	*p = (struct plots){ 0 };
}

static int list_all(struct plots *p, struct tw_err *err)
{
	if (TW_NEW(p->at, TW_COMPONENT_COUNT * tw_plot_count(), err) < 0)
		return -1;
	for (int c = 0; c < TW_COMPONENT_COUNT; c++) {
		if (!tw_validation_has_power(&p->rows, (enum tw_component)c))
			continue;
		for (size_t i = 0; i < tw_plot_count(); i++) {
			p->at[p->count].component = (enum tw_component)c;
			p->at[p->count++].plot = tw_plot_at(i);
		}
	}
	return 0;
}

/*
 * *out must be all zero; it is yours. A model without validation rows has no plots; that
 * is not a failure. Errors name no path, because clients see them.
 */
static int load_plots(const struct tw_index_entry *e, struct plots *out,
		      struct tw_err *err)
{
	struct plots p = { 0 };
	struct tw_err why = { 0 };

	if (tw_validation_load(e->zip_path, &p.rows, &why) < 0) {
		if (why.code == TW_NOTFOUND)
			return 0;
		return tw_fail(err, why.code,
			       "the rows of the validation of model '%s' of pipeline "
			       "'%s' cannot be read",
			       e->name, e->pipeline);
	}
	if (list_all(&p, err) < 0) {
		release_plots(&p);
		return -1;
	}
	*out = p;
	return 0;
}

static void free_links(struct tw_card_plot *shown, size_t count)
{
	for (size_t i = 0; shown != NULL && i < count; i++)
		free(shown[i].href);
	free(shown);
}

/* The plots as links of a model card, relative to it. *out is yours: free_links(). */
static int link_plots(const struct plots *p, struct tw_card_plot **out,
		      struct tw_err *err)
{
	struct tw_card_plot *shown = calloc(p->count + 1, sizeof(*shown));

	for (size_t i = 0; shown != NULL && i < p->count; i++) {
		struct tw_buf b = { 0 };

		tw_buf_addf(&b, "plots/%s/%s", tw_component_name(p->at[i].component),
			    p->at[i].plot->name);
		shown[i].title = p->at[i].plot->title;
		shown[i].href = tw_buf_detach(&b, NULL);
		if (shown[i].href == NULL) {
			free_links(shown, p->count);
			shown = NULL;
		}
	}
	if (shown == NULL)
		return tw_fail(err, TW_NOMEM, "%zu plots", p->count);
	*out = shown;
	return 0;
}

/* ---- the model, its weights, card and zip ---- */

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
	tw_send_text(x, &t, r);
	return 0;
}

/* Plots need validation rows. */
static int write_markdown(const struct tw_index_entry *e, const struct tw_model *m,
			  struct tw_buf *b, struct tw_err *err)
{
	struct tw_card_plot *shown = NULL;
	struct plots p = { 0 };
	struct tw_err broken = { 0 };
	int rc = -1;

	if (load_plots(e, &p, &broken) < 0 && broken.code == TW_NOMEM) {
		tw_fail(err, TW_NOMEM, "%s", broken.text);
		goto out;
	}
	if (link_plots(&p, &shown, err) < 0 ||
	    tw_card_markdown(m, shown, p.count, b, err) < 0)
		goto out;
	rc = 0;
out:
	free_links(shown, p.count);
	release_plots(&p);
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

void tw_get_model(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	show_named(app, q, r, show_model);
}

void tw_get_weights(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	show_named(app, q, r, show_weights);
}

void tw_get_card(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	show_named(app, q, r, show_card);
}

void tw_get_model_zip(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	show_named(app, q, r, tw_send_zip);
}

/* Split "<model>.zip" or "<model>.json", the file names of kepler-model-db. */
static show_fn *split_file(const char *file, char *name, size_t size)
{
	static const struct {
		const char *suffix;
		show_fn *show;
	} kinds[] = { { ".zip", tw_send_zip }, { ".json", show_weights } };
	const size_t len = strlen(file);

	for (size_t i = 0; i < TW_COUNT(kinds); i++) {
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
void tw_get_model_file(void *app, const struct tw_http_request *q,
		       struct tw_http_reply *r)
{
	struct tw_service *s = app;
	struct tw_index *x = tw_catalog_ref(&s->catalog, r);
	const struct tw_index_entry *e = NULL;
	char name[TW_MODEL_NAME_MAX];
	struct tw_err err = { 0 };
	show_fn *fn;

	if (x == NULL)
		return;
	fn = split_file(tw_http_param(q, "file"), name, sizeof(name));
	if (fn == NULL)
		tw_fail(&err, TW_NOTFOUND, "only <model>.zip and <model>.json are here");
	else
		e = find_model(x, q, name, &err);
	if (e != NULL)
		show_entry(s, x, e, q, r, fn);
	else if (fn == NULL || !tw_send_foreign(s, x, q, r))
		tw_http_reply_error(r, &err);
	tw_index_unref(x);
}

/* ---- the power that it predicts from rest to its largest training load ---- */

static void add_watts(struct tw_buf *b, const char *key, const double *of)
{
	tw_json_add_array(b, key);
	for (size_t i = 0; i < TW_LOAD_CURVE_POINTS; i++)
		tw_json_add_rounded(b, NULL, of[i], 4);
	tw_json_end_array(b);
}

static void add_shares(struct tw_buf *b)
{
	tw_json_add_array(b, "load");
	for (size_t i = 0; i < TW_LOAD_CURVE_POINTS; i++)
		tw_json_add_number(b, NULL, tw_load_curve_share(i));
	tw_json_end_array(b);
}

/* The largest load: the end of the training range of each feature. */
static void add_most(struct tw_buf *b, const struct tw_power_model *p)
{
	double min, max;
	const char *name;

	tw_json_add_object(b, "largest");
	for (size_t i = 0; (name = tw_power_model_range(p, 0, i, &min, &max)) != NULL;
	     i++)
		tw_json_add_number(b, name, max);
	tw_json_end_object(b);
}

static int write_curves(const struct tw_power_model *p, struct tw_buf *b,
			struct tw_err *err)
{
	tw_json_add_object(b, NULL);
	add_shares(b);
	add_most(b, p);
	tw_json_add_object(b, "components");
	for (size_t part = 0; part < tw_power_model_parts(p); part++) {
		struct tw_load_curve c;

		if (tw_load_curve(p, part, &c, err) < 0)
			return -1;
		tw_json_add_object(b, tw_component_name(c.component));
		add_watts(b, "watts", c.watts);
		add_watts(b, "half_width_watts", c.half_w);
		tw_json_end_object(b);
	}
	tw_json_end_object(b);
	tw_json_end_object(b);
	return 0;
}

static int show_curve(struct tw_index *x, const struct tw_index_entry *e,
		      const struct tw_http_request *q, struct tw_http_reply *r,
		      struct tw_err *err)
{
	struct tw_power_model *p = NULL;
	struct tw_model m = { 0 };
	struct tw_err why = { 0 };
	struct tw_buf b = { 0 };

	(void)x;
	(void)q;
	if (tw_index_read_model(e, &m, err) < 0 || tw_power_model_new(&m, &p, err) < 0)
		return -1;
	if (write_curves(p, &b, &why) == 0)
		tw_http_reply_buf(r, &b);
	else
		tw_http_reply_error(r, &why);
	tw_buf_clear(&b);
	tw_power_model_free(p);
	return 0;
}

void tw_get_curve(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	show_named(app, q, r, show_curve);
}

/*
 * ---- plots, drawn on request ----
 *
 * A model whose rows are missing or broken is served nevertheless.
 */

static int list_plots(struct tw_index *x, const struct tw_index_entry *e,
		      const struct tw_http_request *q, struct tw_http_reply *r,
		      struct tw_err *err)
{
	struct plots p = { 0 };
	struct tw_err why = { 0 };
	struct tw_buf b = { 0 };

	(void)x;
	(void)err;
	if (load_plots(e, &p, &why) < 0) {
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
	release_plots(&p);
	tw_http_reply_buf(r, &b);
	return 0;
}

/* TW_NOTFOUND: the error names the part that does not exist. */
static int draw(const struct tw_index_entry *e, const struct tw_http_request *q,
		struct tw_buf *out, struct tw_err *err)
{
	const struct tw_plot *plot = tw_plot_find(tw_http_param(q, "plot"));
	struct plots p = { 0 };
	enum tw_component c;
	int rc = -1;

	if (plot == NULL)
		return tw_fail(err, TW_NOTFOUND, "no plot is called '%.64s'",
			       tw_http_param(q, "plot"));
	if (!tw_component_find(tw_http_param(q, "component"), &c))
		return tw_fail(err, TW_NOTFOUND, "no component is called '%.64s'",
			       tw_http_param(q, "component"));
	if (load_plots(e, &p, err) < 0)
		goto out;
	if (p.rows.rows == 0) {
		tw_fail(err, TW_NOTFOUND,
			"model '%s' of pipeline '%s' has no rows of its validation, and "
			"so no plots",
			e->name, e->pipeline);
		goto out;
	}
	if (tw_plot_draw(plot, &p.rows, c, e->name, out, err) < 0 ||
	    tw_buf_check(out, err) < 0)
		goto out;

	rc = 0;
out:
	release_plots(&p);
	return rc;
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
		r->content_type = "image/svg+xml";
		tw_http_reply_tagged(q, r, &b);
	} else if (why.code == TW_NOTFOUND || why.code == TW_NOMEM) {
		tw_http_reply_error(r, &why);
	} else {
		tw_http_reply_problem(r, 500, why.text);
	}
	tw_buf_clear(&b);
	return 0;
}

void tw_get_plots(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	show_named(app, q, r, list_plots);
}

void tw_get_plot(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	show_named(app, q, r, show_plot);
}
