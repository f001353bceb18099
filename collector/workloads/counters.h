/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_COUNTERS_H
#define TW_COLLECTOR_COUNTERS_H

/*
 * Hardware counters per process (bpf/counters.bpf.c): cycles, instructions, cache misses.
 * They cost a BPF program at each context switch, and a read of the counters where the
 * process changes, so they are used only where wanted. An event or a CPU without counters
 * is left out alone. Counts are scaled while events share the hardware; each read
 * determines whether they do until the next.
 */

#include "collector/workloads/counts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_counters; /* opaque */
struct tw_err;

/*
 * Open and attach. software: count cpu-clock, task-clock and page-faults in place of
 * cycles, instructions and cache-misses, for tests and benchmarks on any machine. Free
 * *out with tw_counters_close().
 */
int tw_counters_open(bool software, struct tw_counters **out, struct tw_err *err);
void tw_counters_close(struct tw_counters *c);

/* Whether a counter is counted; false once events were lost, see tw_counters_read(). */
bool tw_counters_have(const struct tw_counters *c, enum tw_counter counter);

/*
 * Report each process's counts since the last read; a running process is counted up to
 * now. A CPU that was offline comes back without its events: the read within a second
 * after that fails with a message, counting stops, and later reads do nothing.
 */
int tw_counters_read(struct tw_counters *c, tw_counted *counted, void *arg,
		     struct tw_err *err);

/*
 * Receives what each CPU ran at an instant, by tgid (0: idle, or unknown); the sample
 * stands for ns.
 */
typedef void tw_sampled(void *arg, const uint32_t *tgid, size_t cpus, uint64_t ns);

/* CPUs of a sample; 0: nothing is sampled. */
size_t tw_counters_sampled_cpus(const struct tw_counters *c);

/* Report the samples since the last call, in order of time. */
void tw_counters_samples(struct tw_counters *c, tw_sampled *sampled, void *arg);

/*
 * Failed reads of counters, and context switches whose counts were lost because the map
 * was full.
 */
void tw_counters_stats(const struct tw_counters *c, uint64_t *failed, uint64_t *lost);

#endif /* TW_COLLECTOR_COUNTERS_H */
