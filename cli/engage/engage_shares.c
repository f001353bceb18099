/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/engage/engage_shares.h"

#include "cli/run/run_child.h"
#include "cli/run/run_energy.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "profiler/load.h"
#include "profiler/spinner.h"
#include "trainer/record/stop.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define LOOK_MS 20
#define SPEED_MS 100
/* All workloads together take at most this part of the time of all CPUs. */
#define BUSY_MAX 0.7
/* Each workload has its processes once for this many CPUs. */
#define CPUS_OF_A_PROCESS 8
/* Give up if the work takes so much longer than its phase. */
#define PATIENCE_MS 60000

/* Differing in counts, parallelism and rhythm. */
static const struct work {
	const char *name, *about;
	enum tw_spin spin;
	unsigned processes, percent; /* of the time of a CPU each */
	uint64_t period_ms;
} works[TW_SHARES_MAX] = {
	{ "integer", "integer arithmetic", TW_SPIN_CPU, 1, 60, 20 },
	{ "memory", "writes beyond the caches", TW_SPIN_MEMORY, 1, 50, 50 },
	{ "bursts", "integer arithmetic, a third of each second", TW_SPIN_CPU, 2, 30,
	  1000 },
	{ "floats", "floating point arithmetic", TW_SPIN_FLOAT, 1, 50, 20 },
	{ "cache", "dependent reads in the caches", TW_SPIN_CACHE, 2, 40, 30 },
};

struct state {
	const struct tw_engage_shares *c;
	struct tw_run_collector *collector;
	struct tw_planned plan[TW_SHARES_MAX];
	struct tw_load load[TW_SHARES_MAX];
	struct tw_shares *out;
	struct tw_run_figures figures; /* of the last tick */
	double seconds;                /* the time of that tick */
	size_t done;
};

/* The work of a phase by the speed of this machine now: the same for each run. */
static void plan_works(struct state *s)
{
	const unsigned times = s->c->cpus / CPUS_OF_A_PROCESS + 1;
	double busy = 0;

	for (size_t i = 0; i < s->c->works; i++)
		busy += works[i].processes * works[i].percent * times / 100.0;
	for (size_t i = 0; i < s->c->works; i++) {
		const struct work *w = &works[i];
		const uint64_t period_ms = w->period_ms < s->c->phase_ms / 2
						   ? w->period_ms
						   : s->c->phase_ms / 2;
		const double part =
			w->percent / 100.0 * fmin(1, BUSY_MAX * s->c->cpus / busy);

		s->plan[i] = (struct tw_planned){
			.name = w->name,
			.summary = w->about,
			.spin = w->spin,
			.processes = w->processes * times,
			.pace = { .steps =
					  (uint64_t)(tw_spinner_speed(w->spin, SPEED_MS) *
						     part * (double)period_ms / 1e3) +
					  1,
				  .period_ms = period_ms,
				  .periods = s->c->phase_ms / period_ms },
		};
		s->out->name[i] = w->name;
	}
}

/* ---- a run ---- */

static int read_tick(struct state *s, struct tw_shares_run *run, struct tw_err *err)
{
	struct tw_run_child child[TW_SHARES_MAX] = { 0 };
	uint32_t pid[TW_SHARES_MAX][TW_LOAD_PROCESSES_MAX];
	struct tw_run_figures f[TW_SHARES_MAX + 1] = { 0 };

	for (size_t i = 0; i < s->c->works; i++) {
		for (size_t k = 0; k < s->load[i].count; k++)
			pid[i][k] = (uint32_t)s->load[i].pid[k];
		child[i].pids = pid[i];
		child[i].count = s->load[i].count;
	}
	if (tw_run_collector_read(s->collector, child, s->c->works, f, &s->seconds, err) <
	    0)
		return -1;
	for (size_t i = 0; i < s->c->works; i++) {
		run->charged_j[i] = f[i].joules;
		run->cpu_s[i] = f[i].cpu_s;
	}
	s->figures = f[s->c->works];
	return 0;
}

static int wait_for_work(struct state *s, struct tw_err *err)
{
	const uint64_t until_ms = tw_now_ms() + s->c->phase_ms + PATIENCE_MS;

	for (size_t i = 0; i < s->c->works; i++)
		while (tw_load_runs(&s->load[i])) {
			if (tw_stop_wait(s->c->stop, LOOK_MS))
				return tw_fail(err, TW_IO, "interrupted");
			if (tw_now_ms() > until_ms)
				return tw_fail(err, TW_IO,
					       "the work of %" PRIu64 " ms is not done "
					       "%d s later: other load?",
					       s->c->phase_ms, PATIENCE_MS / 1000);
		}
	return 0;
}

/* Run a subset. The empty one is rest: wait as long as the others run. */
static int run_works(struct state *s, unsigned set, struct tw_err *err)
{
	const struct tw_load_config lc = { .cpus = s->c->cpus, .dir = "/tmp" };

	for (size_t i = 0; i < s->c->works; i++)
		if ((set >> i & 1) != 0 &&
		    tw_load_start(&s->plan[i], &lc, &s->load[i], err) < 0)
			return -1;
	if (set == 0 && tw_stop_wait(s->c->stop, s->c->phase_ms))
		return tw_fail(err, TW_IO, "interrupted");
	return wait_for_work(s, err);
}

static int run_set(struct state *s, unsigned set, struct tw_shares_run *run,
		   struct tw_err *err)
{
	struct tw_shares_run before;
	double since_s, joules;
	int rc = -1;

	if (tw_run_collector_mark(s->collector, err) < 0 ||
	    read_tick(s, &before, err) < 0)
		return -1;
	since_s = s->seconds;
	joules = s->figures.machine_joules;
	if (run_works(s, set, err) == 0 && read_tick(s, run, err) == 0)
		rc = 0;
	for (size_t i = 0; i < s->c->works; i++)
		tw_load_end(&s->load[i]);
	if (rc < 0)
		return -1;
	run->joules = s->figures.machine_joules - joules;
	if (set == 0)
		s->out->rest_w = run->joules / (s->seconds - since_s);
	run->joules -= s->out->rest_w * (s->seconds - since_s);
	return 0;
}

static int do_set(struct state *s, unsigned set, struct tw_shares_run *run,
		  struct tw_err *err)
{
	char line[160] = "";
	size_t len = 0;

	for (size_t i = 0; i < s->c->works; i++)
		if ((set >> i & 1) != 0)
			len += (size_t)snprintf(line + len, sizeof(line) - len, " %s",
						works[i].name);
	if (run_set(s, set, run, err) < 0)
		return -1;
	snprintf(line + len, sizeof(line) - len, "%s: %.2f J above rest",
		 set == 0 ? " rest" : "", run->joules);
	s->c->say(line + 1);
	return 0;
}

/* Small sets first: the collector learns from them for the large ones. */
static int do_sets(struct state *s, struct tw_err *err)
{
	const unsigned all = (1U << s->c->works) - 1;
	struct tw_shares_run again = { 0 };

	for (int size = 0; size <= (int)s->c->works; size++) {
		for (unsigned set = 0; set <= all; set++)
			if (__builtin_popcount(set) == size &&
			    do_set(s, set, &s->out->run[set], err) < 0)
				return -1;
		if (size == 0 && do_set(s, all, &again, err) < 0)
			return -1;
	}
	s->out->again_j = again.joules;
	return 0;
}

int tw_engage_shares_run(const struct tw_engage_shares *c, struct tw_shares *out,
			 struct tw_err *err)
{
	struct state s = { .c = c, .out = out };
	struct tw_shares_run ignored;
	int rc = -1;

	*out = (struct tw_shares){ .works = c->works };
	if (tw_run_collector_open(c->url, &s.collector, err) < 0 ||
	    read_tick(&s, &ignored, err) < 0)
		goto out;
	if (s.figures.estimated) {
		tw_fail(err, TW_NOTFOUND, "'%s' estimates: fair shares need a meter",
			c->url);
		goto out;
	}
	plan_works(&s);
	if (do_sets(&s, err) < 0)
		goto out;
	snprintf(out->source, sizeof(out->source), "%s", s.figures.source);
	rc = 0;
out:
	tw_run_collector_close(s.collector);
	return rc;
}
