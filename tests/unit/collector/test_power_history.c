/* SPDX-License-Identifier: Apache-2.0 */
/* The power of the last 15 minutes, over scripted tasks and a tree of RAPL. */
#include "tests/unit/tw_test.h"

#include "collector/power/attribute.h"
#include "collector/power/node.h"
#include "collector/power/power.h"
#include "collector/power/power_history.h"
#include "collector/system/roots.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"
#include "tests/unit/collector/scripted_tasks.h"
#include "tests/unit/collector/workload_fixture.h"

#include <math.h>
#include <stdlib.h>

#define RANGE 262143328850ull
#define TICK_S 3
#define CGROUP 7

struct machine {
	struct workload_fixture *w;
	void *w_state;
	struct tw_roots roots;
	struct tw_node node;
	struct tw_power *power;
	struct tw_attribution *attribution;
	struct tw_power_history *h;
	unsigned long long uj;
	uint64_t now_ns;
};

static void write_package(struct machine *m, unsigned long long uj)
{
	m->uj += uj;
	tree_rapl(m->w->dir, "class/powercap/intel-rapl:0", "package-0", m->uj, RANGE);
}

/*
 * A tick of 3 s in which the package takes this many W, and processes 1 to n as much
 * each.
 */
static void tick(struct machine *m, unsigned w, uint32_t processes)
{
	struct tw_err err = { 0 };

	write_package(m, (unsigned long long)w * TICK_S * 1000000);
	for (uint32_t i = 1; i <= processes; i++)
		say(ALIVE, i, LATER + i, CGROUP, (m->now_ns / S + 1) * i * MS);
	m->now_ns += TICK_S * S;
	if (tw_workloads_tick(m->w->t, m->now_ns, &err) < 0)
		fail_msg("%s", err.text);
	tw_power_tick(m->power, m->now_ns, TICK_S * S, 0.5, NULL);
	if (tw_attribute(m->attribution, m->w->t, tw_power_ticked(m->power), NULL, 0,
			 &err) < 0)
		fail_msg("%s", err.text);
	tw_power_history_tick(m->h, m->now_ns, TICK_S * S, m->power, m->w->t);
}

static int setup(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));
	struct tw_err err = { 0 };
	struct tw_power_config pc = { .meter = { .nvml = "/nonexistent" } };

	assert_non_null(m);
	workloads_setup(&m->w_state);
	m->w = m->w_state;
	m->roots = (struct tw_roots){ .proc = m->w->dir,
				      .sys = m->w->dir,
				      .dev = m->w->dir };
	pc.meter.roots = &m->roots;
	pc.meter.node = &m->node;
	m->now_ns = m->w->now_ns;
	write_package(m, RANGE / 4);
	if (tw_node_open(&m->node, &m->roots, &err) < 0 ||
	    tw_attribution_open(TW_IDLE_BY_USE, &m->attribution, &err) < 0 ||
	    tw_power_open(&pc, &m->power, &err) < 0 ||
	    tw_power_history_new(&m->h, &err) < 0)
		fail_msg("%s", err.text);
	say_path(CGROUP, "/job.service");
	/* The first tick reads the counters, and gives no energy. */
	tick(m, 0, 0);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct machine *m = *state;

	tw_power_history_free(m->h);
	tw_power_close(m->power);
	tw_attribution_close(m->attribution);
	tw_node_release(&m->node);
	workloads_teardown(&m->w_state);
	free(m);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void a_slot_has_the_power_of_its_ticks(void **state)
{
	struct machine *m = *state;
	const uint64_t before = tw_power_history_slots(m->h);
	const struct tw_power_history_slot *s;

	tick(m, 20, 3);
	tick(m, 50, 3);
	assert_int_equal(tw_power_history_slots(m->h), before + 2);
	s = tw_power_history_slot(m->h, before + 1);
	assert_float_equal(s->dynamic_w[TW_ZONE_PACKAGE] + s->idle_w[TW_ZONE_PACKAGE], 20,
			   1e-3);
	s = tw_power_history_slot(m->h, before + 2);
	assert_float_equal(s->dynamic_w[TW_ZONE_PACKAGE] + s->idle_w[TW_ZONE_PACKAGE], 50,
			   1e-3);
	assert_int_equal(s->end_ns, m->now_ns);
	assert_null(tw_power_history_slot(m->h, before + 3));
	assert_null(tw_power_history_slot(m->h, 0));
}

static void an_unread_zone_is_unknown_and_not_0(void **state)
{
	struct machine *m = *state;
	const struct tw_power_history_slot *s;

	tick(m, 20, 3);
	tree_write(m->w->dir, "class/powercap/intel-rapl:0/energy_uj", "x\n");
	m->uj = RANGE / 4;
	for (uint64_t before = tw_power_history_slots(m->h);
	     tw_power_history_slots(m->h) == before;) {
		struct tw_err err = { 0 };

		m->now_ns += TICK_S * S;
		assert_int_equal(tw_workloads_tick(m->w->t, m->now_ns, &err), 0);
		tw_power_tick(m->power, m->now_ns, TICK_S * S, 0.5, NULL);
		tw_power_history_tick(m->h, m->now_ns, TICK_S * S, m->power, m->w->t);
	}
	s = tw_power_history_slot(m->h, tw_power_history_slots(m->h));
	assert_true(isnan(s->dynamic_w[TW_ZONE_PACKAGE]));
	assert_true(isnan(s->idle_w[TW_ZONE_PACKAGE]));
	/* And one that the machine does not have. */
	assert_true(isnan(s->dynamic_w[TW_ZONE_GPU]));
}

static void the_oldest_slots_are_dropped(void **state)
{
	struct machine *m = *state;
	uint64_t last;

	for (int i = 0; i < TW_POWER_HISTORY_SLOTS + 5; i++)
		tw_power_history_tick(m->h, m->now_ns += TICK_S * S, TICK_S * S, m->power,
				      m->w->t);
	last = tw_power_history_slots(m->h);
	assert_true(last > TW_POWER_HISTORY_SLOTS);
	assert_non_null(tw_power_history_slot(m->h, last - TW_POWER_HISTORY_SLOTS + 1));
	assert_null(tw_power_history_slot(m->h, last - TW_POWER_HISTORY_SLOTS));
	last = tw_power_history_tops(m->h);
	assert_true(last > TW_POWER_HISTORY_TOPS);
	assert_null(tw_power_history_top(m->h, last - TW_POWER_HISTORY_TOPS));
}

static float power_of(const struct tw_power_history_top *t, uint64_t serial)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->of[i].serial == serial)
			return t->of[i].power_w;
	return -1;
}

/* Process i uses i times as much CPU time as process 1, so that its power is known. */
static void a_slot_of_workloads_has_those_with_most_energy(void **state)
{
	enum { COUNT = TW_POWER_HISTORY_TOP_COUNT + 40 };
	struct machine *m = *state;
	const struct tw_power_history_top *t;
	const struct tw_workload *w = NULL;
	const double all = COUNT * (COUNT + 1.0) / 2;
	float least = INFINITY;
	uint64_t number;

	/* To the begin of a slot. */
	for (number = tw_power_history_tops(m->h); tw_power_history_tops(m->h) == number;)
		tick(m, 100, COUNT);
	number = tw_power_history_tops(m->h);
	for (int i = 0; i < 5; i++)
		tick(m, 100, COUNT);
	assert_int_equal(tw_power_history_tops(m->h), number + 1);
	t = tw_power_history_top(m->h, number + 1);
	assert_int_equal(t->count, TW_POWER_HISTORY_TOP_COUNT);
	for (size_t i = 0; i < t->count; i++)
		least = fminf(least, t->of[i].power_w);
	assert_true(t->least_w <= least);
	assert_true(t->least_w > 0);
	while ((w = tw_workloads_next(m->w->t, TW_LEVEL_PROCESS, w)) != NULL) {
		const double want_w = 100 * w->tgid / all;
		const float got_w = power_of(t, w->serial);

		if (got_w >= 0)
			assert_float_equal(got_w, want_w, 0.01);
		else
			assert_true(want_w <= t->least_w + 0.01);
	}
	w = tw_workloads_next(m->w->t, TW_LEVEL_CGROUP, NULL);
	assert_float_equal(power_of(t, w->serial), 100, 0.1);
}

static void no_memory_is_an_error(void **state)
{
	struct tw_power_history *h = NULL;
	struct tw_err err = { 0 };

	(void)state;
	fail_alloc_at(1);
	assert_int_equal(tw_power_history_new(&h, &err), -1);
	assert_true(fail_alloc_hit());
	assert_int_equal(err.code, TW_NOMEM);
	tw_power_history_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_slot_has_the_power_of_its_ticks),
		TEST(an_unread_zone_is_unknown_and_not_0),
		TEST(the_oldest_slots_are_dropped),
		TEST(a_slot_of_workloads_has_those_with_most_energy),
		cmocka_unit_test(no_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
