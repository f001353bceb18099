/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_NVML_H
#define TW_COLLECTOR_NVML_H

/*
 * NVIDIA's Management Library, which comes with the driver and is loaded at run time
 * (library.h). Declarations follow the "NVML API Reference Guide";
 * functions with _v2 or _v3 have fixed versions.
 */

#include "collector/meters/meter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* A GPU; NULL: none. */
typedef struct tw_nvml_device *tw_nvml_device;

/* nvmlReturn_t */
enum {
	TW_NVML_OK = 0,
	TW_NVML_NOT_SUPPORTED = 3,
	TW_NVML_NO_PERMISSION = 4,
	TW_NVML_NOT_FOUND = 6,
	TW_NVML_INSUFFICIENT_SIZE = 7,
	TW_NVML_DRIVER_NOT_LOADED = 9,
	TW_NVML_GPU_IS_LOST = 15,
	TW_NVML_MEMORY = 20,
};

#define TW_NVML_UNKNOWN (~0ULL) /* NVML_VALUE_NOT_AVAILABLE */

/* nvmlUtilization_t: percent of the last sample's time. */
struct tw_nvml_utilization {
	unsigned gpu, memory;
};

/* nvmlFieldValue_t: id and scope are of the question, the rest is the answer. */
struct tw_nvml_field {
	unsigned id, scope;
	long long time_us, latency_us;
	unsigned type; /* nvmlValueType_t */
	int code;      /* of this field */
	union {
		unsigned number; /* of TW_NVML_UNSIGNED */
		unsigned long long widest;
	} value;
};

#define TW_NVML_POWER_AVERAGE 185 /* mW, over 1 s */
#define TW_NVML_SCOPE_GPU 0       /* without the rest of its module */
#define TW_NVML_UNSIGNED 1        /* NVML_VALUE_TYPE_UNSIGNED_INT */

/* nvmlProcessUtilizationSample_t */
struct tw_nvml_sample {
	unsigned pid;
	unsigned long long time_us;
	unsigned sm, memory, encoder, decoder; /* percent of the sample's time */
};

/* nvmlProcessInfo_v1_t */
struct tw_nvml_process_v1 {
	unsigned pid;
	unsigned long long memory_bytes;
};

/* nvmlProcessInfo_v2_t, of functions with _v2 and _v3 */
struct tw_nvml_process {
	unsigned pid;
	unsigned long long memory_bytes;
	unsigned gpu_instance, compute_instance;
};

/* Optional functions are NULL if the driver is too old. */
struct tw_nvml {
	void *library;
	int (*init)(void);
	int (*shutdown)(void);
	const char *(*error_text)(int code);
	int (*count)(unsigned *out);
	int (*by_index)(unsigned index, tw_nvml_device *out);
	int (*by_uuid)(const char *uuid, tw_nvml_device *out);
	int (*uuid)(tw_nvml_device d, char *out, unsigned size);
	int (*name)(tw_nvml_device d, char *out, unsigned size);
	int (*power_mw)(tw_nvml_device d, unsigned *out);
	int (*energy_mj)(tw_nvml_device d, unsigned long long *out); /* since Volta */
	int (*fields)(tw_nvml_device d, int count, struct tw_nvml_field *values);
	int (*utilization)(tw_nvml_device d, struct tw_nvml_utilization *out);
	int (*mig_mode)(tw_nvml_device d, unsigned *now, unsigned *pending);
	/*
	 * Samples newer than after_us; TW_NVML_NOT_FOUND if there are none. *count is the
	 * room in out.
	 */
	int (*samples)(tw_nvml_device d, struct tw_nvml_sample *out, unsigned *count,
		       unsigned long long after_us);
	/* Processes that hold memory; [0]: compute, [1]: graphics. */
	int (*processes[2])(tw_nvml_device d, unsigned *count,
			    struct tw_nvml_process *out);
	int (*processes_v1[2])(tw_nvml_device d, unsigned *count,
			       struct tw_nvml_process_v1 *out);
};

/*
 * Load the library (file as in dlopen()) and initialise it. This opens devices and may
 * start nvidia-modprobe, so call it before rights are dropped. *out is yours.
 */
int tw_nvml_open(const char *file, struct tw_nvml **out, struct tw_err *err);
void tw_nvml_close(struct tw_nvml *n); /* NULL is fine */

/* tw_fail() with the text of a returned code; `what` says what was read. */
int tw_nvml_fail(const struct tw_nvml *n, int code, const char *what, struct tw_err *err);

/* ---- the users of a GPU ---- */

/*
 * The processes that used a GPU between two readings, with their weights.
 *
 * The weight comes from the driver's samples of each process: the largest of the shares
 * of time in which the shaders, the encoder or the decoder worked for it. The driver
 * takes 1 to 6 samples a second; the last samples hold until there are newer ones, at
 * most 1.5 s. A GPU in MIG mode has no samples of processes; there the weight is the
 * memory that a process holds. All zero bytes: no users.
 */
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

#endif /* TW_COLLECTOR_NVML_H */
