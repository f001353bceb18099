/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ESTIMATES_PARTS_H
#define TW_COLLECTOR_ESTIMATES_PARTS_H

/*
 * Inside of estimates.h: opened by estimates.c, ticked by estimates_tick.c.
 */

#include "collector/power/estimate_slot.h"
#include "collector/power/estimates.h"
#include "collector/power/features.h"
#include "collector/power/model_keeper.h"
#include "lib/program/log.h"

struct tw_asker;

/* Of which slot and component a zone is. */
struct tw_estimated_zone {
	size_t slot;
	enum tw_component component;
};

struct tw_estimates {
	struct tw_estimates_config c;
	const struct tw_node *node;
	struct tw_features features;
	uint32_t cores; /* 0: unknown */
	bool hide_idle;
	struct tw_slot slot[TW_ESTIMATES_MAX];
	size_t slots;
	size_t wished[TW_KEEPER_SOURCES_MAX]; /* of the keeper's sources: which slot */
	int keeper_fd;

	struct tw_asker *asker; /* NULL: none is asked */
	struct tw_estimator_counts asked;
	unsigned late; /* answers in a row */
	uint64_t pause_until_ms;
	struct tw_log_limit log;

	struct tw_zone zone[TW_ESTIMATES_MAX * TW_COMPONENT_COUNT];
	struct tw_estimated_zone of[TW_ESTIMATES_MAX * TW_COMPONENT_COUNT];
	size_t zones;
};

#endif /* TW_COLLECTOR_ESTIMATES_PARTS_H */
