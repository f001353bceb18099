/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_ROUTES_H
#define TW_SERVER_ROUTES_H

/* The routes of tw-server. Their handlers get a struct tw_service * as app. */

#include "lib/http/server/httpd.h"

struct tw_buf;

tw_http_handle tw_get_best_models, tw_get_card, tw_get_curve, tw_get_metrics;
tw_http_handle tw_get_model, tw_get_model_file, tw_get_model_zip, tw_get_models;
tw_http_handle tw_get_node_types, tw_get_pipeline, tw_get_pipeline_file;
tw_http_handle tw_get_pipeline_zip, tw_get_pipelines, tw_get_plot, tw_get_plots;
tw_http_handle tw_get_weights, tw_post_model;

/* tw_allow_publish() is for both. */
tw_http_allow tw_allow_publish;
tw_http_handle tw_put_pipeline, tw_post_rollback;

struct tw_buf;
struct tw_index_entry;

/* Append the members of an object that describes a model. */
void tw_api_add_model(struct tw_buf *b, const struct tw_index_entry *e);

/* All of them, sorted by path. */
const struct tw_http_route *tw_server_routes(size_t *count);

/* For --list-metrics. */
void tw_server_list_metrics(struct tw_buf *out);

#endif /* TW_SERVER_ROUTES_H */
