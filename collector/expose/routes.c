/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/expose/routes.h"

#include "lib/core/array.h"

static const struct tw_http_route *const routes[] = {
	&tw_route_collector_agents,
	&tw_route_collector_power,
	&tw_route_collector_healthz,
	&tw_route_collector_metrics,
};

const struct tw_http_route *const *tw_collector_routes(size_t *count)
{
	*count = TW_COUNT(routes);
	return routes;
}
