/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/probe_tree.h"

#include "collector/power/power.h"
#include "lib/core/err.h"

#include <stdlib.h>
#include <string.h>

/* A zone that never has a reading is silent after these, and others count. */
#define TICKS (TW_POWER_WAIT_TICKS + 2)

/* The zones, and behind them those that meters have left out. */
struct tree {
	struct tw_power_zone *zone;
	size_t *parent; /* SIZE_MAX: the machine */
	size_t count, read, counted;
	unsigned sum;
	double watts; /* of the zones that count */
	bool known;   /* they have readings */
	json_t *out;
};

static size_t count_left_out(const struct tw_power *p)
{
	const struct tw_meter *of;
	size_t sum = 0, count;

	for (size_t n = 0; tw_power_left_out(p, n, &of, &count) != NULL; n++)
		sum += count;
	return sum;
}

static void copy_left_out(const struct tw_power *p, struct tree *t)
{
	const struct tw_meter *of;
	const struct tw_zone *z;
	size_t count;

	for (size_t n = 0; (z = tw_power_left_out(p, n, &of, &count)) != NULL; n++)
		for (size_t i = 0; i < count; i++)
			t->zone[t->count++] =
				(struct tw_power_zone){ .zone = &z[i], .meter = of };
}

static int make_tree(const struct tw_power *p, struct tree *t, struct tw_err *err)
{
	const struct tw_power_zone *z = tw_power_zones(p, &t->read);
	const size_t all = t->read + count_left_out(p);

	t->zone = calloc(all + 1, sizeof(*t->zone));
	t->parent = calloc(all + 1, sizeof(*t->parent));
	if (t->zone == NULL || t->parent == NULL)
		return tw_fail(err, TW_NOMEM, "zones");
	if (t->read > 0)
		memcpy(t->zone, z, t->read * sizeof(*z));
	t->count = t->read;
	copy_left_out(p, t);
	t->sum = tw_power_sum_kinds(p);
	for (size_t i = 0; i < t->count; i++)
		t->parent[i] = tw_tree_parent(t->zone, t->read, i);
	return 0;
}

static const char *why_not(const struct tree *t, size_t i)
{
	return i >= t->read ? t->zone[i].zone->note
			    : tw_tree_uncounted(t->zone, i, t->sum);
}

static int add_zone(struct tree *t, size_t i, int depth, struct tw_err *err)
{
	const struct tw_power_zone *z = &t->zone[i];
	const char *why = why_not(t, i),
		   *remark = z->doubt[0] != '\0' ? z->doubt : z->why;
	json_t *watts = z->fresh ? json_real(z->power_w) : json_null();

	if (why == NULL) {
		t->counted++;
		t->known = t->known && z->fresh;
		t->watts += z->fresh ? z->power_w : 0;
	}
	if (json_array_append_new(t->out,
				  json_pack("{s:i,s:s,s:s,s:s,s:i,s:o,s:b,s:s}", "depth",
					    depth, "name", z->zone->name, "zone",
					    tw_zone_kind_name(z->zone->kind), "meter",
					    z->meter->name, "package", z->zone->package,
					    "watts", watts, "counted", why == NULL, "why",
					    why != NULL ? why : remark)) < 0)
		return tw_fail(err, TW_NOMEM, "zones");
	return 0;
}

/* Zones are at most as deep as there are kinds. */
static int add_children(struct tree *t, size_t of, int depth, struct tw_err *err)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->parent[i] == of && depth <= TW_ZONE_KIND_COUNT &&
		    (add_zone(t, i, depth, err) < 0 ||
		     add_children(t, i, depth + 1, err) < 0))
			return -1;
	return 0;
}

static json_t *kinds_of(unsigned sum)
{
	json_t *kinds = json_array();

	for (int kind = 0; kind < TW_ZONE_KIND_COUNT; kind++)
		if ((sum >> kind & 1U) != 0)
			json_array_append_new(kinds, json_string(tw_zone_kind_name(
							     (enum tw_zone_kind)kind)));
	return kinds;
}

static void read_all(struct tw_power *p, uint32_t watch_ms,
		     uint64_t (*wait)(const void *arg), const void *arg)
{
	const uint64_t pause_ns = (uint64_t)watch_ms * 1000000 / (TICKS - 1);
	uint64_t now_ns = wait(arg), last_ns = now_ns;

	tw_power_tick(p, now_ns, 0, -1, NULL);
	for (int i = 1; i < TICKS; i++) {
		do
			now_ns = wait(arg);
		while (now_ns - last_ns < pause_ns);
		tw_power_tick(p, now_ns, now_ns - last_ns, -1, NULL);
		last_ns = now_ns;
	}
}

int tw_probe_tree(const struct tw_meter_config *mc, uint32_t watch_ms,
		  uint64_t (*wait)(const void *arg), const void *arg, json_t **out,
		  struct tw_err *err)
{
	const struct tw_power_config pc = { .meter = *mc };
	struct tree t = { .known = true, .out = json_array() };
	struct tw_power *p = NULL;
	int rc = -1;

	if (tw_power_open(&pc, &p, err) < 0)
		goto out;
	read_all(p, watch_ms, wait, arg);
	tw_power_judge(p);
	if (make_tree(p, &t, err) < 0 || add_children(&t, SIZE_MAX, 1, err) < 0)
		goto out;
	t.known = t.known && t.counted > 0;
	*out = json_pack("{s:o,s:o,s:O}", "sum", kinds_of(t.sum), "watts",
			 t.known ? json_real(t.watts) : json_null(), "zones", t.out);
	rc = *out != NULL ? 0 : tw_fail(err, TW_NOMEM, "zones");
out:
	json_decref(t.out);
	free(t.zone);
	free(t.parent);
	tw_power_close(p);
	return rc;
}
