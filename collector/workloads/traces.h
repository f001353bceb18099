/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_TRACES_H
#define TW_COLLECTOR_TRACES_H

/*
 * Kernel events per process (bpf/traces.bpf.c): page cache hits (pages that were present
 * to read, and pages written), and softirqs that began on the process's CPU. Each event
 * costs a little, so they are counted only where requested. A softirq is mostly the work
 * of another process: softirqs are reported, and no energy is attributed by them.
 */

#include "collector/workloads/counts.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_traces; /* opaque */

enum tw_trace { TW_TRACE_PAGE_CACHE, TW_TRACE_SOFTIRQS, TW_TRACE_COUNT };

/* "page-cache", "softirqs", NULL. */
extern const char *const tw_trace_names[];

/* An object without traces. Free *out with tw_traces_close(). */
int tw_traces_open(struct tw_traces **out, struct tw_err *err);
void tw_traces_close(struct tw_traces *t);

/* Attach a trace. Has no effect if the kernel lacks one of its hooks. */
int tw_traces_add(struct tw_traces *t, enum tw_trace trace, struct tw_err *err);

/* Whether a counter is counted. */
bool tw_traces_have(const struct tw_traces *t, enum tw_counter counter);

/* Report each process's counts since the last read. */
int tw_traces_read(struct tw_traces *t, tw_counted *counted, void *arg,
		   struct tw_err *err);

/* Events that were not counted because the map was full. */
uint64_t tw_traces_lost(const struct tw_traces *t);

#endif /* TW_COLLECTOR_TRACES_H */
