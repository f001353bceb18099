/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of GPUs, from their users to workloads. */
#include "collector/power/attribute.h"
#include "collector/power/share.h"
#include "collector/system/roots.h"
#include "collector/workloads/workload.h"
#include "lib/core/err.h"
#include "tests/unit/chance.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"
#include "tests/unit/collector/scripted_tasks.h"
#include "tests/unit/tw_test.h"

#include <stdlib.h>
#include <string.h>

#define S UINT64_C(1000000000)
#define LATER (UINT64_C(1) << 60)

struct fixture {
	char *dir;
	struct tw_workloads *t;
	struct tw_attribution *a;
	uint64_t now_ns;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct tw_err err = { 0 };
	struct tw_roots roots;

	assert_non_null(f);
	f->dir = scratch_new();
	roots = (struct tw_roots){ .proc = f->dir, .sys = f->dir, .dev = f->dir };
	if (tw_workloads_open(&(struct tw_workloads_config){ .roots = &roots,
							     .source = &scripted_tasks,
							     .keep_ms = 1000,
							     .ended_max = 20,
							     .events_max = 100 },
			      &f->t, &err) < 0 ||
	    tw_attribution_open(TW_IDLE_BY_USE, &f->a, &err) < 0)
		fail_msg("%s", err.text);
	f->now_ns = S;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tw_workloads_close(f->t);
	tw_attribution_close(f->a);
	scratch_free(f->dir);
	free(f);
	return 0;
}

static void begin(struct fixture *f)
{
	struct tw_err err = { 0 };

	f->now_ns += S;
	if (tw_workloads_tick(f->t, f->now_ns, &err) < 0)
		fail_msg("%s", err.text);
}

static void attribute(struct fixture *f, uint64_t dynamic_uj, uint64_t idle_uj)
{
	struct tw_charge energy = { 0 };
	struct tw_err err = { 0 };

	energy.dynamic_uj[TW_ZONE_GPU] = dynamic_uj;
	energy.idle_uj[TW_ZONE_GPU] = idle_uj;
	energy.dynamic_uj[TW_ZONE_PACKAGE] = 1000;
	if (tw_attribute(f->a, f->t, &energy, NULL, 0, &err) < 0)
		fail_msg("%s", err.text);
}

static const struct tw_workload *process(const struct fixture *f, uint32_t tgid)
{
	const struct tw_workload *w = NULL;

	while ((w = tw_workloads_next(f->t, TW_LEVEL_PROCESS, w)) != NULL)
		if (w->tgid == tgid)
			return w;
	fail_msg("no process %u", tgid);
	return NULL;
}

static uint64_t charged(const struct fixture *f, enum tw_level level)
{
	const struct tw_workload *w = NULL;
	uint64_t sum = 0;

	while ((w = tw_workloads_next(f->t, level, w)) != NULL)
		sum += w->charged.dynamic_uj[TW_ZONE_GPU] +
		       w->charged.idle_uj[TW_ZONE_GPU];
	return sum;
}

static bool add(struct tw_uses *u, const struct tw_zone_user *users, size_t count,
		uint64_t dynamic_uj, uint64_t idle_uj)
{
	static struct tw_unit_power power;
	const struct tw_use energy = { .dynamic_uj = dynamic_uj, .idle_uj = idle_uj };

	return tw_uses_add(u, &power, users, count, &energy, S);
}

static void a_gpu_s_energy_is_divided_to_the_microjoule(void **state)
{
	static const struct tw_zone_user users[] = { { 7, 7, 1, S, true },
						     { 8, 8, 1, S, true },
						     { 7, 7, 1, S, true } };
	struct tw_uses u = { .count = 0 };

	(void)state;
	assert_true(add(&u, users, 3, 100, 10));
	assert_true(add(&u, users, 1, 5, 0));
	assert_int_equal(u.count, 4);
	assert_int_equal(u.at[0].dynamic_uj + u.at[1].dynamic_uj + u.at[2].dynamic_uj,
			 100);
	assert_int_equal(u.at[0].idle_uj, 4);
	assert_int_equal(u.at[1].idle_uj, 3);
	assert_int_equal(u.at[3].dynamic_uj, 5);
	/* Nobody, and users that used nothing. */
	assert_false(add(&u, users, 0, 5, 0));
	assert_false(add(&u, &(struct tw_zone_user){ .tgid = 7 }, 1, 5, 0));
	assert_int_equal(u.count, 4);
	tw_uses_release(&u);
}

static void without_memory_the_energy_has_no_user(void **state)
{
	static struct tw_zone_user users[100];

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		users[i] = (struct tw_zone_user){ i + 1, i + 1, 1, S, true };
	for (int n = 1;; n++) {
		struct tw_uses u = { .count = 0 };
		bool added;

		fail_alloc_at(n);
		added = add(&u, users, 100, 100, 0);
		if (!fail_alloc_hit()) {
			assert_true(added);
			tw_uses_release(&u);
			break;
		}
		assert_false(added);
		assert_int_equal(u.count, 0);
		/* And is there the next time. */
		assert_true(add(&u, users, 100, 100, 0));
		tw_uses_release(&u);
	}
}

/* 7 computes on both, 8 sleeps while its GPU works, 9 is not known. */
static void gpu_energy_is_of_the_processes_that_used_it(void **state)
{
	struct fixture *f = *state;

	say(ALIVE, 8, LATER, 4, 0);
	begin(f);
	say(ALIVE, 7, LATER, 3, S);
	say(ALIVE, 8, LATER, 4, 0);
	begin(f);
	assert_true(tw_workloads_use_gpu(f->t, 7, 500, 50));
	assert_true(tw_workloads_use_gpu(f->t, 8, 300, 30));
	assert_true(tw_workloads_use_gpu(f->t, 8, 100, 0));
	assert_false(tw_workloads_use_gpu(f->t, 9, 100, 10));
	attribute(f, 1000, 90);
	assert_int_equal(process(f, 7)->charged.dynamic_uj[TW_ZONE_GPU], 500);
	assert_int_equal(process(f, 7)->charged.dynamic_uj[TW_ZONE_PACKAGE], 1000);
	assert_int_equal(process(f, 8)->charged.dynamic_uj[TW_ZONE_GPU], 400);
	assert_int_equal(process(f, 8)->charged.idle_uj[TW_ZONE_GPU], 30);
	assert_int_equal(process(f, 8)->charged.dynamic_uj[TW_ZONE_PACKAGE], 0);
	assert_int_equal(charged(f, TW_LEVEL_PROCESS), 980);
	assert_int_equal(charged(f, TW_LEVEL_CGROUP), 980);
	assert_int_equal(tw_attribution_stats(f->a)->waiting.dynamic_uj[TW_ZONE_GPU],
			 100);
	assert_int_equal(tw_attribution_stats(f->a)->given.dynamic_uj[TW_ZONE_GPU], 900);
	/* What was nobody's is not the next one's. */
	say(ALIVE, 7, LATER, 3, 2 * S);
	begin(f);
	assert_true(tw_workloads_use_gpu(f->t, 7, 10, 0));
	attribute(f, 10, 0);
	assert_int_equal(process(f, 7)->charged.dynamic_uj[TW_ZONE_GPU], 510);
	assert_int_equal(tw_attribution_stats(f->a)->waiting.dynamic_uj[TW_ZONE_GPU],
			 100);
	assert_int_equal(tw_attribution_stats(f->a)->errors, 0);
}

/* One that ended in the tick has it; a tick later it is not known any more. */
static void a_process_that_has_just_exited_is_known(void **state)
{
	struct fixture *f = *state;

	begin(f);
	say(ALIVE, 7, LATER, 3, S);
	begin(f);
	say(ENDED, 7, LATER, 3, 2 * S);
	begin(f);
	assert_true(tw_workloads_use_gpu(f->t, 7, 10, 0));
	attribute(f, 10, 0);
	assert_int_equal(process(f, 7)->charged.dynamic_uj[TW_ZONE_GPU], 10);
	begin(f);
	assert_false(tw_workloads_use_gpu(f->t, 7, 10, 0));
}

#define PLAYERS 30
#define GPUS 4

/* Who lives, by chance; one that is born again is another one. */
static void play(uint64_t *seed, uint64_t *births)
{
	static struct {
		uint64_t start, cpu_ns;
	} p[PLAYERS];

	for (uint32_t i = 0; i < PLAYERS; i++) {
		const uint64_t what = chance(seed, 10);

		if (p[i].start == 0 && what < 4)
			p[i].start = LATER + ++*births;
		if (p[i].start == 0)
			continue;
		p[i].cpu_ns += what < 7 ? chance(seed, S / 4) : 0;
		say(what == 9 ? ENDED : ALIVE, i + 1, p[i].start, 3 + i % 5, p[i].cpu_ns);
		if (what == 9) {
			p[i].start = 0;
			p[i].cpu_ns = 0;
		}
	}
}

/* What each GPU has had in a tick, to users of which some are not known. */
static struct tw_charge use_gpus(struct fixture *f, struct tw_uses *u, uint64_t *seed)
{
	struct tw_charge energy = { 0 };

	u->count = 0;
	for (int g = 0; g < GPUS; g++) {
		struct tw_zone_user users[6];
		const size_t count = chance(seed, 6);
		const uint64_t dynamic_uj = chance(seed, 300000000),
			       idle_uj = chance(seed, 60000000);

		for (size_t i = 0; i < count; i++)
			users[i] = (struct tw_zone_user){
				(uint32_t)chance(seed, PLAYERS + 5),
				(uint32_t)chance(seed, 40), chance(seed, S / 4), S, true
			};
		energy.dynamic_uj[TW_ZONE_GPU] += dynamic_uj;
		energy.idle_uj[TW_ZONE_GPU] += idle_uj;
		add(u, users, count, dynamic_uj, idle_uj);
	}
	for (size_t i = 0; i < u->count; i++)
		tw_workloads_use_gpu(f->t, u->at[i].tgid, u->at[i].dynamic_uj,
				     u->at[i].idle_uj);
	return energy;
}

static void energy_of_gpus_is_conserved_over_all_time(void **state)
{
	const struct tw_attribution_stats *stats;
	struct fixture *f = *state;
	struct tw_uses u = { .count = 0 };
	uint64_t seed = 11, births = 0, whole = 0, before = 0;

	stats = tw_attribution_stats(f->a);
	for (int i = 0; i < 2000; i++) {
		struct tw_err err = { 0 };
		struct tw_charge energy;
		uint64_t given, waiting;

		play(&seed, &births);
		begin(f);
		energy = use_gpus(f, &u, &seed);
		assert_int_equal(tw_attribute(f->a, f->t, &energy, NULL, 0, &err), 0);
		whole += energy.dynamic_uj[TW_ZONE_GPU] + energy.idle_uj[TW_ZONE_GPU];
		given = stats->given.dynamic_uj[TW_ZONE_GPU] +
			stats->given.idle_uj[TW_ZONE_GPU];
		waiting = stats->waiting.dynamic_uj[TW_ZONE_GPU] +
			  stats->waiting.idle_uj[TW_ZONE_GPU];
		assert_int_equal(given + waiting, whole);
		assert_true(given >= before);
		before = given;
		/* Nobody has asked: what those had that are gone is their cgroup's. */
		assert_int_equal(charged(f, TW_LEVEL_CGROUP), given);
		assert_int_equal(charged(f, TW_LEVEL_PROCESS), given);
	}
	assert_true(births > 1000 && before > whole / 4);
	assert_int_equal(stats->errors, 0);
	tw_uses_release(&u);
}

/* More than there is cannot be given: that is a mistake, and counted. */
static void more_than_there_is_is_an_error(void **state)
{
	struct fixture *f = *state;

	begin(f);
	say(ALIVE, 7, LATER, 3, S);
	begin(f);
	assert_true(tw_workloads_use_gpu(f->t, 7, 11, 0));
	attribute(f, 10, 0);
	assert_int_equal(charged(f, TW_LEVEL_PROCESS), 0);
	assert_int_equal(tw_attribution_stats(f->a)->errors, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_gpu_s_energy_is_divided_to_the_microjoule),
		TEST(without_memory_the_energy_has_no_user),
		TEST(gpu_energy_is_of_the_processes_that_used_it),
		TEST(a_process_that_has_just_exited_is_known),
		TEST(energy_of_gpus_is_conserved_over_all_time),
		TEST(more_than_there_is_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
