/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes.h"

#include "lib/core/buf.h"
#include "lib/http/server/openapi_route.h"
#include "lib/json/writer.h"
#include "model-db/index/index.h"
#include "server/service.h"
#include "web/page.h"

/* Liveness: the process answers. It is alive without models, too. */
static void answer_alive(void *app, const struct tw_http_request *q,
			 struct tw_http_reply *r)
{
	struct tw_service *s = app;
	struct tw_buf b = { 0 };

	(void)q;
	tw_json_add_object(&b, NULL);
	tw_json_add_text(&b, "status", "ok");
	tw_json_add_uint(&b, "models", tw_catalog_count(&s->catalog));
	tw_json_end_object(&b);
	tw_http_reply_buf(r, &b);
}

/* Readiness: there are models. */
static void answer_ready(void *app, const struct tw_http_request *q,
			 struct tw_http_reply *r)
{
	struct tw_service *s = app;
	struct tw_index *index = tw_catalog_ref(&s->catalog, r);

	if (index == NULL)
		return;
	tw_index_unref(index);
	answer_alive(app, q, r);
}

static const struct tw_http_route route_healthz = {
	.method = "GET",
	.path = "/healthz",
	.handle = answer_alive,
};

static const struct tw_http_route route_livez = {
	.method = "GET",
	.path = "/livez",
	.handle = answer_alive,
};

static const struct tw_http_route route_readyz = {
	.method = "GET",
	.path = "/readyz",
	.handle = answer_ready,
};

static const struct tw_http_route route_healthy = {
	.method = "GET",
	.path = "/-/healthy",
	.handle = answer_alive,
};

static const struct tw_http_route route_ready = {
	.method = "GET",
	.path = "/-/ready",
	.handle = answer_ready,
};

/* server/openapi.json. A test compares it with the table of routes. */
static const char document[] = {
#include <server/openapi.inc>
};

TW_OPENAPI_ROUTE(tw_route_openapi, document);

static const struct tw_http_route *const routes[] = {
	&tw_page_models,          &route_healthy,          &route_ready,
	&tw_route_reload,         &tw_route_api_models,    &tw_route_api_model,
	&tw_route_api_card,       &tw_route_api_curve,     &tw_route_api_plots,
	&tw_route_api_plot,       &tw_route_api_weights,   &tw_route_api_zip,
	&tw_route_api_node_types, &tw_route_api_pipelines, &tw_route_api_pipeline,
	&tw_route_api_publish,    &tw_route_api_rollback,  &tw_route_api_pipeline_zip,
	&tw_route_best_models,    &route_healthz,          &route_livez,
	&tw_route_metrics,        &tw_route_model,         &tw_route_files_pipeline,
	&tw_route_files_model,    &tw_route_openapi,       &route_readyz,
	&tw_page_models_files,
};

const struct tw_http_route *const *tw_server_routes(size_t *count)
{
	*count = sizeof(routes) / sizeof(routes[0]);
	return routes;
}
