/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/collector.h"
#include "collector/expose/routes.h"
#include "collector/workloads/workload.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"

#include <inttypes.h>

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
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };
	char *body;
	size_t len;

	(void)q;
	if (!well(c)) {
		tw_http_reply_problem(r, 503, "no tick for three intervals");
		return;
	}
	if (c->workloads == NULL)
		tw_buf_addf(&b, "{\"status\":\"ok\",\"ticks\":%" PRIu64 "}",
			    c->stats.ticks);
	else
		tw_buf_addf(&b,
			    "{\"status\":\"ok\",\"ticks\":%" PRIu64
			    ",\"tasks\":\"%s\",\"cgroups\":\"%s\"}",
			    c->stats.ticks, tw_workloads_source(c->workloads),
			    tw_workloads_cgroups(c->workloads));
	body = tw_buf_detach(&b, &len);
	if (body == NULL) {
		tw_fail(&err, TW_NOMEM, "answer");
		tw_http_reply_error(r, &err);
		return;
	}
	tw_http_reply_take(r, body, len);
}

const struct tw_http_route tw_route_collector_healthz = {
	.method = "GET",
	.path = "/healthz",
	.handle = answer_health,
};
