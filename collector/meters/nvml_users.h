/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_NVML_USERS_H
#define TW_COLLECTOR_NVML_USERS_H

/*
 * The processes that used a GPU of NVIDIA between two readings.
 *
 * A GPU without MIG: by the driver's samples. Several times a second (every 200 ms on an
 * H200) the driver notes one process that works, and for how much of that time anything
 * worked. An answer has the mean of each process over all samples since the last one, and
 * nothing of processes that have ended; so samples are read between two ticks, too. The
 * memory use in a sample is that of the whole GPU, not of the process.
 *
 * MPS: the driver's samples are the server's. Its clients have equal parts.
 *
 * MIG: by the activity of each instance (GPM, since Hopper), times its size. Before
 * Hopper activity is unknown: an instance with processes counts as busy. Processes of an
 * instance have equal parts.
 *
 * Processes that hold a GPU without using it keep it awake: they are users of 1 ns. So
 * are all that hold it if the driver does not sample.
 */

#include "collector/meters/meter.h"
#include "collector/meters/nvml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Processes of one list. */
#define TW_NVML_HOLDERS 512

/* Ids of GPU instances are below it. */
#define TW_NVML_INSTANCES 16

/* All zero bytes: no users. */
struct tw_nvml_users {
	const char *proc; /* where the machine's /proc is; NULL: no clients of MPS */
	struct tw_zone_user *at; /* the users since the last reading */
	size_t count, room;
	bool done;                     /* they were read: the next use begins anew */
	bool divided;                  /* it is in MIG mode */
	bool sampled;                  /* the driver samples processes */
	struct tw_nvml_sample *sample; /* room for samples */
	unsigned samples;              /* entries of that room */
	unsigned long long seen_us; /* time of the newest sample, by the driver's clock */
	uint64_t sampled_ns; /* the time that samples since the last reading cover */
	/* When there were new samples, and of the last look and reading. */
	uint64_t seen_ns, watched_ns, read_ns;
	/* Processes that hold it; -1: unknown. */
	int holders;
	double load; /* in MIG mode: its busy part at the last look; below 0: unknown */
	/* The counters of each instance at the last look, and room for new ones. */
	tw_nvml_gpm_sample gpm[TW_NVML_INSTANCES], fresh;
	bool has_gpm[TW_NVML_INSTANCES];
};

/* True if it is in MIG mode. */
bool tw_nvml_divided(const struct tw_nvml *n, tw_nvml_device d);

int tw_nvml_users_open(struct tw_nvml_users *u, const struct tw_nvml *n, tw_nvml_device d,
		       struct tw_err *err);
void tw_nvml_users_release(struct tw_nvml_users *u, const struct tw_nvml *n);

/*
 * Read the driver's samples between two readings. Call it every TW_METER_WATCH_NS: a
 * process that ends takes its samples with it.
 */
void tw_nvml_users_watch(struct tw_nvml_users *u, const struct tw_nvml *n,
			 tw_nvml_device d);

/*
 * Look once more: u->at are the users since the last reading. Allocates only if there are
 * more users than ever before.
 */
void tw_nvml_users_read(struct tw_nvml_users *u, const struct tw_nvml *n,
			tw_nvml_device d);

#endif /* TW_COLLECTOR_NVML_USERS_H */
