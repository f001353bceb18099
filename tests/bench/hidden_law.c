/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/hidden_law.h"

#include "lib/core/array.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define QUANTA_OF_A_TICK 1000
#define REQUESTS 32    /* of a period, each to all threads; none while it rests */
#define CLOCK_HZ 2.5e9 /* at frequency 1 */
#define MISS_S 60e-9   /* a core waits so long for memory */
#define DRAIN_TICKS 50 /* work that is not done by then is never done */

/* Known: the rule was made with a look at them. */
const struct law laws[] = {
	{ .name = "smt 1.3",
	  .packages = 1,
	  .cores = 8,
	  .siblings = 2,
	  .rest_w = 20,
	  .awake_w = 12,
	  .core_w = 6,
	  .pair = 1.3,
	  .pair_speed = 0.62,
	  .turbo = 1,
	  .exponent = 2.5,
	  .stall = 0.7,
	  .instruction_nj = 0.4,
	  .miss_nj = 15,
	  .dram_nj = 20 },
	{ .name = "two packages",
	  .packages = 2,
	  .cores = 8,
	  .siblings = 1,
	  .rest_w = 20,
	  .awake_w = 30,
	  .core_w = 7,
	  .pair = 1,
	  .pair_speed = 1,
	  .turbo = 1,
	  .exponent = 2.5,
	  .stall = 0.7,
	  .instruction_nj = 0.3,
	  .miss_nj = 15,
	  .dram_nj = 25 },
	{ .name = "turbo",
	  .packages = 1,
	  .cores = 12,
	  .siblings = 1,
	  .rest_w = 20,
	  .awake_w = 10,
	  .core_w = 5,
	  .pair = 1,
	  .pair_speed = 1,
	  .turbo = 1.5,
	  .turbo_step = 0.05,
	  .exponent = 2.5,
	  .stall = 0.7,
	  .instruction_nj = 0.3,
	  .miss_nj = 15,
	  .dram_nj = 20 },
	{ .name = "memory bound",
	  .packages = 1,
	  .cores = 12,
	  .siblings = 1,
	  .rest_w = 20,
	  .awake_w = 15,
	  .core_w = 4,
	  .pair = 1,
	  .pair_speed = 1,
	  .turbo = 1,
	  .exponent = 2,
	  .stall = 0.55,
	  .instruction_nj = 0.2,
	  .miss_nj = 60,
	  .dram_nj = 80 },
	{ .name = "smt 1.15",
	  .packages = 1,
	  .cores = 10,
	  .siblings = 2,
	  .rest_w = 20,
	  .awake_w = 18,
	  .core_w = 5,
	  .pair = 1.15,
	  .pair_speed = 0.56,
	  .turbo = 1,
	  .exponent = 2.5,
	  .stall = 0.8,
	  .instruction_nj = 0.2,
	  .miss_nj = 10,
	  .dram_nj = 15 },
	{ .name = "smt 1.4, two packages, turbo",
	  .packages = 2,
	  .cores = 8,
	  .siblings = 2,
	  .rest_w = 20,
	  .awake_w = 35,
	  .core_w = 7,
	  .pair = 1.4,
	  .pair_speed = 0.68,
	  .turbo = 1.4,
	  .turbo_step = 0.06,
	  .exponent = 2.8,
	  .stall = 0.6,
	  .instruction_nj = 0.5,
	  .miss_nj = 25,
	  .dram_nj = 35 },
	{ .name = "numa",
	  .packages = 2,
	  .cores = 10,
	  .siblings = 1,
	  .rest_w = 20,
	  .awake_w = 22,
	  .core_w = 5,
	  .pair = 1,
	  .pair_speed = 1,
	  .turbo = 1.2,
	  .turbo_step = 0.03,
	  .exponent = 2.2,
	  .stall = 0.6,
	  .instruction_nj = 0.3,
	  .miss_nj = 30,
	  .dram_nj = 45,
	  .remote_nj = 12 },
	{ .name = "wide vectors",
	  .packages = 1,
	  .cores = 12,
	  .siblings = 1,
	  .rest_w = 20,
	  .awake_w = 15,
	  .core_w = 5,
	  .pair = 1,
	  .pair_speed = 1,
	  .turbo = 1.2,
	  .turbo_step = 0.02,
	  .exponent = 2.5,
	  .stall = 0.7,
	  .instruction_nj = 0.3,
	  .miss_nj = 15,
	  .dram_nj = 20,
	  .vector = 1.6 },
	{ .name = "overcommitted",
	  .packages = 1,
	  .cores = 4,
	  .siblings = 2,
	  .rest_w = 20,
	  .awake_w = 8,
	  .core_w = 6,
	  .pair = 1.25,
	  .pair_speed = 0.6,
	  .turbo = 1.2,
	  .turbo_step = 0.06,
	  .exponent = 2.5,
	  .stall = 0.7,
	  .instruction_nj = 0.3,
	  .miss_nj = 15,
	  .dram_nj = 20 },
	{ .name = "hybrid",
	  .packages = 1,
	  .cores = 14,
	  .siblings = 1,
	  .rest_w = 10,
	  .awake_w = 8,
	  .core_w = 7,
	  .pair = 1,
	  .pair_speed = 1,
	  .turbo = 1.3,
	  .turbo_step = 0.02,
	  .exponent = 2.5,
	  .stall = 0.7,
	  .instruction_nj = 0.3,
	  .miss_nj = 15,
	  .dram_nj = 20,
	  .small = 8,
	  .small_power = 0.3,
	  .small_speed = 0.55,
	  .small_clock = 0.75 },
	{ .name = "for Kepler: CPU time",
	  .packages = 1,
	  .cores = 12,
	  .siblings = 1,
	  .rest_w = 20,
	  .core_w = 6,
	  .pair = 1,
	  .pair_speed = 1,
	  .turbo = 1,
	  .exponent = 2.5,
	  .stall = 1 },
	{ .name = "for the plain rule: cycles + instructions",
	  .packages = 1,
	  .cores = 12,
	  .siblings = 1,
	  .rest_w = 20,
	  .core_w = 2.5,
	  .pair = 1,
	  .pair_speed = 1,
	  .turbo = 1,
	  .exponent = 1,
	  .stall = 1,
	  .instruction_nj = 1 },
};

const size_t law_count = TW_COUNT(laws);

int law_cpus(const struct law *l)
{
	return l->packages * l->cores * l->siblings;
}

/* CPUs of a core are adjacent, and the cores of a package. */
int law_package(const struct law *l, int cpu)
{
	return cpu / (l->cores * l->siblings);
}

bool law_small(const struct law *l, int cpu)
{
	return cpu / l->siblings % l->cores >= l->cores - l->small;
}

uint64_t law_chance(uint64_t *seed, uint64_t n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (*seed >> 33) % n;
}

static double between(uint64_t *seed, double least, double most)
{
	return least + (most - least) * (double)law_chance(seed, 1 << 20) / (1 << 20);
}

struct law law_by_chance(uint64_t *seed, int number)
{
	const int packages = 1 + (int)law_chance(seed, 2),
		  siblings = 1 + (int)law_chance(seed, 2);
	const bool turbo = law_chance(seed, 2) == 0;
	struct law l = { .packages = packages,
			 .siblings = siblings,
			 .cores = LAW_CPUS_MAX / packages / siblings -
				  (int)law_chance(seed, 4),
			 .rest_w = between(seed, 10, 40),
			 .awake_w = between(seed, 5, 40),
			 .core_w = between(seed, 3, 9),
			 .pair = siblings == 2 ? between(seed, 1.15, 1.4) : 1,
			 .pair_speed = siblings == 2 ? between(seed, 0.55, 0.7) : 1,
			 .turbo = turbo ? between(seed, 1.1, 1.5) : 1,
			 .exponent = between(seed, 2, 3),
			 .stall = between(seed, 0.5, 0.8),
			 .instruction_nj = between(seed, 0, 0.6),
			 .miss_nj = between(seed, 5, 60),
			 .dram_nj = between(seed, 10, 80) };

	snprintf(l.name, sizeof(l.name), "by chance %d", number);
	l.turbo_step = (l.turbo - 1) / l.cores;
	if (packages == 2 && law_chance(seed, 2) == 0)
		l.remote_nj = between(seed, 5, 15);
	return l;
}

struct work law_work(const struct law *l, uint64_t *seed)
{
	struct work w = { .threads = 1 + (int)law_chance(seed, LAW_THREADS_MAX),
			  .node = -1,
			  .load = between(seed, 0.4, 1),
			  .duty = law_chance(seed, 2) == 0 ? 1 : between(seed, 0.2, 0.8),
			  .period_s = between(seed, 0.2, 1.5),
			  .phase_s = between(seed, 0, 1),
			  .ipc = between(seed, 0.8, 2.5),
			  .misses = law_chance(seed, 3) == 0 ? between(seed, 2e-3, 20e-3)
							     : between(seed, 0, 1e-3),
			  .vector = 1 };
	const int cpus = law_cpus(l), first = (int)law_chance(seed, (uint64_t)cpus);
	const bool moves = law_chance(seed, 5) == 0;

	for (int t = 0; t < w.threads; t++) {
		w.cpu[t] = (first + t * (1 + (int)law_chance(seed, 2))) % cpus;
		w.other[t] = moves ? (w.cpu[t] + cpus / 2) % cpus : w.cpu[t];
	}
	if (l->vector > 0 && law_chance(seed, 3) == 0)
		w.vector = l->vector;
	if (l->remote_nj > 0 && law_chance(seed, 2) == 0)
		w.node = (int)law_chance(seed, (uint64_t)l->packages);
	return w;
}

/* ---- running ---- */

struct thread {
	int work, index;
	double left; /* instructions to do; below 0: done too early */
};

struct machine {
	const struct law *l;
	double quantum_s;
	const struct work *w;
	struct thread thread[LAW_WORKS_MAX * LAW_THREADS_MAX];
	int threads;
	int runs[LAW_CPUS_MAX]; /* thread; -1: none */
	double clock[LAW_PACKAGES_MAX];
};

static bool busy_sibling(const struct machine *m, int cpu)
{
	return m->l->siblings == 2 && m->runs[cpu ^ 1] >= 0;
}

/* Seconds of an instruction at frequency 1, alone on the core; the part of waiting. */
static double instruction_s(const struct work *w, double clock, double speed,
			    double *waits)
{
	const double wait_s = w->misses * MISS_S,
		     all_s = 1 / (w->ipc * CLOCK_HZ * clock * speed) + wait_s;

	*waits = wait_s / all_s;
	return all_s;
}

/*
 * Work that arrives within a quantum. Requests come by the workload's own clock: a thread
 * that was delayed is in step again with its next request, whatever a quantum is.
 */
static void arrive(struct machine *m, int quantum)
{
	for (int i = 0; i < m->threads; i++) {
		struct thread *t = &m->thread[i];
		const struct work *w = &m->w[t->work];
		const double every_s = w->period_s / REQUESTS;
		const long end = lround(
			ceil(((quantum + 1) * m->quantum_s + w->phase_s) / every_s));
		double waits;

		for (long k = lround(
			     ceil((quantum * m->quantum_s + w->phase_s) / every_s));
		     k < end; k++)
			if (k % REQUESTS < w->duty * REQUESTS)
				t->left += w->load * every_s /
					   instruction_s(w, 1, 1, &waits);
	}
}

static int cpu_of(const struct machine *m, const struct thread *t, double at_s)
{
	const struct work *w = &m->w[t->work];
	const bool odd = ((long)((at_s + w->phase_s) / w->period_s) & 1) != 0;

	return odd ? w->other[t->index] : w->cpu[t->index];
}

/* A CPU that rests, of the package of `home` and near it, of a core that rests; or any;
 * or -1. */
static int find_cpu(const struct machine *m, int home)
{
	const int cpus = m->l->cores * m->l->siblings;
	const int first = law_package(m->l, home) * cpus;
	int any = -1;

	for (int k = 0; k < cpus; k++) {
		const int cpu = first + (home - first + k) % cpus;

		if (m->runs[cpu] >= 0)
			continue;
		if (!busy_sibling(m, cpu))
			return cpu;
		any = any < 0 ? cpu : any;
	}
	return any;
}

/* The thread with most to do that has no CPU yet; -1: there is none. */
static int find_thread(const struct machine *m, const bool *placed)
{
	int most = -1;

	for (int i = 0; i < m->threads; i++)
		if (!placed[i] && m->thread[i].left > 0 &&
		    (most < 0 || m->thread[i].left > m->thread[most].left))
			most = i;
	return most;
}

/* As Linux does: whatever can run runs while a CPU of its package rests, and on a core of
 * its own while there is one. */
static void place(struct machine *m, double at_s)
{
	bool placed[LAW_WORKS_MAX * LAW_THREADS_MAX] = { false };

	for (int c = 0; c < LAW_CPUS_MAX; c++)
		m->runs[c] = -1;
	for (int i; (i = find_thread(m, placed)) >= 0;) {
		const int cpu = find_cpu(m, cpu_of(m, &m->thread[i], at_s));

		placed[i] = true;
		if (cpu >= 0)
			m->runs[cpu] = i;
	}
}

/* Place threads, and set the clocks. True if any runs. */
static bool schedule(struct machine *m, double at_s)
{
	int active[LAW_PACKAGES_MAX] = { 0 };
	bool any = false;

	place(m, at_s);
	for (int c = 0; c < law_cpus(m->l); c += m->l->siblings) {
		const bool runs = m->runs[c] >= 0 || busy_sibling(m, c);

		active[law_package(m->l, c)] += runs;
		any = any || runs;
	}
	for (int p = 0; p < m->l->packages; p++) {
		const double clock = m->l->turbo - m->l->turbo_step * (active[p] - 1);

		m->clock[p] = clock > 1 ? clock : 1;
	}
	return any;
}

/* A quantum of a thread on a CPU: its count, and its energy. */
static void run_thread(struct machine *m, int cpu, struct law_run *out, int tick)
{
	const struct law *l = m->l;
	struct thread *t = &m->thread[m->runs[cpu]];
	const struct work *w = &m->w[t->work];
	const int p = law_package(l, cpu), node = w->node >= 0 ? w->node : p;
	const bool shared = busy_sibling(m, cpu), small = law_small(l, cpu);
	struct law_count *c = &out->count[tick][t->work];
	double waits;
	const double done =
		m->quantum_s /
		instruction_s(w, m->clock[p],
			      (shared ? l->pair_speed : 1) * (small ? l->small_speed : 1),
			      &waits);
	const double misses = done * w->misses;

	t->left -= done;
	c->cpu_ns += m->quantum_s * 1e9;
	c->cycles += m->quantum_s * CLOCK_HZ * m->clock[p] * (small ? l->small_clock : 1);
	c->instructions += done;
	c->misses += misses;
	const double package_j = l->core_w * pow(m->clock[p], l->exponent) * w->vector *
					 (1 - waits + waits * l->stall) *
					 (shared ? l->pair / 2 : 1) *
					 (small ? l->small_power : 1) * m->quantum_s +
				 done * l->instruction_nj * 1e-9 +
				 misses * l->miss_nj * 1e-9,
		     dram_j = misses * l->dram_nj * 1e-9,
		     remote_j = node != p ? misses * l->remote_nj * 1e-9 : 0;

	out->package_j[tick][p] += package_j + remote_j;
	out->package_j[tick][node] += remote_j;
	out->dram_j[tick][node] += dram_j;
	c->own_j += package_j + 2 * remote_j + dram_j;
}

/* An awake package is of all that run there, equally. */
static void wake(const struct machine *m, int package, struct law_run *out, int tick)
{
	bool runs[LAW_WORKS_MAX] = { false };
	int count = 0;

	for (int c = 0; c < law_cpus(m->l); c++)
		if (m->runs[c] >= 0 && law_package(m->l, c) == package) {
			const int work = m->thread[m->runs[c]].work;

			count += !runs[work];
			runs[work] = true;
		}
	for (int i = 0; i < LAW_WORKS_MAX; i++)
		if (runs[i])
			out->count[tick][i].own_j += m->l->awake_w * m->quantum_s / count;
	out->package_j[tick][package] += count > 0 ? m->l->awake_w * m->quantum_s : 0;
}

static void run_quantum(struct machine *m, struct law_run *out, int tick)
{
	for (int p = 0; p < m->l->packages; p++)
		wake(m, p, out, tick);
	for (int c = 0; c < law_cpus(m->l); c++)
		if (m->runs[c] >= 0)
			run_thread(m, c, out, tick);
	out->seconds[tick] += m->quantum_s;
}

/* Looks are 4 to 16 ms apart, by chance, so that they are in step with nothing. */
static void look(const struct machine *m, struct law_run *out, int tick, int q, int *last,
		 int *next, uint64_t *seed)
{
	struct law_look *to = &out->look[out->looks];
	const int ms = (int)lround(1e-3 / m->quantum_s);

	if (q < *next || out->looks == LAW_LOOKS_MAX)
		return;
	to->tick = tick;
	to->ns = (q - *last) * m->quantum_s * 1e9;
	for (int c = 0; c < LAW_CPUS_MAX; c++)
		to->work[c] =
			(signed char)(m->runs[c] >= 0 ? m->thread[m->runs[c]].work : -1);
	out->looks++;
	*last = q;
	*next = q + 4 * ms + (int)law_chance(seed, 12 * (uint64_t)ms + 1);
}

void law_run(const struct law *l, const struct work *w, int works, unsigned mask,
	     int ticks, int fine, struct law_run *out)
{
	struct machine m = { .l = l,
			     .w = w,
			     .quantum_s = 1.0 / (QUANTA_OF_A_TICK * fine) };
	const int of_tick = QUANTA_OF_A_TICK * fine;
	uint64_t seed = 1;
	int last = 0, next = 1;

	memset(out, 0, offsetof(struct law_run, look));
	out->looks = 0;
	for (int i = 0; i < works; i++)
		for (int t = 0; t < w[i].threads && (mask >> i & 1) != 0; t++)
			m.thread[m.threads++] = (struct thread){ .work = i, .index = t };
	for (int q = 0; q < (ticks + DRAIN_TICKS) * of_tick; q++) {
		const int tick = q / of_tick < ticks ? q / of_tick : ticks - 1;

		if (q < ticks * of_tick)
			arrive(&m, q);
		if (!schedule(&m, q * m.quantum_s) && q >= ticks * of_tick)
			break;
		run_quantum(&m, out, tick);
		look(&m, out, tick, q, &last, &next, &seed);
	}
}

double law_energy(const struct law *l, const struct law_run *r, int ticks)
{
	double sum = 0;

	for (int t = 0; t < ticks; t++)
		for (int p = 0; p < l->packages; p++)
			sum += r->package_j[t][p] + r->dram_j[t][p];
	return sum;
}
