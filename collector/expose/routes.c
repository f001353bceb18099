/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/expose/routes.h"

#include "lib/core/array.h"
#include "lib/core/num.h"
#include "web/page.h"

#include <string.h>

static const struct tw_http_route *const routes[] = {
	&tw_page_live,
	&tw_route_collector_agents,
	&tw_route_collector_history,
	&tw_route_collector_live,
	&tw_route_collector_power,
	&tw_page_fleet,
	&tw_route_collector_healthz,
	&tw_route_collector_metrics,
	&tw_route_collector_openapi,
	&tw_page_live_files,
};

const struct tw_http_route *const *tw_collector_routes(size_t *count)
{
	*count = TW_COUNT(routes);
	return routes;
}

int tw_query_count(const struct tw_http_request *q, const char *name, uint64_t *out,
		   struct tw_err *err)
{
	const char *text = tw_http_query(q, name);

	if (text == NULL)
		return 0;
	if (!tw_parse_u64(text, strlen(text), out))
		return tw_fail(err, TW_INVALID, "%s: '%.32s' is not a number", name,
			       text);
	return 0;
}
