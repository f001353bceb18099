/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-attribution: how far rules of attribution are from fair shares.
 *
 *	attribution LAWS SETS
 *
 * Runs workloads on the simulated machines of hidden_law.h: all subsets of each set, so
 * that the Shapley value of each workload is known by experiment. Divides the energy of
 * the run of all by the product's own code and by other tools' rules. Prints a line for
 * each figure: law, "held-out" or "known", rule, kind of figure, value. Kinds:
 *
 *	share	the error of a workload's energy, part of its Shapley value
 *	whole	the same, part of the energy of all
 *	bill	one neighbour less: the error of how its energy changes, part of its value
 *	sum	microjoules that the shares do not add up to
 *	truth	the same of the Shapley values, part of the energy of all
 */
#include "collector/power/attribute.h"
#include "collector/workloads/workload.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "tests/bench/hidden_law.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICKS 6
#define SUBSETS (1 << LAW_WORKS_MAX)
#define LEAST_WORKS 2

enum rule { RULE_PLAIN, RULE_CPU_TIME, RULE_KEPLER, RULE_COUNT };

static const char *const rule_names[RULE_COUNT] = {
	[RULE_PLAIN] = "plain",
	[RULE_CPU_TIME] = "CPU time",
	[RULE_KEPLER] = "Kepler 0.11",
};

/* The machine that is judged. */
struct bench {
	const struct law *law;
	struct tw_attribution *plain;
	uint64_t wrong_uj; /* by which shares missed the sum */
};

/* A set of workloads, and its runs by subset. */
struct set {
	struct work work[LAW_WORKS_MAX];
	int works;
	struct law_run run[SUBSETS];
	double energy_j[SUBSETS];
};

static void die(const struct tw_err *err)
{
	fprintf(stderr, "attribution: %s\n", err->text);
	exit(1);
}

static void tell(const struct bench *b, const char *rule, const char *kind, double value)
{
	printf("%s\t%s\t%s\t%s\t%.9g\n", b->law->name,
	       b->law->held_out ? "held-out" : "known", rule, kind, value);
}

/* ---- truth ---- */

static void run_all(const struct law *l, struct set *s)
{
	for (unsigned mask = 0; mask < 1u << s->works; mask++) {
		law_run(l, s->work, s->works, mask, TICKS, &s->run[mask]);
		s->energy_j[mask] = law_energy(l, &s->run[mask], TICKS);
	}
}

static double factorial(int n)
{
	return n < 2 ? 1 : n * factorial(n - 1);
}

/* The Shapley value of workload i, of those of `of` only. */
static double shapley(const struct set *s, unsigned of, int i)
{
	const int n = __builtin_popcount(of);
	double sum = 0;

	for (unsigned mask = 0; mask <= of; mask++) {
		const int k = __builtin_popcount(mask);

		if ((mask & ~of) == 0 && (mask >> i & 1) == 0)
			sum += factorial(k) * factorial(n - k - 1) / factorial(n) *
			       (s->energy_j[mask | 1u << i] - s->energy_j[mask]);
	}
	return sum;
}

/* ---- rules ---- */

/* What a workload used in a tick, on all packages. */
static struct law_count used_by(const struct law_run *r, int tick, int work)
{
	struct law_count sum = { 0 };

	for (int p = 0; p < LAW_PACKAGES_MAX; p++) {
		const struct law_count *c = &r->count[tick][work][p];

		sum.alone_ns += c->alone_ns;
		sum.shared_ns += c->shared_ns;
		sum.cycles += c->cycles;
		sum.instructions += c->instructions;
		sum.misses += c->misses;
	}
	return sum;
}

static double cpu_ns(const struct law_count *c)
{
	return c->alone_ns + c->shared_ns;
}

static struct tw_charge energy_of(const struct law *l, const struct law_run *r, int tick)
{
	struct tw_charge e = { .dynamic_uj = { 0 } };

	for (int p = 0; p < l->packages; p++) {
		e.dynamic_uj[TW_ZONE_PACKAGE] += (uint64_t)(r->package_j[tick][p] * 1e6);
		e.dynamic_uj[TW_ZONE_DRAM] += (uint64_t)(r->dram_j[tick][p] * 1e6);
	}
	return e;
}

static void fill_slice(struct tw_slice *to, struct tw_workload *w,
		       const struct law_count *c)
{
	*to = (struct tw_slice){ .process = w, .cgroup = w };
	to->used.cpu_ns = (uint64_t)cpu_ns(c);
	to->used.counter[TW_COUNTER_CYCLES] = (uint64_t)c->cycles;
	to->used.counter[TW_COUNTER_INSTRUCTIONS] = (uint64_t)c->instructions;
	to->used.counter[TW_COUNTER_CACHE_MISSES] = (uint64_t)c->misses;
}

/* A tick by the product's code. */
static void divide(struct bench *b, struct tw_attribution *a, const struct set *s,
		   const struct law_run *r, int tick, double *share_j)
{
	struct tw_workload w[LAW_WORKS_MAX] = { 0 };
	struct tw_slice slice[LAW_WORKS_MAX];
	const struct tw_charge energy = energy_of(b->law, r, tick), *charge;
	const uint64_t all_uj = tw_charge_sum(&energy, UINT32_MAX),
		       waiting_uj = tw_charge_sum(&tw_attribution_stats(a)->waiting,
						  UINT32_MAX);
	struct tw_err err = { 0 };
	uint64_t sum_uj = 0;
	size_t count = 0;
	int of[LAW_WORKS_MAX];

	for (int i = 0; i < s->works; i++) {
		const struct law_count c = used_by(r, tick, i);

		if (cpu_ns(&c) == 0)
			continue;
		of[count] = i;
		w[i].serial = (uint64_t)i + 1;
		fill_slice(&slice[count++], &w[i], &c);
	}
	if (tw_attribution_divide(a, slice, count, &energy, &charge, &err) < 0)
		die(&err);
	for (size_t k = 0; charge != NULL && k < count; k++) {
		const uint64_t uj = tw_charge_sum(&charge[k], UINT32_MAX);

		share_j[of[k]] += (double)uj / 1e6;
		sum_uj += uj;
	}
	sum_uj += tw_charge_sum(&tw_attribution_stats(a)->waiting, UINT32_MAX);
	b->wrong_uj += sum_uj > all_uj + waiting_uj ? sum_uj - all_uj - waiting_uj
						    : all_uj + waiting_uj - sum_uj;
}

/*
 * Scaphandre and CodeCarbon: dynamic energy by CPU time. Kepler 0.10 and later: the
 * energy times the part of the CPUs' time that is busy, by CPU time
 * (internal/monitor/node.go, process.go).
 */
static void by_cpu_time(const struct law *l, const struct set *s, const struct law_run *r,
			int tick, bool kepler, double *share_j)
{
	const struct tw_charge e = energy_of(l, r, tick);
	double energy_j = (double)tw_charge_sum(&e, UINT32_MAX) / 1e6, all_ns = 0;
	struct law_count c[LAW_WORKS_MAX];

	for (int i = 0; i < s->works; i++) {
		c[i] = used_by(r, tick, i);
		all_ns += cpu_ns(&c[i]);
	}
	if (kepler) {
		energy_j += l->packages * 1.1 * l->rest_w * r->seconds[tick];
		energy_j *= all_ns / 1e9 / (law_cpus(l) * r->seconds[tick]);
	}
	for (int i = 0; i < s->works && all_ns > 0; i++)
		share_j[i] += energy_j * cpu_ns(&c[i]) / all_ns;
}

/* What each workload of a run has by a rule. */
static void attribute(struct bench *b, enum rule rule, const struct set *s,
		      const struct law_run *r, double *share_j)
{
	memset(share_j, 0, LAW_WORKS_MAX * sizeof(*share_j));
	for (int tick = 0; tick < TICKS; tick++)
		if (rule == RULE_PLAIN)
			divide(b, b->plain, s, r, tick, share_j);
		else
			by_cpu_time(b->law, s, r, tick, rule == RULE_KEPLER, share_j);
}

/* ---- figures ---- */

static void judge(struct bench *b, const struct set *s)
{
	const unsigned all = (1u << s->works) - 1, less = all >> 1;
	double share_j[LAW_WORKS_MAX], less_j[LAW_WORKS_MAX], sum_j = 0;

	for (int i = 0; i < s->works; i++)
		sum_j += shapley(s, all, i);
	tell(b, "-", "truth", fabs(sum_j / s->energy_j[all] - 1));
	for (int rule = 0; rule < RULE_COUNT; rule++) {
		const char *name = rule_names[rule];

		attribute(b, (enum rule)rule, s, &s->run[all], share_j);
		attribute(b, (enum rule)rule, s, &s->run[less], less_j);
		for (int i = 0; i < s->works; i++) {
			const double fair_j = shapley(s, all, i);

			tell(b, name, "share", fabs(share_j[i] / fair_j - 1));
			tell(b, name, "whole",
			     fabs(share_j[i] - fair_j) / s->energy_j[all]);
			if (i < s->works - 1)
				tell(b, name, "bill",
				     fabs(less_j[i] - share_j[i] - shapley(s, less, i) +
					  fair_j) /
					     fair_j);
		}
	}
}

static void judge_law(const struct law *l, int sets)
{
	struct bench b = { .law = l };
	static struct set s;
	struct tw_err err = { 0 };
	uint64_t seed = 20;

	if (tw_attribution_open(TW_IDLE_BY_USE, &b.plain, &err) < 0)
		die(&err);
	for (int k = 0; k < sets; k++) {
		s.works = LEAST_WORKS + k % (LAW_WORKS_MAX - LEAST_WORKS + 1);
		for (int i = 0; i < s.works; i++)
			s.work[i] = law_work(l, &seed);
		run_all(l, &s);
		judge(&b, &s);
	}
	tell(&b, "-", "sum", (double)b.wrong_uj);
	tw_attribution_close(b.plain);
}

int main(int argc, char **argv)
{
	uint64_t count, sets;

	if (argc != 3 || !tw_parse_u64(argv[1], strlen(argv[1]), &count) ||
	    !tw_parse_u64(argv[2], strlen(argv[2]), &sets) || count > law_count ||
	    sets > 1000) {
		fprintf(stderr, "usage: attribution LAWS SETS\n");
		return 2;
	}
	for (size_t i = 0; i < count; i++)
		judge_law(&laws[i], (int)sets);
	return 0;
}
