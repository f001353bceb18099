/* SPDX-License-Identifier: Apache-2.0 */
/* Scrapes that export some processes and cgroups only lose nothing: "other" has the rest.
 */
#include "collector/workloads/workload_state.h"
#include "tests/unit/collector/scripted_tasks.h"
#include "tests/unit/tw_test.h"
#include "tests/unit/collector/workload_fixture.h"

#include "lib/core/array.h"

#include <stdlib.h>
#include <string.h>

#define SERIALS 20000
#define TOP 5
#define STEPS 300
#define SLOTS 40

static const enum tw_level levels[] = { TW_LEVEL_PROCESS, TW_LEVEL_CGROUP };

/* What a Prometheus server has seen: the last value of each series. */
struct scraper {
	uint64_t ns[TW_LEVEL_COUNT][SERIALS], uj[TW_LEVEL_COUNT][SERIALS];
	uint64_t sum_ns[TW_LEVEL_COUNT], sum_uj[TW_LEVEL_COUNT]; /* all growth */
};

/* A machine whose processes come and go. */
struct machine {
	struct workload_fixture *f;
	struct {
		uint32_t tgid;
		uint64_t start_ns, used_ns, cgroup;
	} slot[SLOTS];
	uint32_t tgid;
	uint64_t all_ns, all_uj;
	size_t last_max, exported_most;
};

static uint64_t least;

static bool is_large(const void *arg, const struct tw_workload *w)
{
	(void)arg;
	return !tw_workload_is_unused(w) && w->used.cpu_ns >= least;
}

/* The least CPU time of the TOP largest, as tw_exposure_begin() finds it. */
static uint64_t find_least(const struct tw_workloads *t, enum tw_level level)
{
	uint64_t bound = 0;

	for (;;) {
		const struct tw_workload *w = NULL;
		uint64_t next = UINT64_MAX;
		size_t count = 0;

		while ((w = tw_workloads_next(t, level, w)) != NULL)
			if (w->used.cpu_ns >= bound) {
				count++;
				if (w->used.cpu_ns < next)
					next = w->used.cpu_ns;
			}
		if (count <= TOP)
			return bound;
		bound = next + 1;
	}
}

static void read_series(struct scraper *s, const struct tw_workload *w)
{
	const uint64_t ns = tw_own_cpu_ns(w), uj = tw_own_uj(w, TW_ZONE_PACKAGE, false);

	assert_true(w->serial < SERIALS);
	assert_true(ns >= s->ns[w->level][w->serial]);
	assert_true(uj >= s->uj[w->level][w->serial]);
	s->sum_ns[w->level] += ns - s->ns[w->level][w->serial];
	s->sum_uj[w->level] += uj - s->uj[w->level][w->serial];
	s->ns[w->level][w->serial] = ns;
	s->uj[w->level][w->serial] = uj;
}

static size_t scrape(struct tw_workloads *t, struct scraper *s, size_t last_max)
{
	size_t exported = 0;

	for (size_t i = 0; i < TW_COUNT(levels); i++) {
		const struct tw_workload *w = NULL;

		least = find_least(t, levels[i]);
		tw_workloads_choose(t, levels[i], last_max, is_large, NULL);
		while ((w = tw_workloads_next(t, levels[i], w)) != NULL)
			if (w->series == TW_SERIES_OWN || w->series == TW_SERIES_LAST) {
				read_series(s, w);
				exported++;
			}
		read_series(s, tw_workloads_other(t, levels[i]));
	}
	tw_workloads_scraped(t);
	return exported;
}

static void charge_slices(struct machine *m)
{
	size_t count;
	const struct tw_slice *s = tw_workloads_slices(m->f->t, &count);

	for (size_t i = 0; i < count; i++) {
		struct tw_charge charge = { 0 };

		charge.dynamic_uj[TW_ZONE_PACKAGE] =
			s[i].used.cpu_ns / 7 + s[i].used.counter[TW_COUNTER_CYCLES];
		m->all_uj += charge.dynamic_uj[TW_ZONE_PACKAGE];
		tw_workloads_charge(m->f->t, &s[i], &charge, &charge);
	}
}

/* A second: processes start, work and exit, some of them twice in it. */
static void live(struct machine *m, bool storm)
{
	for (int i = 0; i < SLOTS; i++) {
		const uint64_t ns = (uint64_t)(rand() % 1000) * 1000;

		if (m->slot[i].tgid == 0 && (storm || rand() % 4 == 0)) {
			m->slot[i].tgid = ++m->tgid;
			m->slot[i].start_ns = LATER + m->tgid;
			m->slot[i].used_ns = 0;
			m->slot[i].cgroup = (uint64_t)(1 + rand() % 12);
		}
		if (m->slot[i].tgid == 0)
			continue;
		m->slot[i].used_ns += ns;
		m->all_ns += ns;
		if (storm || rand() % 6 == 0) {
			say(ENDED, m->slot[i].tgid, m->slot[i].start_ns,
			    m->slot[i].cgroup, m->slot[i].used_ns);
			m->slot[i].tgid = 0;
		} else {
			say(ALIVE, m->slot[i].tgid, m->slot[i].start_ns,
			    m->slot[i].cgroup, m->slot[i].used_ns);
		}
	}
	workloads_tick(m->f);
	charge_slices(m);
}

static void check(const struct machine *m, const struct scraper *s)
{
	for (size_t i = 0; i < TW_COUNT(levels); i++) {
		assert_int_equal(s->sum_ns[levels[i]], m->all_ns);
		assert_int_equal(s->sum_uj[levels[i]], m->all_uj);
	}
}

/*
 * Live for a while, scraped by `one` each third second, by `two` each fifth; NULL: only
 * one.
 */
static void live_long(struct machine *m, struct scraper *one, struct scraper *two)
{
	for (int i = 0; i < STEPS; i++) {
		size_t exported = 0;

		live(m, i % 50 < 5);
		if (i % 3 == 0 || i % 100 == 60) {
			exported = scrape(m->f->t, one, m->last_max);
			check(m, one);
		}
		if (two != NULL && (i % 5 == 2 || i % 100 == 60)) {
			exported = scrape(m->f->t, two, m->last_max);
			check(m, two);
		}
		if (exported > m->exported_most)
			m->exported_most = exported;
		if (i % 100 == 60) /* ended workloads are removed */
			m->f->now_ns += KEEP_S * S;
	}
}

static struct scraper *new_scraper(void)
{
	struct scraper *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	return s;
}

static void two_scrapers_each_see_all_growth(void **state)
{
	struct scraper *one = new_scraper(), *two = new_scraper();
	struct machine m = { .f = *state, .last_max = 500 };

	srand(3);
	live_long(&m, one, two);
	free(one);
	free(two);
}

/* More processes exit between two scrapes than may stay. */
static void a_fork_storm_loses_nothing(void **state)
{
	struct scraper *one = new_scraper();
	struct machine m = { .f = *state, .last_max = TOP };
	struct tw_workloads_stats stats;

	srand(4);
	tw_workloads_close(m.f->t);
	m.f->t = workloads_open(m.f->dir, 10);
	workloads_tick(m.f);
	live_long(&m, one, NULL);
	tw_workloads_stats(m.f->t, &stats);
	assert_true(stats.folded > 100);
	/* Two levels: the largest, as many series that end, and those that end now. */
	assert_in_range(m.exported_most, 2 * TOP + 1, 6 * TOP);
	free(one);
}

/* A process that grows into the largest ones begins with its growth since the last
 * scrape. */
static void a_series_never_has_usage_that_other_had(void **state)
{
	struct workload_fixture *f = *state;
	struct scraper *s = calloc(1, sizeof(*s));
	const struct tw_workload *w;

	assert_non_null(s);
	for (uint32_t i = 1; i <= 6; i++)
		say(ALIVE, i, LATER + i, 3, 100 * i);
	workloads_tick(f);
	scrape(f->t, s, TOP);
	w = workload_find(f->t, TW_LEVEL_PROCESS, 1);
	assert_int_equal(w->series, TW_SERIES_OTHER);
	assert_int_equal(tw_own_cpu_ns(w), 0);
	assert_int_equal(tw_own_cpu_ns(tw_workloads_other(f->t, TW_LEVEL_PROCESS)), 100);
	for (uint32_t i = 1; i <= 6; i++)
		say(ALIVE, i, LATER + i, 3, i == 1 ? 5000 : 100 * i);
	workloads_tick(f);
	scrape(f->t, s, TOP);
	assert_int_equal(w->series, TW_SERIES_OWN);
	assert_int_equal(tw_own_cpu_ns(w), 0);
	w = workload_find(f->t, TW_LEVEL_PROCESS, 2);
	assert_int_equal(w->series, TW_SERIES_LAST);
	for (uint32_t i = 1; i <= 6; i++)
		say(ALIVE, i, LATER + i, 3, i == 1 ? 5070 : 100 * i + 1);
	workloads_tick(f);
	scrape(f->t, s, TOP);
	assert_int_equal(tw_own_cpu_ns(workload_find(f->t, TW_LEVEL_PROCESS, 1)), 70);
	assert_int_equal(tw_own_cpu_ns(w), 200);
	assert_int_equal(tw_own_cpu_ns(tw_workloads_other(f->t, TW_LEVEL_PROCESS)), 5001);
	assert_int_equal(s->sum_ns[TW_LEVEL_PROCESS], 7075);
	free(s);
}

/* TOP of the processes, from `first` on, get the most CPU time of all. */
static void scrape_top(struct workload_fixture *f, struct scraper *s, uint32_t first)
{
	for (uint32_t i = 1; i <= 4 * TOP; i++)
		say(ALIVE, i, LATER + i, 3, i < first + TOP ? 1000 * i : i);
	workloads_tick(f);
	scrape(f->t, s, TOP);
}

static void too_many_last_series_end_with_the_oldest(void **state)
{
	struct workload_fixture *f = *state;
	struct scraper *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	for (uint32_t first = 1; first <= 3 * TOP + 1; first += TOP)
		scrape_top(f, s, first);
	for (uint32_t i = 1; i <= 4 * TOP; i++)
		assert_int_equal(workload_find(f->t, TW_LEVEL_PROCESS, i)->series,
				 i <= TOP       ? TW_SERIES_OTHER
				 : i <= 3 * TOP ? TW_SERIES_LAST
						: TW_SERIES_OWN);
	free(s);
}

/*
 * Counts of a process that came and went unseen: energy without CPU time, of a cgroup
 * without processes.
 */
static void counts_without_cpu_time_lose_nothing(void **state)
{
	const uint64_t more[TW_COUNTER_COUNT] = { [TW_COUNTER_CYCLES] = 1000 };
	struct scraper *one = new_scraper(), *two = new_scraper();
	struct machine m = { .f = *state, .last_max = TOP };

	for (int i = 0; i < 40; i++) {
		const int at = i % 10;

		if (at <= 1)
			tw_workloads_counted(m.f->t, 99, more, true);
		workloads_tick(m.f);
		charge_slices(&m);
		if (at == 0 || at == 2) {
			scrape(m.f->t, one, m.last_max);
			check(&m, one);
		}
		if (at == 0 || at == 9) {
			scrape(m.f->t, two, m.last_max);
			check(&m, two);
		}
		if (i == 29) /* the cgroup is removed */
			m.f->now_ns += KEEP_S * S;
	}
	assert_int_equal(m.all_uj, 8000);
	free(one);
	free(two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORKLOAD_TEST(two_scrapers_each_see_all_growth),
		WORKLOAD_TEST(a_fork_storm_loses_nothing),
		WORKLOAD_TEST(a_series_never_has_usage_that_other_had),
		WORKLOAD_TEST(too_many_last_series_end_with_the_oldest),
		WORKLOAD_TEST(counts_without_cpu_time_lose_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
