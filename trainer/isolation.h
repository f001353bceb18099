/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_ISOLATION_H
#define TW_TRAINER_ISOLATION_H

/*
 * The inputs of an isolator beside its data: a response of the idle machines, a profile,
 * or the AbsPower models of a pipeline. Requests and commands say where these are.
 */

#include "isolator/isolator.h"
#include "profiler/profile.h"

struct tw_err;
struct tw_prom;

/* All pointers are borrowed. All zero bytes: no inputs. */
struct tw_isolation_config {
	struct tw_strs target_hints, bg_hints;
	const char *model_db, *abs_pipeline;   /* pipeline of the AbsPower models */
	const struct tw_prom *idle;            /* response of the idle machines; or */
	const struct tw_profile *profile;      /* profile of the machines */
	const struct tw_energy_source *source; /* of the data; NULL: all known ones */
};

/* A machine of the data. name may be NULL if there is one machine. */
struct tw_isolation_machine {
	const char *name;
	uint32_t node_type;
};

/* All zero bytes is empty. */
struct tw_isolation {
	struct tw_isolator_args args; /* without the node type */
	struct tw_profile own;        /* profile of the idle response */
	struct tw_power_model **model;
	size_t models;
};

/*
 * Load the inputs that the isolator needs. The machines of the data are looked up by name
 * in the idle response. TW_INVALID names a missing input. *out must be all zero; it is
 * yours and must stay where it is: tw_isolation_release(). config must outlive it.
 */
int tw_isolation_init(const struct tw_isolator *isolator,
		      const struct tw_isolation_config *config,
		      const struct tw_isolation_machine *machine, size_t machines,
		      struct tw_isolation *out, struct tw_err *err);

/* Arguments for data of a node type. isolation may be NULL. */
struct tw_isolator_args tw_isolation_args(const struct tw_isolation *isolation,
					  uint32_t node_type);

void tw_isolation_release(struct tw_isolation *isolation);

/*
 * Add the power and the workloads of one idle machine to a profile, as a node type: of
 * all known energy sources, and of own, a user's own one (may be NULL). one is the
 * machine's part of the response. TW_NOTFOUND if the response has no energy source and
 * feature group.
 */
int tw_profile_add_response(struct tw_profile *p, const struct tw_prom *idle,
			    const struct tw_prom *one, const struct tw_energy_source *own,
			    uint32_t node_type, struct tw_err *err);

#endif /* TW_TRAINER_ISOLATION_H */
