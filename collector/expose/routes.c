/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/expose/routes.h"

#include "collector/collector.h"
#include "collector/workloads/workload.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/num.h"
#include "lib/http/server/openapi_route.h"
#include "lib/json/writer.h"
#include "web/page.h"

#include <string.h>

/* A tick is overdue after three intervals. */
#define LATE_TICKS 3

/* True if a recent tick succeeded. */
static bool well(const struct tw_collector *c)
{
	const uint64_t since_ms = (tw_now_ns() - c->awake_ns) / UINT64_C(1000000);

	return c->stats.ticks > 0 && since_ms <= LATE_TICKS * c->interval_ms + 1000;
}

static void answer_health(void *app, const struct tw_http_request *q,
			  struct tw_http_reply *r)
{
	const struct tw_collector *c = app;
	struct tw_buf b = { 0 };

	(void)q;
	if (!well(c)) {
		tw_http_reply_problem(r, 503, "no tick for three intervals");
		return;
	}
	tw_json_add_object(&b, NULL);
	tw_json_add_text(&b, "status", "ok");
	tw_json_add_uint(&b, "ticks", c->stats.ticks);
	if (c->workloads != NULL) {
		tw_json_add_text(&b, "tasks", tw_workloads_source(c->workloads));
		tw_json_add_text(&b, "cgroups", tw_workloads_cgroups(c->workloads));
	}
	tw_json_end_object(&b);
	tw_http_reply_buf(r, &b);
}

static const struct tw_http_route route_healthz = {
	.method = "GET",
	.path = "/healthz",
	.handle = answer_health,
};

/* collector/expose/openapi.json. A test compares it with the table of routes. */
static const char document[] = {
#include <collector/expose/openapi.inc>
};

TW_OPENAPI_ROUTE(tw_route_collector_openapi, document);

static const struct tw_http_route *const routes[] = {
	&tw_page_live,
#if TW_FLEET
	&tw_route_collector_agents,
#endif
	&tw_route_collector_history,
	&tw_route_collector_live,
	&tw_route_collector_power,
#if TW_FLEET
	&tw_page_fleet,
#endif
	&route_healthz,
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
