/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_USAGE_H
#define TW_COLLECTOR_USAGE_H

/*
 * Usage of a workload: the vector by which energy is attributed. All zero bytes: nothing
 * used. Values only grow.
 */

#include "bpf/shared.h"

#include <stdint.h>

struct tw_usage {
	uint64_t cpu_ns;
	uint64_t counter[TW_COUNTER_COUNT]; /* enum tw_counter */
};

/* to += more. */
void tw_usage_add(struct tw_usage *to, const struct tw_usage *more);

/* Name in options and labels: "cycles", "instructions", ... */
const char *tw_counter_name(enum tw_counter c);

#endif /* TW_COLLECTOR_USAGE_H */
