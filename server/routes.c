/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes.h"

#include "web/page.h"

static const struct tw_http_route *const routes[] = {
	&tw_page_models,          &tw_route_healthy,       &tw_route_ready,
	&tw_route_reload,         &tw_route_api_models,    &tw_route_api_model,
	&tw_route_api_card,       &tw_route_api_curve,     &tw_route_api_plots,
	&tw_route_api_plot,       &tw_route_api_weights,   &tw_route_api_zip,
	&tw_route_api_node_types, &tw_route_api_pipelines, &tw_route_api_pipeline,
	&tw_route_api_publish,    &tw_route_api_rollback,  &tw_route_api_pipeline_zip,
	&tw_route_best_models,    &tw_route_healthz,       &tw_route_livez,
	&tw_route_metrics,        &tw_route_model,         &tw_route_files_pipeline,
	&tw_route_files_model,    &tw_route_openapi,       &tw_route_readyz,
	&tw_page_models_files,
};

const struct tw_http_route *const *tw_server_routes(size_t *count)
{
	*count = sizeof(routes) / sizeof(routes[0]);
	return routes;
}
