/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/json/writer.h"
#include "model-db/index/choose.h"
#include "model-db/index/filter.h"
#include "model-db/index/index.h"
#include "server/query.h"
#include "server/routes.h"
#include "server/service.h"

#include <math.h>
#include <stdbool.h>

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

static void add_groups(const struct tw_index *x, const struct tw_query *s,
		       enum tw_output o, struct tw_buf *b)
{
	for (size_t g = 0; g < tw_feature_group_count(); g++) {
		const struct tw_feature_group *group = tw_feature_group_at(g);
		const struct tw_index_entry *e;

		if (s->group != NULL && s->group != group)
			continue;
		e = tw_choose_best(x, s->source, o, group, s->node_type, &s->filter);
		if (e != NULL)
			tw_json_add_text(b, group->name, e->name);
	}
}

static int answer(const struct tw_index *x, const struct tw_query *s,
		  struct tw_http_reply *r, struct tw_err *err)
{
	struct tw_buf b = { 0 };

	if (check_filter(x, &s->filter, err) < 0)
		return -1;
	tw_json_add_object(&b, NULL);
	for (int o = 0; o < TW_OUTPUT_COUNT; o++) {
		if (!s->output[o])
			continue;
		tw_json_add_object(&b, tw_output_name((enum tw_output)o));
		add_groups(x, s, (enum tw_output)o, &b);
		tw_json_end_object(&b);
	}
	tw_json_end_object(&b);
	tw_http_reply_buf(r, &b);
	return 0;
}

static void get_best_models(void *app, const struct tw_http_request *q,
			    struct tw_http_reply *r)
{
	struct tw_service *service = app;
	struct tw_query s = { 0 };
	struct tw_err err = { 0 };
	struct tw_index *x = NULL;

	if (tw_query_parse(q, &s, &err) < 0) {
		tw_http_reply_error(r, &err);
		goto out;
	}
	/* The default is that of POST /model. */
	if (s.source == NULL)
		s.source = tw_energy_source_wanted(NULL);
	if ((x = tw_catalog_ref(&service->catalog, r)) != NULL) {
		if (answer(x, &s, r, &err) < 0)
			tw_http_reply_error(r, &err);
	}
out:
	tw_index_unref(x);
	tw_query_release(&s);
}

const struct tw_http_route tw_route_best_models = {
	.method = "GET",
	.path = "/best-models",
	.handle = get_best_models,
};
