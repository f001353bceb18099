/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/expose/routes.h"

#include "collector/collector.h"
#include "collector/workloads/workload.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/http/server/httpd_reply.h"
#include "lib/json/writer.h"
#include "web/page.h"

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

/* collector/expose/openapi.json. A test compares it with the table of routes. */
static const char document[] = {
#include <collector/expose/openapi.inc>
};

static void get_openapi(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	(void)app;
	(void)q;
	tw_http_reply_openapi(r, document, sizeof(document));
}

static const struct tw_http_route routes[] = {
	{ "GET", "/", .handle = tw_page_live },
#if TW_FLEET
	{ "GET", "/api/v1/agents", .handle = tw_answer_agents },
#endif
	{ "GET", "/api/v1/history", .handle = tw_answer_history },
	{ "GET", "/api/v1/live", .handle = tw_answer_live },
	{ "GET", "/api/v1/power", .handle = tw_answer_power },
#if TW_FLEET
	{ "GET", "/fleet", .handle = tw_page_live },
#endif
	{ "GET", "/healthz", .handle = answer_health },
	{ "GET", "/metrics", .handle = tw_answer_metrics },
	{ "GET", "/openapi.json", .handle = get_openapi },
	{ "GET", "/web/{file}", .handle = tw_page_live },
};

const struct tw_http_route *tw_collector_routes(size_t *count)
{
	*count = TW_COUNT(routes);
	return routes;
}
