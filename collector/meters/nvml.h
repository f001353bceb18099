/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_NVML_H
#define TW_COLLECTOR_NVML_H

/*
 * NVIDIA's Management Library, which comes with the driver and is loaded at run time
 * (library.h). Declarations follow the "NVML API Reference Guide"; functions with _v2
 * have fixed versions.
 */

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

/*
 * nvmlProcessInfo_v2_t, of functions with _v2. Those with _v3 have it, too, but not in
 * drivers 535.43 to 535.86: their entries are 8 bytes longer.
 */
struct tw_nvml_process {
	unsigned pid;
	unsigned long long memory_bytes;
	unsigned gpu_instance, compute_instance;
};

/* nvmlDeviceAttributes_t: of a MIG device */
struct tw_nvml_attributes {
	unsigned processors, copy, decoders, encoders, jpeg, flow;
	unsigned instance_slices; /* of its GPU instance */
	unsigned compute_slices;
	unsigned long long memory_mib;
};

/* nvmlGpmSample_t: counters of a GPU or of an instance at some time */
typedef struct tw_nvml_gpm_sample *tw_nvml_gpm_sample;

/* nvmlGpmMetric_t; the names are the library's. */
struct tw_nvml_gpm_metric {
	unsigned id;
	int code;
	double value;
	const char *short_name, *long_name, *unit;
};

/* nvmlGpmMetricsGet_t: what happened between two samples */
struct tw_nvml_gpm {
	unsigned version, count;
	tw_nvml_gpm_sample from, to;
	struct tw_nvml_gpm_metric metric[333]; /* NVML_GPM_METRIC_MAX of CUDA 13 */
};

#define TW_NVML_GPM_VERSION 1 /* NVML_GPM_METRICS_GET_VERSION */
#define TW_NVML_GPM_SM 2      /* percent of the SMs that were busy */

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
	/*
	 * Processes that compute on a GPU or on a MIG device, whether they use it now or
	 * not; those among them that do so through a server of MPS.
	 */
	int (*processes)(tw_nvml_device d, unsigned *count, struct tw_nvml_process *out);
	int (*mps_clients)(tw_nvml_device d, unsigned *count,
			   struct tw_nvml_process *out);
	/*
	 * MIG: the highest possible number of devices; TW_NVML_NOT_FOUND: no device has
	 * that index.
	 */
	int (*mig_count)(tw_nvml_device d, unsigned *count);
	int (*mig_at)(tw_nvml_device d, unsigned at, tw_nvml_device *out);
	int (*instance_of)(tw_nvml_device mig, unsigned *id);
	int (*attributes)(tw_nvml_device mig, struct tw_nvml_attributes *out);
	/* Since Hopper. */
	int (*gpm_alloc)(tw_nvml_gpm_sample *out);
	int (*gpm_free)(tw_nvml_gpm_sample sample);
	int (*gpm_of_instance)(tw_nvml_device d, unsigned instance,
			       tw_nvml_gpm_sample out);
	int (*gpm_metrics)(struct tw_nvml_gpm *g);
};

/*
 * Load the library (file as in dlopen()) and initialise it. This opens devices and may
 * start nvidia-modprobe, so call it before rights are dropped. *out is yours.
 */
int tw_nvml_open(const char *file, struct tw_nvml **out, struct tw_err *err);
void tw_nvml_close(struct tw_nvml *n); /* NULL is fine */

/* tw_fail() with the text of a returned code; `what` says what was read. */
int tw_nvml_fail(const struct tw_nvml *n, int code, const char *what, struct tw_err *err);

#endif /* TW_COLLECTOR_NVML_H */
