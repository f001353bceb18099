/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ROUTES_H
#define TW_COLLECTOR_ROUTES_H

/*
 * The HTTP routes of tw-collector. Handlers get a struct tw_collector * as app and run on
 * its thread, between two ticks.
 */

#include "lib/http/server/httpd.h"

#include <stdint.h>

struct tw_buf;

extern const struct tw_http_route tw_route_collector_agents;
extern const struct tw_http_route tw_route_collector_history;
extern const struct tw_http_route tw_route_collector_live;
extern const struct tw_http_route tw_route_collector_metrics;
extern const struct tw_http_route tw_route_collector_openapi;
extern const struct tw_http_route tw_route_collector_power;

/* All routes, sorted by path. */
const struct tw_http_route *const *tw_collector_routes(size_t *count);

/* For --list-metrics. */
void tw_collector_list_metrics(struct tw_buf *out);

/* Read a query argument that counts. *out is unchanged if it is absent. */
int tw_query_count(const struct tw_http_request *q, const char *name, uint64_t *out,
		   struct tw_err *err);

#endif /* TW_COLLECTOR_ROUTES_H */
