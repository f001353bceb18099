/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_RULES_H
#define TW_ONLINE_RULES_H

/*
 * The settings of online training.
 */

#include "lib/core/strs.h"
#include "trainer/online/window.h"

#include <stddef.h>
#include <stdint.h>

struct tw_isolator;
struct tw_signer;
struct tw_store;
struct tw_trainings;

/* All is borrowed. */
struct tw_online_rules {
	const char *model_db;
	const char *name;               /* pipelines are <name>-<machine> */
	const char *dir;                /* for temporary files */
	const struct tw_signer *signer; /* or NULL */
	const struct tw_isolator *isolator;
	struct tw_strs abs_trainers, dyn_trainers;
	struct tw_window_limits limits;
	size_t rows_min;      /* new rows before a training; a quarter of it in a drift */
	double margin;        /* 0.05: errors must be smaller by 5 % */
	uint64_t rollback_ms; /* roll back after so long with a larger live error */
	struct tw_trainings *trainings;
	struct tw_store *store;
};

#endif /* TW_ONLINE_RULES_H */
