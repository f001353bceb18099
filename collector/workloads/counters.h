/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_COUNTERS_H
#define TW_COLLECTOR_COUNTERS_H

/*
 * What the processors count for each process (bpf/counters.bpf.c). It costs a program at
 * each context switch, and reading the counters where the process changes, so it is only
 * used where there are counters and they are wanted. An event or a CPU that has none is
 * left out alone. Counts are scaled where events share the hardware, which each read
 * finds out for the next.
 */

#include "collector/workloads/counts.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_counters; /* opaque */
struct tw_err;

/* Attach. software: instead of the hardware's, cpu-clock, task-clock, page-faults (for
 * cycles, instructions, cache-misses), which every machine has: for tests and benchmarks.
 * *out is yours: tw_counters_close(). */
int tw_counters_open(bool software, struct tw_counters **out, struct tw_err *err);
void tw_counters_close(struct tw_counters *c);

/* Whether it is counted. Not any more once events were lost, see tw_counters_read(). */
bool tw_counters_have(const struct tw_counters *c, enum tw_counter counter);

/*
 * What was counted for each process since the last read, and what runs now up to now.
 * Where a CPU has come back that was off, its events are lost: that read fails, and says
 * so, a second later at the latest; from then on nothing is counted, and reads do
 * nothing.
 */
int tw_counters_read(struct tw_counters *c, tw_counted *counted, void *arg,
		     struct tw_err *err);

/* Reads of counters that failed, and processes whose counts found no room. */
void tw_counters_stats(const struct tw_counters *c, uint64_t *failed, uint64_t *lost);

#endif /* TW_COLLECTOR_COUNTERS_H */
