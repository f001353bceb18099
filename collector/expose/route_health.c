/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/collector.h"
#include "collector/expose/routes.h"
#include "collector/workloads/workload.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/json/writer.h"

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

const struct tw_http_route tw_route_collector_healthz = {
	.method = "GET",
	.path = "/healthz",
	.handle = answer_health,
};
