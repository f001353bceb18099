/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_SCHEDULE_H
#define TW_COLLECTOR_SCHEDULE_H

/*
 * Where workloads ran, and beside whom: from samples of what each CPU ran at an instant,
 * some hundred a second. The CPU time and the counts of a slice are exact; samples divide
 * them among packages, and into time with a busy and with an idle SMT sibling. All that
 * samples say of a slice is scaled to its exact CPU time, which takes out most of their
 * noise.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_roots;
struct tw_slice;
struct tw_workload;

/* Machines with more packages are not told apart. */
#define TW_SCHEDULE_PACKAGES 16

/* The usage of a slice on a package in a tick. All zero bytes: it did not run there. */
struct tw_package_use {
	uint64_t alone_ns, shared_ns; /* while the core's other thread rested, or ran */
	uint64_t small_ns;            /* on small cores of a hybrid processor */
	/*
	 * Its share of the time in which anything ran on the package: at each instant, an
	 * equal part for each container or cgroup that runs.
	 */
	uint64_t awake_ns;
	uint64_t cycles, instructions, misses;
};

/* The CPU time on all kinds of cores. */
uint64_t tw_package_use_ns(const struct tw_package_use *u);

/* All zero bytes: no CPU is known, nothing is sampled. */
struct tw_schedule {
	struct tw_schedule_cpu {
		uint16_t package; /* place in `package` */
		uint16_t sibling; /* the core's other thread; its own number: none */
		bool known;
		bool small; /* an efficient core, beside faster ones */
	} * cpu;
	size_t cpus;
	int package[TW_SCHEDULE_PACKAGES]; /* physical numbers, as struct tw_zone has them
					    */
	size_t packages;
	size_t cpus_of[TW_SCHEDULE_PACKAGES];
	struct tw_package_use all[TW_SCHEDULE_PACKAGES]; /* samples of this tick */
	struct tw_package_use *use; /* use[slice * packages + package], of this tick */
	size_t slices, size;
	/*
	 * A sample: the workloads that run on a package, the number of their CPUs, and
	 * the workload of each CPU.
	 */
	struct tw_schedule_sharer {
		const struct tw_workload *who;
		uint64_t cpus;
	} * sharer;
	uint32_t *sharer_of;
	uint64_t ns; /* time of this tick that samples stand for */
};

/*
 * Read which CPUs a package and a core have from roots->sys. Offline CPUs stay unknown.
 * Fails where a machine has more packages than TW_SCHEDULE_PACKAGES.
 */
int tw_schedule_open(struct tw_schedule *s, const struct tw_roots *roots, size_t cpus,
		     struct tw_err *err);
void tw_schedule_close(struct tw_schedule *s);

/* Begin a tick with this many slices. Without memory nothing is sampled. */
void tw_schedule_begin(struct tw_schedule *s, size_t slices);

#define TW_SCHEDULE_IDLE UINT32_MAX

/* Take a sample that stands for ns: the index of the slice that each CPU ran, or IDLE. */
void tw_schedule_take(struct tw_schedule *s, const struct tw_slice *slice,
		      const uint32_t *runs, uint64_t ns);

/* Divide what the slices used: s->use is valid if s->ns is not 0. */
void tw_schedule_end(struct tw_schedule *s, const struct tw_slice *slice);

#endif /* TW_COLLECTOR_SCHEDULE_H */
