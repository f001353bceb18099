/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_NVML_USERS_H
#define TW_COLLECTOR_NVML_USERS_H

/*
 * The processes that used a GPU between two readings, with their weights.
 *
 * The weight comes from the driver's samples of each process: the largest of the shares
 * of time in which the shaders, the encoder or the decoder worked for it. The driver
 * takes 1 to 6 samples a second; the last samples hold until there are newer ones, at
 * most 1.5 s. A GPU in MIG mode has no samples of processes; there the weight is the
 * memory that a process holds.
 */

#include "collector/meters/meter.h"
#include "collector/meters/nvml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One GPU. All zero bytes: no users. */
struct tw_nvml_users {
	struct tw_zone_user *at; /* the users; a process may occur several times */
	size_t count;
	bool sampled;                  /* weights come from samples; else from memory */
	struct tw_nvml_sample *sample; /* room for samples */
	unsigned samples;              /* entries of that room */
	unsigned long long seen_us; /* time of the newest sample, by the driver's clock */
	uint64_t seen_ns;           /* when that sample was read */
};

int tw_nvml_users_open(struct tw_nvml_users *u, const struct tw_nvml *n, tw_nvml_device d,
		       struct tw_err *err);
void tw_nvml_users_release(struct tw_nvml_users *u);

/*
 * Update u->at with the users since the last call. Allocates only if there are more users
 * than ever before.
 */
void tw_nvml_users_read(struct tw_nvml_users *u, const struct tw_nvml *n,
			tw_nvml_device d);

#endif /* TW_COLLECTOR_NVML_USERS_H */
