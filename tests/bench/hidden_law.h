/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TESTS_HIDDEN_LAW_H
#define TW_TESTS_HIDDEN_LAW_H

/*
 * A simulated machine whose law of power the product does not know: packages, cores, SMT
 * siblings, frequency by active cores, instructions, memory. Workloads do fixed work on
 * fixed CPUs; their time follows from who else runs. For tests/bench/attribution.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAW_PACKAGES_MAX 2
#define LAW_CPUS_MAX 32
#define LAW_WORKS_MAX 5
#define LAW_THREADS_MAX 4
#define LAW_TICKS_MAX 8
#define LAW_LOOKS_MAX 8192

/* Powers are above those of a machine at rest. */
struct law {
	char name[48];
	int packages, cores, siblings; /* cores of a package, threads of a core */
	double rest_w;                 /* a package at rest; its dram takes a tenth */
	double awake_w;                /* a package while something runs on it */
	double core_w;                 /* a busy core at frequency 1 */
	double pair;              /* two busy siblings: times the mean of both alone */
	double pair_speed;        /* speed of each of them */
	double turbo, turbo_step; /* frequency of one core; less for each other one */
	double exponent;          /* power of a core by frequency */
	double stall;             /* power of a core that waits for memory: part */
	double instruction_nj, miss_nj, dram_nj; /* miss_nj: in the package */
	double remote_nj; /* more in each of both packages, if memory is on the other */
	double vector; /* power of a core with wide vectors, times; 0: no work has such */
	int small;     /* the last cores of a package: slower, of less power */
	double small_power, small_speed, small_clock; /* of a small core, times */
};

/* A workload. Requests arrive for `load` of a CPU by thread, on `duty` of each period. */
struct work {
	int threads, cpu[LAW_THREADS_MAX];
	int other[LAW_THREADS_MAX]; /* CPU of each second period: it moves, or not */
	int node;                   /* the package that its memory is at; -1: local */
	double load, duty, period_s, phase_s;
	double ipc, misses; /* of an instruction */
	double vector;      /* power of a core, times */
};

/* What the kernel counts of a workload in a tick. */
struct law_count {
	double cpu_ns;
	double cycles, instructions, misses;
	/* Hidden: its own energy, and an equal part of a package awake at each instant.
	 */
	double own_j;
};

/* The workload that each CPU ran at a time by chance; -1: none. */
struct law_look {
	int tick;
	double ns; /* since the look before */
	signed char work[LAW_CPUS_MAX];
};

struct law_run {
	struct law_count count[LAW_TICKS_MAX][LAW_WORKS_MAX];
	double package_j[LAW_TICKS_MAX][LAW_PACKAGES_MAX]; /* above rest */
	double dram_j[LAW_TICKS_MAX][LAW_PACKAGES_MAX];
	double seconds[LAW_TICKS_MAX]; /* the last one lasts until all work is done */
	struct law_look look[LAW_LOOKS_MAX];
	int looks;
};

extern const struct law laws[];
extern const size_t law_count;

int law_cpus(const struct law *l);
int law_package(const struct law *l, int cpu);
bool law_small(const struct law *l, int cpu);

/* A number from 0 to below n, by a seed that changes. */
uint64_t law_chance(uint64_t *seed, uint64_t n);

/* A law by chance, within what was published of real machines. */
struct law law_by_chance(uint64_t *seed, int number);

/* A workload by chance. */
struct work law_work(const struct law *l, uint64_t *seed);

/* Run the workloads whose bits are set in mask, in quanta of 1 ms by `fine`. */
void law_run(const struct law *l, const struct work *w, int works, unsigned mask,
	     int ticks, int fine, struct law_run *out);

/* The energy of a run above rest, in J. */
double law_energy(const struct law *l, const struct law_run *r, int ticks);

#endif /* TW_TESTS_HIDDEN_LAW_H */
