/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/history: the power of the last 15 minutes. */
#include "collector/collector.h"
#include "collector/expose/expose.h"
#include "collector/expose/routes.h"
#include "collector/power/power.h"
#include "collector/power/power_history.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/json/writer.h"

#include <inttypes.h>
#include <stdio.h>

#define AGE_MAX_NS (UINT64_C(900) * 1000000000)

static bool is_recent(uint64_t end_ns, uint64_t now_ns)
{
	return now_ns < AGE_MAX_NS || end_ns >= now_ns - AGE_MAX_NS;
}

/* Append an array with a member of each slot after `since`. */
static void add_column(struct tw_buf *b, const char *key,
		       const struct tw_power_history *h, uint64_t since, uint64_t now_ns,
		       int kind, bool idle)
{
	const struct tw_power_history_slot *s;

	tw_json_add_array(b, key);
	for (uint64_t n = since + 1; n <= tw_power_history_slots(h); n++) {
		s = tw_power_history_slot(h, n);
		if (s == NULL || !is_recent(s->end_ns, now_ns))
			continue;
		if (kind < 0)
			tw_json_add_fixed(b, NULL, tw_seconds(now_ns - s->end_ns), 1);
		else
			tw_json_add_watts(b, NULL,
					  idle ? s->idle_w[kind] : s->dynamic_w[kind]);
	}
	tw_json_end_array(b);
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

	since = first_of(since, tw_power_history_slots(h), TW_POWER_HISTORY_SLOTS);
	tw_json_add_object(b, "node");
	tw_json_add_uint(b, "last", tw_power_history_slots(h));
	add_column(b, "age_seconds", h, since, now_ns, -1, false);
	tw_json_add_array(b, "zones");
	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++) {
		if (tw_power_meter(c->power, (enum tw_zone_kind)kind) == NULL)
			continue;
		tw_json_add_object(b, NULL);
		tw_json_add_text(b, "zone", tw_zone_kind_name((enum tw_zone_kind)kind));
		add_column(b, "dynamic_watts", h, since, now_ns, kind, false);
		add_column(b, "idle_watts", h, since, now_ns, kind, true);
		tw_json_end_object(b);
	}
	tw_json_end_array(b);
	tw_json_end_object(b);
}

static void add_top(struct tw_buf *b, const struct tw_power_history_top *t,
		    uint64_t now_ns)
{
	char serial[24];

	tw_json_add_object(b, NULL);
	tw_json_add_fixed(b, "age_seconds", tw_seconds(now_ns - t->end_ns), 1);
	tw_json_add_watts(b, "others_at_most_watts", t->least_w);
	tw_json_add_object(b, "watts");
	for (size_t i = 0; i < t->count; i++) {
		snprintf(serial, sizeof(serial), "%" PRIu64, t->of[i].serial);
		tw_json_add_watts(b, serial, t->of[i].power_w);
	}
	tw_json_end_object(b);
	tw_json_end_object(b);
}

static void add_workloads(struct tw_buf *b, const struct tw_power_history *h,
			  uint64_t since, uint64_t now_ns)
{
	const uint64_t last = tw_power_history_tops(h);

	tw_json_add_object(b, "workloads");
	tw_json_add_uint(b, "last", last);
	tw_json_add_array(b, "slots");
	for (uint64_t n = first_of(since, last, TW_POWER_HISTORY_TOPS) + 1; n <= last;
	     n++) {
		const struct tw_power_history_top *t = tw_power_history_top(h, n);

		if (t != NULL && is_recent(t->end_ns, now_ns))
			add_top(b, t, now_ns);
	}
	tw_json_end_array(b);
	tw_json_end_object(b);
}

void tw_answer_history(void *app, const struct tw_http_request *q,
		       struct tw_http_reply *r)
{
	const struct tw_collector *c = app;
	const uint64_t now_ns = tw_boot_ns();
	uint64_t node = 0, workloads = 0;
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };

	if (tw_expose_no_machine(c, r))
		return;
	if (tw_http_query_count(q, "node", &node, &err) < 0 ||
	    tw_http_query_count(q, "workloads", &workloads, &err) < 0) {
		tw_http_reply_error(r, &err);
		return;
	}
	tw_json_add_object(&b, NULL);
	add_node(&b, c, node, now_ns);
	add_workloads(&b, c->history, workloads, now_ns);
	tw_json_end_object(&b);
	tw_http_reply_buf(r, &b);
}
