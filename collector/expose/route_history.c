/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/history: the power of the last 15 minutes. */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/expose/routes.h"
#include "collector/power/power.h"
#include "collector/power/power_history.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"

#include <inttypes.h>

#define AGE_MAX_NS (UINT64_C(900) * 1000000000)

static bool is_recent(uint64_t end_ns, uint64_t now_ns)
{
	return now_ns < AGE_MAX_NS || end_ns >= now_ns - AGE_MAX_NS;
}

/* One member of each slot after `since`, as an array. */
static void add_column(struct tw_buf *b, const struct tw_power_history *h, uint64_t since,
		       uint64_t now_ns, int kind, bool idle)
{
	const struct tw_power_history_slot *s;
	bool first = true;

	tw_buf_adds(b, "[");
	for (uint64_t n = since + 1; n <= tw_power_history_slots(h); n++) {
		s = tw_power_history_slot(h, n);
		if (s == NULL || !is_recent(s->end_ns, now_ns))
			continue;
		if (!first)
			tw_buf_adds(b, ",");
		first = false;
		if (kind < 0)
			tw_buf_addf(b, "%.1f", tw_seconds(now_ns - s->end_ns));
		else
			tw_buf_add_watts(b, idle ? s->idle_w[kind] : s->dynamic_w[kind]);
	}
	tw_buf_adds(b, "]");
}

/* The first of the slots that may be kept. */
static uint64_t first_of(uint64_t since, uint64_t last, uint64_t kept)
{
	/* The client knows a slot of an earlier collector process: send everything. */
	if (since > last)
		since = 0;
	return last - since > kept ? last - kept : since;
}

static void add_node(struct tw_buf *b, const struct tw_collector *c, uint64_t since,
		     uint64_t now_ns)
{
	const struct tw_power_history *h = c->history;
	bool first = true;

	since = first_of(since, tw_power_history_slots(h), TW_POWER_HISTORY_SLOTS);
	tw_buf_addf(b, "\"node\":{\"last\":%" PRIu64 ",\"age_seconds\":",
		    tw_power_history_slots(h));
	add_column(b, h, since, now_ns, -1, false);
	tw_buf_adds(b, ",\"zones\":[");
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		if (tw_power_meter(c->power, (enum tw_zone_kind)kind) == NULL)
			continue;
		tw_buf_addf(b, "%s{\"zone\":\"%s\",\"dynamic_watts\":", first ? "" : ",",
			    tw_zone_kind_name((enum tw_zone_kind)kind));
		first = false;
		add_column(b, h, since, now_ns, kind, false);
		tw_buf_adds(b, ",\"idle_watts\":");
		add_column(b, h, since, now_ns, kind, true);
		tw_buf_adds(b, "}");
	}
	tw_buf_adds(b, "]}");
}

static void add_top(struct tw_buf *b, const struct tw_power_history_top *t,
		    uint64_t now_ns)
{
	tw_buf_addf(b, "{\"age_seconds\":%.1f,\"others_at_most_watts\":",
		    tw_seconds(now_ns - t->end_ns));
	tw_buf_add_watts(b, t->least_w);
	tw_buf_adds(b, ",\"watts\":{");
	for (size_t i = 0; i < t->count; i++) {
		tw_buf_addf(b, "%s\"%" PRIu64 "\":", i > 0 ? "," : "", t->of[i].serial);
		tw_buf_add_watts(b, t->of[i].power_w);
	}
	tw_buf_adds(b, "}}");
}

static void add_workloads(struct tw_buf *b, const struct tw_power_history *h,
			  uint64_t since, uint64_t now_ns)
{
	const uint64_t last = tw_power_history_tops(h);
	bool first = true;

	tw_buf_addf(b, ",\"workloads\":{\"last\":%" PRIu64 ",\"slots\":[", last);
	for (uint64_t n = first_of(since, last, TW_POWER_HISTORY_TOPS) + 1; n <= last;
	     n++) {
		const struct tw_power_history_top *t = tw_power_history_top(h, n);

		if (t == NULL || !is_recent(t->end_ns, now_ns))
			continue;
		tw_buf_adds(b, first ? "" : ",");
		first = false;
		add_top(b, t, now_ns);
	}
	tw_buf_adds(b, "]}");
}

static void answer_history(void *app, const struct tw_http_request *q,
			   struct tw_http_reply *r)
{
	const struct tw_collector *c = app;
	const uint64_t now_ns = tw_boot_ns();
	uint64_t node = 0, workloads = 0;
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };

	if (tw_expose_no_machine(c, r))
		return;
	if (tw_query_count(q, "node", &node, &err) < 0 ||
	    tw_query_count(q, "workloads", &workloads, &err) < 0) {
		tw_http_reply_error(r, &err);
		return;
	}
	tw_buf_adds(&b, "{");
	add_node(&b, c, node, now_ns);
	add_workloads(&b, c->history, workloads, now_ns);
	tw_buf_adds(&b, "}");
	tw_http_reply_buf(r, &b);
}

const struct tw_http_route tw_route_collector_history = {
	.method = "GET",
	.path = "/api/v1/history",
	.handle = answer_history,
};
