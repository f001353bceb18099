/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/buf.h"
#include "lib/energy.h"
#include "lib/feature.h"
#include "lib/json.h"
#include "lib/num.h"
#include "model-db/choose.h"
#include "model-db/filter.h"
#include "model-db/index.h"
#include "server/routes.h"
#include "server/service.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Of which models the best are asked for. */
struct selection {
	const struct tw_energy_source *source;
	bool output[TW_OUTPUT_COUNT];
	const struct tw_feature_group *group; /* NULL: all */
	long long node_type;                  /* -1: any */
	struct tw_filter filter;
};

static int take_output(const char *name, struct selection *s, struct tw_err *err)
{
	enum tw_output o;

	for (int i = 0; i < TW_OUTPUT_COUNT; i++)
		s->output[i] = name == NULL;
	if (name == NULL)
		return 0;
	if (!tw_output_find(name, &o))
		return tw_fail(err, TW_INVALID,
			       "output-type: '%.64s' is neither AbsPower nor DynPower",
			       name);
	s->output[o] = true;
	return 0;
}

static int take_node_type(const char *text, struct selection *s, struct tw_err *err)
{
	uint32_t n;

	s->node_type = -1;
	if (text == NULL || strcmp(text, "-1") == 0)
		return 0;
	if (tw_parse_u32(text, 0, UINT32_MAX, &n, err) < 0)
		return tw_err_wrap(err, "node-type");
	s->node_type = n;
	return 0;
}

/* An argument that is absent or empty says nothing. */
static const char *argument(const struct tw_http_request *q, const char *name)
{
	const char *text = tw_http_query(q, name);

	return text != NULL && *text != '\0' ? text : NULL;
}

static int take_arguments(const struct tw_http_request *q, struct selection *s,
			  struct tw_err *err)
{
	const char *source = argument(q, "energy-source");
	const char *group = argument(q, "feature-group");

	s->source = tw_energy_source_wanted(source);
	if (s->source == NULL)
		return tw_fail(err, TW_INVALID,
			       "energy-source: no energy source is called '%.64s'",
			       source);
	if (group != NULL && (s->group = tw_feature_group_find(group)) == NULL)
		return tw_fail(err, TW_INVALID,
			       "feature-group: no feature group is called '%.64s'",
			       group);
	if (take_output(argument(q, "output-type"), s, err) < 0 ||
	    take_node_type(argument(q, "node-type"), s, err) < 0)
		return -1;
	return tw_filter_parse(argument(q, "filter"), &s->filter, err);
}

static bool any_model_has(const struct tw_index *x, const char *attribute)
{
	for (size_t i = 0; i < tw_index_count(x); i++)
		if (!isnan(tw_index_figure(tw_index_at(x, i), attribute)))
			return true;
	return false;
}

/* A filter by what no model has would silently pass none. */
static int check_filter(const struct tw_index *x, const struct tw_filter *f,
			struct tw_err *err)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->part[i].only.count == 0 && !any_model_has(x, f->part[i].attribute))
			return tw_fail(err, TW_INVALID, "filter: no model has a '%.64s'",
				       f->part[i].attribute);
	return 0;
}

static void add_groups(const struct tw_index *x, const struct selection *s,
		       enum tw_output o, struct tw_buf *b)
{
	const char *separator = "";

	for (size_t g = 0; g < tw_feature_group_count(); g++) {
		const struct tw_feature_group *group = tw_feature_group_at(g);
		const struct tw_index_entry *e;

		if (s->group != NULL && s->group != group)
			continue;
		e = tw_choose_best(x, s->source, o, group, s->node_type, &s->filter);
		if (e == NULL)
			continue;
		tw_buf_addf(b, "%s\"%s\":", separator, group->name);
		tw_buf_add_json_text(b, e->name, strlen(e->name));
		separator = ",";
	}
}

static int answer(const struct tw_index *x, const struct selection *s,
		  struct tw_http_reply *r, struct tw_err *err)
{
	const char *separator = "";
	struct tw_buf b = { 0 };
	char *body;
	size_t len;

	if (check_filter(x, &s->filter, err) < 0)
		return -1;
	tw_buf_adds(&b, "{");
	for (int o = 0; o < TW_OUTPUT_COUNT; o++) {
		if (!s->output[o])
			continue;
		tw_buf_addf(&b, "%s\"%s\":{", separator,
			    tw_output_name((enum tw_output)o));
		add_groups(x, s, (enum tw_output)o, &b);
		tw_buf_adds(&b, "}");
		separator = ",";
	}
	tw_buf_adds(&b, "}");
	body = tw_buf_detach(&b, &len);
	if (body == NULL)
		return tw_fail(err, TW_NOMEM, "list of models");
	tw_http_reply_take(r, body, len);
	return 0;
}

static void get_best_models(void *app, const struct tw_http_request *q,
			    struct tw_http_reply *r)
{
	struct tw_service *service = app;
	struct selection s = { 0 };
	struct tw_err err = { 0 };
	struct tw_index *x = NULL;

	if (take_arguments(q, &s, &err) < 0) {
		tw_http_reply_error(r, &err);
	} else if ((x = tw_models_ref(&service->models, r)) != NULL) {
		if (answer(x, &s, r, &err) < 0)
			tw_http_reply_error(r, &err);
	}
	tw_index_unref(x);
	tw_filter_release(&s.filter);
}

const struct tw_http_route tw_route_best_models = {
	.method = "GET",
	.path = "/best-models",
	.handle = get_best_models,
};
