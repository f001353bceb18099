/* SPDX-License-Identifier: Apache-2.0 */
#include "server/show.h"

#include "lib/core/err.h"
#include "lib/http/server/httpd.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"
#include "server/service.h"

const struct tw_index_entry *tw_show_find(const struct tw_index *x,
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

void tw_show_entry(struct tw_service *s, struct tw_index *x,
		   const struct tw_index_entry *e, const struct tw_http_request *q,
		   struct tw_http_reply *r, tw_show_fn *fn)
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

void tw_show_model(void *app, const struct tw_http_request *q, struct tw_http_reply *r,
		   tw_show_fn *fn)
{
	struct tw_service *s = app;
	struct tw_index *x = tw_catalog_ref(&s->catalog, r);
	const struct tw_index_entry *e;
	struct tw_err err = { 0 };

	if (x == NULL)
		return;
	e = tw_show_find(x, q, tw_http_param(q, "model"), &err);
	if (e == NULL)
		tw_http_reply_error(r, &err);
	else
		tw_show_entry(s, x, e, q, r, fn);
	tw_index_unref(x);
}
