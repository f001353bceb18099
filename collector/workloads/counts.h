/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_COUNTS_H
#define TW_COLLECTOR_COUNTS_H

/*
 * Differences between reads of the per-process totals that a BPF program keeps. For
 * collector/workloads/counters.c and collector/workloads/traces.c:
 *
 *	tw_counts_begin(), tw_counts_add() for each part of a total, tw_counts_report()
 */

#include "bpf/shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_count_total;

/* All zero bytes: nothing was read yet. */
struct tw_counts {
	struct tw_count_totals {
		struct tw_count_total *at;
		size_t count, size; /* size: a power of two, or 0 */
	} now, before; /* of this read; of the last read, with what was reported */
};

/* The counters that a program's counts stand for, in its order. */
struct tw_counts_kinds {
	enum tw_counter kind[TW_COUNTS_MAX];
	uint32_t count;
};

/* State of a process, as the receiver of counts knows it. */
enum tw_process_status {
	TW_PROCESS_LIVING,
	TW_PROCESS_ENDED,
	TW_PROCESS_UNKNOWN, /* the counts were not taken: report them again */
};

/*
 * Receives a process's counts since the last read. The exit of a short-lived process may
 * be reported after its counts, so counts of an unknown process are reported again at the
 * next reads; `last`: not again, and UNKNOWN counts as ENDED.
 */
typedef enum tw_process_status
tw_counted(void *arg, uint32_t tgid, const uint64_t more[TW_COUNTER_COUNT], bool last);

int tw_counts_begin(struct tw_counts *c, struct tw_err *err);

/*
 * Add part of a total. map: the part is an entry of the map, from which it can be
 * deleted.
 */
int tw_counts_add(struct tw_counts *c, uint32_t tgid, const struct tw_counts_of *part,
		  bool map, struct tw_err *err);

/* Report all differences. Deletes the entries of ended processes from map. */
void tw_counts_report(struct tw_counts *c, const struct tw_counts_kinds *kinds, int map,
		      tw_counted *counted, void *arg);

void tw_counts_release(struct tw_counts *c);

#endif /* TW_COLLECTOR_COUNTS_H */
