/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_POWER_HISTORY_H
#define TW_COLLECTOR_POWER_HISTORY_H

/*
 * The power of the last 15 minutes, for pages that are opened later: of the node by kind
 * of zone in slots of 3 s, and of the workloads with most energy in slots of 15 s. Slots
 * end at ticks, so a slot is not shorter than a tick. Two rings of fixed size hold them,
 * TW_POWER_HISTORY_BYTES in all; a tick allocates nothing.
 *
 * The power of a kind is unknown (NaN) in a slot in which a tick lacks a zone of it.
 */

#include "collector/meters/zone.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_power_history; /* opaque */
struct tw_power;
struct tw_workloads;

#define TW_POWER_HISTORY_SLOTS 300
#define TW_POWER_HISTORY_SLOT_NS UINT64_C(3000000000)
#define TW_POWER_HISTORY_TOPS 60
#define TW_POWER_HISTORY_TOP_NS UINT64_C(15000000000)
/* Workloads of a slot, those of all levels together. */
#define TW_POWER_HISTORY_TOP_COUNT 256
#define TW_POWER_HISTORY_BYTES ((size_t)280 << 10)

struct tw_power_history_slot {
	uint64_t end_ns; /* CLOCK_BOOTTIME */
	float dynamic_w[TW_ZONE_KIND_COUNT], idle_w[TW_ZONE_KIND_COUNT];
};

struct tw_power_history_workload {
	uint64_t serial; /* of struct tw_workload */
	float power_w;
};

struct tw_power_history_top {
	uint64_t end_ns;
	size_t count;
	/* In no order. All others had at most least_w; NaN: the power is unknown. */
	struct tw_power_history_workload of[TW_POWER_HISTORY_TOP_COUNT];
	float least_w;
};

/* *out is yours: tw_power_history_free(). */
int tw_power_history_new(struct tw_power_history **out, struct tw_err *err);
void tw_power_history_free(struct tw_power_history *h); /* NULL is fine */

/*
 * After each tick: now_ns is CLOCK_BOOTTIME, elapsed_ns the awake time of the tick; 0:
 * the first. workloads NULL: they could not be read.
 */
void tw_power_history_tick(struct tw_power_history *h, uint64_t now_ns,
			   uint64_t elapsed_ns, const struct tw_power *power,
			   struct tw_workloads *workloads);

/*
 * Slots are numbered from 1, since the start. The number of the last one; 0: none yet.
 */
uint64_t tw_power_history_slots(const struct tw_power_history *h);
uint64_t tw_power_history_tops(const struct tw_power_history *h);

/* A slot by its number; NULL: it is no longer kept, or not yet there. */
const struct tw_power_history_slot *
tw_power_history_slot(const struct tw_power_history *h, uint64_t number);
const struct tw_power_history_top *tw_power_history_top(const struct tw_power_history *h,
							uint64_t number);

#endif /* TW_COLLECTOR_POWER_HISTORY_H */
