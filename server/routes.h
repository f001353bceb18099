/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_ROUTES_H
#define TW_SERVER_ROUTES_H

/* The routes of tw-server. Their handlers get a struct tw_service * as app. */

#include "lib/http/server/httpd.h"

struct tw_buf;

extern const struct tw_http_route tw_route_api_card;
extern const struct tw_http_route tw_route_api_curve;
extern const struct tw_http_route tw_route_api_model;
extern const struct tw_http_route tw_route_api_models;
extern const struct tw_http_route tw_route_api_node_types;
extern const struct tw_http_route tw_route_api_pipeline;
extern const struct tw_http_route tw_route_api_pipelines;
extern const struct tw_http_route tw_route_api_plot;
extern const struct tw_http_route tw_route_api_plots;
extern const struct tw_http_route tw_route_api_publish;
extern const struct tw_http_route tw_route_api_rollback;
extern const struct tw_http_route tw_route_api_weights;
extern const struct tw_http_route tw_route_api_pipeline_zip;
extern const struct tw_http_route tw_route_api_zip;
extern const struct tw_http_route tw_route_best_models;
extern const struct tw_http_route tw_route_files_model;
extern const struct tw_http_route tw_route_files_pipeline;
extern const struct tw_http_route tw_route_metrics;
extern const struct tw_http_route tw_route_model;
extern const struct tw_http_route tw_route_openapi;
extern const struct tw_http_route tw_route_reload;

struct tw_buf;
struct tw_index_entry;

/* Append the members of an object that describes a model. */
void tw_api_add_model(struct tw_buf *b, const struct tw_index_entry *e);

/* All of them, sorted by path. */
const struct tw_http_route *const *tw_server_routes(size_t *count);

/* For --list-metrics. */
void tw_server_list_metrics(struct tw_buf *out);

#endif /* TW_SERVER_ROUTES_H */
