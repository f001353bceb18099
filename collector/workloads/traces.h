/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_TRACES_H
#define TW_COLLECTOR_TRACES_H

/*
 * What the kernel does for each process (bpf/traces.bpf.c): pages of its page cache that
 * were there to read or were written, and softirqs that began on a CPU which the process
 * had. Each such event costs a little, so they are counted only where they are asked for.
 * Softirqs are mostly other processes' doing: they are told, and nothing is attributed by
 * them.
 */

#include "collector/workloads/counts.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_traces; /* opaque */

enum tw_trace { TW_TRACE_PAGE_CACHE, TW_TRACE_SOFTIRQS, TW_TRACE_COUNT };

/* "page-cache", "softirqs", NULL. */
extern const char *const tw_trace_names[];

/* Of nothing yet. *out is yours: tw_traces_close(). */
int tw_traces_open(struct tw_traces **out, struct tw_err *err);
void tw_traces_close(struct tw_traces *t);

/* Attach. Without an effect if the kernel does not let all of it be seen. */
int tw_traces_add(struct tw_traces *t, enum tw_trace trace, struct tw_err *err);

/* Whether it is counted. */
bool tw_traces_have(const struct tw_traces *t, enum tw_counter counter);

/* What was counted for each process since the last read. */
int tw_traces_read(struct tw_traces *t, tw_counted *counted, void *arg,
		   struct tw_err *err);

/* Events of processes that found no room. */
uint64_t tw_traces_lost(const struct tw_traces *t);

#endif /* TW_COLLECTOR_TRACES_H */
