/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_NVML_USERS_H
#define TW_COLLECTOR_NVML_USERS_H

/*
 * Which processes used a GPU between two readings, and how much of each other's use.
 *
 * By the driver's samples of each process: the largest of the parts of time in which
 * shaders, the encoder and the decoder were busy for it. The driver takes some 1 to 6 a
 * second; until there is a newer one, the last ones hold, but no longer than they say
 * something. Where the GPU is not sampled by process (in MIG mode), by the memory that
 * processes hold.
 */

#include "collector/meters/meter.h"
#include "collector/meters/nvml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one GPU. All zero bytes is none. */
struct tw_nvml_users {
	struct tw_zone_user *at; /* the users; one may be there several times */
	size_t count;
	bool sampled;                  /* by process; else by memory */
	struct tw_nvml_sample *sample; /* room */
	unsigned samples;              /* of it */
	unsigned long long seen_us;    /* the newest sample, as the driver counts */
	uint64_t seen_ns;              /* when it was read */
};

int tw_nvml_users_open(struct tw_nvml_users *u, const struct tw_nvml *n, tw_nvml_device d,
		       struct tw_err *err);
void tw_nvml_users_release(struct tw_nvml_users *u);

/* Who has used it since it was last read. No allocation unless there are more than ever.
 */
void tw_nvml_users_read(struct tw_nvml_users *u, const struct tw_nvml *n,
			tw_nvml_device d);

#endif /* TW_COLLECTOR_NVML_USERS_H */
