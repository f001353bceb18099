/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ROUTES_H
#define TW_COLLECTOR_ROUTES_H

/*
 * The HTTP routes of tw-collector. Handlers get a struct tw_collector * as app and run on
 * its thread, between two ticks.
 */

#include "lib/http/httpd.h"

extern const struct tw_http_route tw_route_collector_agents;
extern const struct tw_http_route tw_route_collector_healthz;
extern const struct tw_http_route tw_route_collector_metrics;
extern const struct tw_http_route tw_route_collector_power;

/* All routes, sorted by path. */
const struct tw_http_route *const *tw_collector_routes(size_t *count);

#endif /* TW_COLLECTOR_ROUTES_H */
