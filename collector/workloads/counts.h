/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_COUNTS_H
#define TW_COLLECTOR_COUNTS_H

/*
 * Totals by process id, as a BPF program keeps them, made differences since the last
 * read. For collector/workloads/counters.c and collector/workloads/traces.c:
 *
 *	tw_counts_begin(), tw_counts_add() for each part of a total, tw_counts_tell()
 */

#include "bpf/shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_count_total;

/* All zero bytes: none yet. */
struct tw_counts {
	struct tw_count_totals {
		struct tw_count_total *at;
		size_t count, size; /* size is a power of two, or 0 */
	} now, before;              /* of this read; what was told of the last */
};

/* What the counts of a program are, in its order. */
struct tw_counts_kinds {
	enum tw_counter kind[TW_COUNTS_MAX];
	uint32_t count;
};

/* What is known of a process id. */
enum tw_whose {
	TW_WHOSE_LIVING,
	TW_WHOSE_ENDED,
	TW_WHOSE_UNKNOWN, /* what was told is not taken: it is told again */
};

/*
 * Told what a process was counted since the last read. The end of one that came and went
 * between two reads may be heard of a little after its counts, so these are told again;
 * last: not any more, and UNKNOWN counts as ENDED.
 */
typedef enum tw_whose tw_counted(void *arg, uint32_t tgid,
				 const uint64_t more[TW_COUNTER_COUNT], bool last);

int tw_counts_begin(struct tw_counts *c, struct tw_err *err);

/* Part of a total; map: it is the entry of a map from which it can be deleted. */
int tw_counts_add(struct tw_counts *c, uint32_t tgid, const struct tw_counts_of *part,
		  bool map, struct tw_err *err);

/* Tell them all. The entries in map of who lives no more are deleted. */
void tw_counts_tell(struct tw_counts *c, const struct tw_counts_kinds *kinds, int map,
		    tw_counted *counted, void *arg);

void tw_counts_release(struct tw_counts *c);

#endif /* TW_COLLECTOR_COUNTS_H */
