/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_ISOLATION_H
#define TW_TRAINER_ISOLATION_H

/*
 * What an isolator is told beside its data, got from where requests and commands say it
 * is: a response of the machines at rest, a profile, a pipeline of the model database.
 */

#include "isolator/isolator.h"
#include "profiler/profile.h"

struct tw_err;
struct tw_machines;
struct tw_prom;

/* Borrowed; all zero bytes say nothing. */
struct tw_isolation_config {
	struct tw_strs target_hints, bg_hints;
	const char *model_db, *abs_pipeline; /* whose AbsPower models; both or neither */
	const struct tw_prom *idle;          /* machines at rest; or */
	const struct tw_profile *profile;    /* what is known of them */
};

/* A machine of the data: its name, NULL where there is one and none is told. */
struct tw_isolation_machine {
	const char *name;
	uint32_t node_type;
};

/* All zero bytes is empty. */
struct tw_isolation {
	struct tw_isolator_args args; /* but for the node type */
	struct tw_profile own;        /* of config's idle response */
	struct tw_power_model **model;
	size_t models;
};

/*
 * Get what the isolator needs. The machines of the data are found in the idle response
 * by their names. *out must be all
 * zero; it is yours, and config must outlive it. TW_INVALID names what is missing.
 */
int tw_isolation_init(const struct tw_isolator *isolator,
		      const struct tw_isolation_config *config,
		      const struct tw_isolation_machine *machine, size_t machines,
		      struct tw_isolation *out, struct tw_err *err);

/* For data of a node type; isolation may be NULL. */
struct tw_isolator_args tw_isolation_args(const struct tw_isolation *isolation,
					  uint32_t node_type);

void tw_isolation_release(struct tw_isolation *isolation);

/*
 * Add the power and the workloads of one idle machine to a profile, as a node type.
 * machines are those of the response (tw_machines_find()). name is one of them, or NULL
 * if there is one only. TW_NOTFOUND if the response has no energy source and feature
 * group.
 */
int tw_profile_add_response(struct tw_profile *p, const struct tw_prom *idle,
			    const struct tw_machines *machines, const char *name,
			    uint32_t node_type, struct tw_err *err);

#endif /* TW_TRAINER_ISOLATION_H */
