/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-attribution: how far rules of attribution are from fair shares.
 *
 *	attribution KNOWN MORE SETS DAY
 *	attribution feed LAW SETS
 *
 * Runs workloads on the simulated machines of hidden_law.h: all subsets of each set, so
 * that the Shapley value of each workload is known by experiment. Divides the energy of
 * the run of all by the product's own code and by other tools' rules. KNOWN is how many
 * of the laws of hidden_law.c are used, MORE how many laws by chance of each of two
 * seeds, DAY how many sets the rule "ours, a day" learns from. Prints a line for each
 * figure: law, how it was chosen ("known" or a name of chances[]), rule, kind of figure,
 * value. Kinds:
 *
 *	share	the error of a workload's energy, part of its Shapley value
 *	whole	the same, part of the energy of all
 *	bill	one neighbour less: the error of how its energy changes, part of its value
 *	sum	microjoules that the shares do not add up to
 *	truth	the same of the Shapley values, part of the energy of all
 *	fine	how far a Shapley value is from that of shorter quanta, part of it
 *	cost	milliseconds of a division among 10,000 slices
 *
 * feed prints the runs of a law of hidden_law.c, for the programs of other tools.
 */
#include "collector/power/attribute.h"
#include "collector/system/roots.h"
#include "collector/workloads/schedule.h"
#include "collector/workloads/workload.h"
#include "lib/core/array.h"
#include "lib/core/clock.h"
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
#define FINE 4       /* quanta of 0.25 ms */
#define FINE_EVERY 7 /* sets; in step with no number of workloads */
#define LESSONS 200  /* other sets, from which our rule learns first: 20 minutes */

enum rule {
	RULE_OURS,
	RULE_DAY,
	RULE_PLAIN,
	RULE_CPU_TIME,
	RULE_KEPLER,
	RULE_ONE_RUN,
	RULE_COUNT
};

static const char *const rule_names[RULE_COUNT] = {
	[RULE_OURS] = "ours",          [RULE_DAY] = "ours, a day",
	[RULE_PLAIN] = "plain",        [RULE_CPU_TIME] = "CPU time",
	[RULE_KEPLER] = "Kepler 0.11", [RULE_ONE_RUN] = "one run",
};

/*
 * Laws by chance. The second seed was drawn for the second version of the rule.
 * undelayed: the first laws again, but SMT siblings do not slow each other.
 */
static const struct {
	const char *seen;
	uint64_t seed;
	bool undelayed;
} chances[] = { { "held-out", 271828, false },
		{ "fresh", 314159, false },
		{ "undelayed", 271828, true } };

/* The machine that is judged. */
struct bench {
	const struct law *law;
	const char *seen;
	struct tw_attribution *rule[RULE_COUNT]; /* NULL: not of our code */
	struct tw_schedule schedule;
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
	printf("%s\t%s\t%s\t%s\t%.9g\n", b->law->name, b->seen, rule, kind, value);
}

/* ---- truth ---- */

static void run_all(const struct law *l, struct set *s, int fine)
{
	for (unsigned mask = 0; mask < 1u << s->works; mask++) {
		law_run(l, s->work, s->works, mask, TICKS, fine, &s->run[mask]);
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
	to->used.cpu_ns = (uint64_t)c->cpu_ns;
	to->used.counter[TW_COUNTER_CYCLES] = (uint64_t)c->cycles;
	to->used.counter[TW_COUNTER_INSTRUCTIONS] = (uint64_t)c->instructions;
	to->used.counter[TW_COUNTER_CACHE_MISSES] = (uint64_t)c->misses;
}

/* The samples of a tick, as the kernel's are; at: the slice of each workload. */
static void sample(struct bench *b, const struct law_run *r, int tick,
		   const struct tw_slice *slice, size_t count, const uint32_t *at)
{
	uint32_t runs[LAW_CPUS_MAX];

	tw_schedule_begin(&b->schedule, count);
	for (int k = 0; k < r->looks; k++) {
		const struct law_look *l = &r->look[k];

		for (int c = 0; c < law_cpus(b->law); c++)
			runs[c] = l->work[c] < 0 ? TW_SCHEDULE_IDLE : at[l->work[c]];
		if (l->tick == tick)
			tw_schedule_take(&b->schedule, slice, runs, (uint64_t)l->ns);
	}
	tw_schedule_end(&b->schedule, slice);
}

static void fill_energy(struct tw_package_energy *to, const struct law_run *r, int tick,
			int package)
{
	*to = (struct tw_package_energy){ .dynamic_uj = { 0 } };
	to->dynamic_uj[TW_ZONE_PACKAGE] = (uint64_t)(r->package_j[tick][package] * 1e6);
	to->dynamic_uj[TW_ZONE_DRAM] = (uint64_t)(r->dram_j[tick][package] * 1e6);
	to->whole[TW_ZONE_PACKAGE] = to->whole[TW_ZONE_DRAM] = true;
	to->idle_known[TW_ZONE_PACKAGE] = to->idle_known[TW_ZONE_DRAM] = true;
}

/* A tick by the product's code. */
static void divide(struct bench *b, enum rule rule, const struct set *s,
		   const struct law_run *r, int tick, double *share_j)
{
	struct tw_attribution *a = b->rule[rule];
	struct tw_workload w[LAW_WORKS_MAX] = { 0 };
	struct tw_slice slice[LAW_WORKS_MAX];
	struct tw_package_energy package[LAW_PACKAGES_MAX];
	const struct tw_charge energy = energy_of(b->law, r, tick), *charge;
	struct tw_dividend d = { .energy = &energy,
				 .over_ns = (uint64_t)(r->seconds[tick] * 1e9),
				 .slice = slice };
	const uint64_t all_uj = tw_charge_sum(&energy, UINT32_MAX),
		       waiting_uj = tw_charge_sum(&tw_attribution_stats(a)->waiting,
						  UINT32_MAX);
	struct tw_err err = { 0 };
	uint64_t sum_uj = 0;
	uint32_t at[LAW_WORKS_MAX];
	int of[LAW_WORKS_MAX];

	for (int i = 0; i < s->works; i++) {
		const struct law_count *c = &r->count[tick][i];

		at[i] = TW_SCHEDULE_IDLE;
		if (c->cpu_ns == 0)
			continue;
		of[d.count] = i;
		at[i] = (uint32_t)d.count;
		w[i].serial = (uint64_t)i + 1;
		fill_slice(&slice[d.count++], &w[i], c);
	}
	for (int p = 0; p < b->law->packages; p++)
		fill_energy(&package[p], r, tick, p);
	if (rule != RULE_PLAIN) {
		sample(b, r, tick, slice, d.count, at);
		d.packages = b->schedule.packages;
		d.use = b->schedule.ns > 0 ? b->schedule.use : NULL;
		d.package = package;
	}
	if (tw_attribution_divide(a, &d, &charge, &err) < 0)
		die(&err);
	for (size_t k = 0; charge != NULL && k < d.count; k++) {
		const uint64_t uj = tw_charge_sum(&charge[k], UINT32_MAX);

		share_j[of[k]] += (double)uj / 1e6;
		sum_uj += uj;
	}
	sum_uj += tw_charge_sum(&tw_attribution_stats(a)->waiting, UINT32_MAX);
	b->wrong_uj += sum_uj > all_uj + waiting_uj ? sum_uj - all_uj - waiting_uj
						    : all_uj + waiting_uj - sum_uj;
}

static double busy_s(const struct set *s, const struct law_run *r, int tick)
{
	double ns = 0;

	for (int i = 0; i < s->works; i++)
		ns += r->count[tick][i].cpu_ns;
	return ns / 1e9;
}

/* Energy of the machine, including its power at rest. */
static double metered_j(const struct law *l, const struct law_run *r, int tick)
{
	const struct tw_charge e = energy_of(l, r, tick);

	return (double)tw_charge_sum(&e, UINT32_MAX) / 1e6 +
	       l->packages * 1.1 * l->rest_w * r->seconds[tick];
}

/*
 * Scaphandre and CodeCarbon: dynamic energy by CPU time. Kepler 0.10 and later: all
 * energy times the busy part of the CPUs' time, by CPU time. It takes the busy part of
 * the tick before (internal/monitor/monitor.go: calculatePower() refreshes it after its
 * use); here the first tick follows the last of the same run.
 */
static void by_cpu_time(const struct law *l, const struct set *s, const struct law_run *r,
			int tick, bool kepler, double *share_j)
{
	const struct tw_charge e = energy_of(l, r, tick);
	const int before = (tick + TICKS - 1) % TICKS;
	const double all_s = busy_s(s, r, tick);
	double energy_j = (double)tw_charge_sum(&e, UINT32_MAX) / 1e6;

	if (kepler)
		energy_j = metered_j(l, r, tick) * busy_s(s, r, before) /
			   (law_cpus(l) * r->seconds[before]);
	for (int i = 0; i < s->works && all_s > 0; i++)
		share_j[i] += energy_j * r->count[tick][i].cpu_ns / 1e9 / all_s;
}

/*
 * A yardstick: it knows the law and sees each instant of the run of all, but no other
 * run.
 */
static void by_one_run(const struct set *s, const struct law_run *r, int tick,
		       double *share_j)
{
	for (int i = 0; i < s->works; i++)
		share_j[i] += r->count[tick][i].own_j;
}

/* What each workload of a run has by a rule. */
static void attribute(struct bench *b, enum rule rule, const struct set *s,
		      const struct law_run *r, double *share_j)
{
	memset(share_j, 0, LAW_WORKS_MAX * sizeof(*share_j));
	for (int tick = 0; tick < TICKS; tick++)
		if (b->rule[rule] != NULL)
			divide(b, rule, s, r, tick, share_j);
		else if (rule == RULE_ONE_RUN)
			by_one_run(s, r, tick, share_j);
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

/* The same work in shorter quanta: what the truth owes to the simulation. */
static void judge_truth(const struct bench *b, const struct set *s)
{
	static struct set fine;

	fine.works = s->works;
	memcpy(fine.work, s->work, sizeof(fine.work));
	run_all(b->law, &fine, FINE);
	for (int i = 0; i < s->works; i++)
		tell(b, "-", "fine",
		     fabs(shapley(s, (1u << s->works) - 1, i) /
				  shapley(&fine, (1u << s->works) - 1, i) -
			  1));
}

static void by_chance(const struct law *l, struct set *s, int works, uint64_t *seed)
{
	s->works = works;
	for (int i = 0; i < works; i++)
		s->work[i] = law_work(l, seed);
}

/* The machine's own description, as the kernel tells it. */
static void open_schedule(struct bench *b)
{
	struct tw_schedule *s = &b->schedule;
	const int siblings = b->law->siblings;

	s->cpus = (size_t)law_cpus(b->law);
	s->cpu = calloc(s->cpus, sizeof(*s->cpu));
	s->sharer = calloc(s->cpus, sizeof(*s->sharer));
	s->sharer_of = calloc(s->cpus, sizeof(*s->sharer_of));
	s->packages = (size_t)b->law->packages;
	for (int c = 0; c < law_cpus(b->law); c++)
		s->cpu[c] = (struct tw_schedule_cpu){
			.package = (uint16_t)law_package(b->law, c),
			.sibling = (uint16_t)(siblings == 2 ? c ^ 1 : c),
			.known = true,
			.small = law_small(b->law, c)
		};
}

/* Let a rule learn from sets that it is not judged on. */
static void teach(struct bench *b, enum rule rule, int lessons, uint64_t *seed)
{
	static struct set s;

	for (int k = 0; k < lessons; k++) {
		double ignored[LAW_WORKS_MAX];

		by_chance(b->law, &s, 1 + k % LAW_WORKS_MAX, seed);
		law_run(b->law, s.work, s.works, (1u << s.works) - 1, TICKS, 1,
			&s.run[0]);
		attribute(b, rule, &s, &s.run[0], ignored);
	}
}

static void judge_law(const struct law *l, const char *seen, int sets, int day)
{
	struct bench b = { .law = l, .seen = seen };
	static struct set s;
	struct tw_err err = { 0 };
	uint64_t seed = 20, day_seed = 21;

	for (int rule = 0; rule <= RULE_PLAIN; rule++)
		if (tw_attribution_open(TW_IDLE_BY_USE, &b.rule[rule], &err) < 0)
			die(&err);
	open_schedule(&b);
	teach(&b, RULE_OURS, LESSONS, &seed);
	teach(&b, RULE_DAY, day, &day_seed);
	for (int k = 0; k < sets; k++) {
		by_chance(l, &s, LEAST_WORKS + k % (LAW_WORKS_MAX - LEAST_WORKS + 1),
			  &seed);
		run_all(l, &s, 1);
		judge(&b, &s);
		if (k % FINE_EVERY == 0)
			judge_truth(&b, &s);
	}
	tell(&b, "-", "sum", (double)b.wrong_uj);
	for (int rule = 0; rule <= RULE_PLAIN; rule++)
		tw_attribution_close(b.rule[rule]);
	tw_schedule_close(&b.schedule);
}

/* ---- other tools' own programs ---- */

static void tell_values(const char *what, int set, const double *value, int count)
{
	printf("%s\t%d", what, set);
	for (int i = 0; i < count; i++)
		printf("\t%.9g", value[i]);
	printf("\n");
}

/*
 * Of each set a line for each tick: seconds, number of CPUs, J of the meter, CPU seconds
 * of each workload. Then its J by Kepler's rule, and the fair ones.
 */
static void feed(const struct law *l, int sets)
{
	struct bench b = { .law = l };
	static struct set s;
	uint64_t seed = 20;

	for (int k = 0; k < sets; k++) {
		const unsigned all = (1u << (2 + k % (LAW_WORKS_MAX - 1))) - 1;
		double value[3 + LAW_WORKS_MAX];

		by_chance(l, &s, __builtin_popcount(all), &seed);
		run_all(l, &s, 1);
		for (int tick = 0; tick < TICKS; tick++) {
			value[0] = s.run[all].seconds[tick];
			value[1] = law_cpus(l);
			value[2] = metered_j(l, &s.run[all], tick);
			for (int i = 0; i < s.works; i++)
				value[3 + i] = s.run[all].count[tick][i].cpu_ns / 1e9;
			tell_values("tick", k, value, 3 + s.works);
		}
		attribute(&b, RULE_KEPLER, &s, &s.run[all], value);
		tell_values("rule", k, value, s.works);
		for (int i = 0; i < s.works; i++)
			value[i] = shapley(&s, all, i);
		tell_values("fair", k, value, s.works);
	}
}

/* ---- cost ---- */

#define MANY 10000
#define COST_TICKS 11

/*
 * The shortest of some ticks in which this many processes, a group each, use two
 * packages.
 */
static double many_ms(void)
{
	static struct tw_workload group[MANY];
	static struct tw_slice slice[MANY];
	static struct tw_package_use use[2 * MANY];
	struct tw_package_energy package[2] = { 0 };
	struct tw_charge energy = { .dynamic_uj = { 0 } };
	struct tw_dividend d = { .energy = &energy,
				 .over_ns = 1000000000,
				 .slice = slice,
				 .count = MANY,
				 .packages = 2,
				 .use = use,
				 .package = package };
	struct tw_attribution *a;
	const struct tw_charge *charge;
	struct tw_err err = { 0 };
	double least_ms = INFINITY;

	for (int i = 0; i < MANY; i++)
		slice[i] = (struct tw_slice){ .used = { .cpu_ns = 2000 + (uint64_t)i },
					      .cgroup = &group[i] };
	for (int i = 0; i < 2 * MANY; i++)
		use[i] = (struct tw_package_use){ .alone_ns = 1000 + (uint64_t)i,
						  .shared_ns = 1000,
						  .awake_ns = 100,
						  .cycles = 3000,
						  .instructions = 5000,
						  .misses = 10 };
	for (int kind = TW_ZONE_PACKAGE; kind <= TW_ZONE_DRAM; kind++) {
		energy.dynamic_uj[kind] = 100000000;
		for (int p = 0; p < 2; p++) {
			package[p].dynamic_uj[kind] = 50000000;
			package[p].whole[kind] = true;
		}
	}
	if (tw_attribution_open(TW_IDLE_BY_USE, &a, &err) < 0)
		die(&err);
	for (int tick = 0; tick < COST_TICKS; tick++) {
		const uint64_t start_ns = tw_now_ns();

		if (tw_attribution_divide(a, &d, &charge, &err) < 0)
			die(&err);
		least_ms = fmin(least_ms, (double)(tw_now_ns() - start_ns) / 1e6);
	}
	tw_attribution_close(a);
	return least_ms;
}

static bool read_number(const char *text, uint64_t max, uint64_t *out)
{
	return tw_parse_u64(text, strlen(text), out) && *out <= max;
}

int main(int argc, char **argv)
{
	uint64_t known, more, sets, day;

	if (argc == 4 && strcmp(argv[1], "feed") == 0 &&
	    read_number(argv[2], law_count - 1, &known) &&
	    read_number(argv[3], 1000, &sets)) {
		feed(&laws[known], (int)sets);
		return 0;
	}
	if (argc != 5 || !read_number(argv[1], law_count, &known) ||
	    !read_number(argv[2], 100, &more) || !read_number(argv[3], 1000, &sets) ||
	    !read_number(argv[4], 100000, &day)) {
		fprintf(stderr, "usage: attribution KNOWN MORE SETS DAY\n"
				"       attribution feed LAW SETS\n");
		return 2;
	}
	for (size_t i = 0; i < known; i++)
		judge_law(&laws[i], "known", (int)sets, (int)day);
	for (size_t k = 0; k < TW_COUNT(chances); k++) {
		uint64_t seed = chances[k].seed;

		for (uint64_t i = 0; i < more; i++) {
			struct law l = law_by_chance(&seed, (int)i + 1);

			l.pair_speed = chances[k].undelayed ? 1 : l.pair_speed;
			judge_law(&l, chances[k].seen, (int)sets, (int)day);
		}
	}
	printf("-\t-\t-\tcost\t%.3f\n", many_ms());
	return 0;
}
