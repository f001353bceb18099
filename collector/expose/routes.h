/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ROUTES_H
#define TW_COLLECTOR_ROUTES_H

/*
 * The HTTP routes of tw-collector. Handlers get a struct tw_collector * as app and run on
 * its thread, between two ticks.
 */

#include "lib/http/server/httpd.h"

struct tw_buf;

tw_http_handle tw_answer_agents, tw_answer_history, tw_answer_live;
tw_http_handle tw_answer_metrics, tw_answer_power;

/* All routes, sorted by path. */
const struct tw_http_route *tw_collector_routes(size_t *count);

/* For --list-metrics. */
void tw_collector_list_metrics(struct tw_buf *out);

#endif /* TW_COLLECTOR_ROUTES_H */
