/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_METER_H
#define TW_COLLECTOR_METER_H

/*
 * Meters measure the energy or the power of zones. Each meter is one file,
 * collector/meters/meter_NAME.c, with a const entry in the registry
 * (collector/meters/meter.c), most trusted first. collector/meters/README.md says how to
 * add one.
 */

#include "collector/meters/zone.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_ask_config;
struct tw_err;
struct tw_estimates;
struct tw_node;
struct tw_own_meter_options;
struct tw_redfish_options;
struct tw_roots;

#define TW_ZONES_MAX 512 /* of one meter */
/* A longer window is no mean: controllers report 2^32 - 1, or the time since they began.
 */
#define TW_WINDOW_MAX_MS UINT64_C(86400000)
#define TW_ZONE_NAME 64
#define TW_ZONE_PATH 256

/* The GPU of a zone; "" and NULL: unknown. */
struct tw_zone_gpu {
	char index[12];
	char uuid[96];
	char model[96];
	const char *vendor; /* "nvidia", "amd" */
};

/* The origin of a zone that another machine has written; "": none, or no model. */
struct tw_zone_origin {
	char source[TW_ZONE_NAME]; /* the meter there; "model" for an estimate */
	char model[TW_ZONE_NAME];  /* the model of an estimate, truncated */
};

/*
 * The extent of a zone of TW_ZONE_PLATFORM. If several are measured, the first of this
 * order is the machine: it contains the others, or the same power passes them.
 */
enum tw_place {
	TW_PLACE_BOARD,  /* the whole machine: its inlet, or its chassis */
	TW_PLACE_SUPPLY, /* a power supply: their sum is the machine */
	TW_PLACE_MODULE, /* a module of processors, GPUs and their memory */
};

/* A zone of a meter. Only its origin and path change while the meter is open. */
struct tw_zone {
	enum tw_zone_kind kind;
	enum tw_place place;     /* of TW_ZONE_PLATFORM */
	bool reports_power;      /* true: readings are power in W; false: energy in uJ */
	bool estimated;          /* calculated, not measured: 0 W and jumps are valid */
	int package;             /* -1: unknown */
	char name[TW_ZONE_NAME]; /* the meter's own name: "package-0-die-1" */
	char path[TW_ZONE_PATH]; /* the file or resource that is read */
	/* Energy: the highest counter value, after which the counter is 0; 0: unknown. */
	uint64_t range_uj;
	/*
	 * Power: the time that a value averages. Energy: the longest time between two
	 * steps of the counter. 0: unknown.
	 */
	uint64_t window_ms;
	/* Energy: the growth over a gap of any length is the energy of that gap. */
	bool keeps_counting;
	char source[TW_ZONE_NAME]; /* its energy source; "": the meter's name */
	struct tw_zone_gpu gpu;    /* of TW_ZONE_GPU */
	struct tw_zone_origin origin;
	double tdp_w;     /* of TW_ZONE_PACKAGE: its thermal design power; 0: unknown */
	const char *note; /* a remark for the user; or NULL */
};

/* One reading of a zone. */
struct tw_reading {
	bool readable;      /* false: the zone is not readable now */
	uint64_t energy_uj; /* the counter of the zone */
	double power_w;
	/* Input and output power of the zone's supplies; 0: unknown. */
	double input_w, output_w;
	bool own_load; /* load is set; else a GPU's is unknown, other zones' the CPUs' */
	double load;   /* 0 to 1; below 0: unknown */
	bool has_idle; /* idle_w is the part of power_w without load */
	double idle_w;
	/*
	 * Power that is polled less often than it is read: a new number for each new
	 * value. 0: each reading is a new value.
	 */
	uint64_t sample;
	/* Why the zone is not readable; "" if it is. */
	char why[192];
};

/* The reading of a zone that is not readable. */
void tw_reading_fail(struct tw_reading *out, const struct tw_err *why);

/* A process that used a zone since the last reading. */
struct tw_zone_user {
	uint32_t tgid;
	uint32_t unit; /* itself, or the part of the zone that it shares with others */
	uint64_t used_ns, of_ns; /* time of use of the whole zone, and of the reading */
	bool sampled;            /* used_ns is by a few samples a second */
};

struct tw_meter_config {
	const struct tw_roots *roots;
	const struct tw_node *node; /* for meters that calculate; outlives the meter */
	struct tw_estimates *estimates; /* estimates by models; NULL: none */
	unsigned skip_kinds; /* bits 1 << kind: kinds that more trusted meters already
				read from the same counters */
	unsigned measured;   /* bits 1 << kind: kinds that more trusted meters have */
	const char *nvml;    /* path of NVIDIA's library; NULL: the system's */
	const char *amdsmi;  /* path of AMD's library; NULL: the system's or ROCm's */
	uint32_t seed;       /* seed of the simulated noise */
	const struct tw_ask_config *ask;              /* how to start tw-ask */
	const struct tw_redfish_options *redfish;     /* or NULL */
	const struct tw_own_meter_options *own_meter; /* or NULL */
	uint64_t ipmi_interval_ms;
};

struct tw_meter {
	const char *name;    /* "rapl-sysfs": the label `source` in metrics */
	const char *summary; /* one line */
	bool only_by_name;   /* used only if named with --meters */
	bool late;           /* open() may be tried again at any time: it starts no
				program and takes less than a millisecond */
	bool costly;         /* open() takes longer: it is tried ever more rarely */
	bool wraps; /* its counters wrap around within minutes: they may be read between
		       two ticks */
	const char *counters; /* whose counters it reads, if several meters read the
				 same: "rapl"; or NULL */
	/*
	 * Fails, with the reason, if the machine has no such meter. *state is yours:
	 * close().
	 */
	int (*open)(const struct tw_meter_config *c, void **state, struct tw_err *err);
	/* The zones. They live as long as the state and keep their addresses. */
	const struct tw_zone *(*zones)(const void *state, size_t *count);
	/*
	 * Readings of the machine that the meter found and does not read, because they
	 * repeat a zone or are no consumption; `note` has the reason. NULL: none. They
	 * live as long as the state.
	 */
	const struct tw_zone *(*left_out)(const void *state, size_t *count);
	/*
	 * True if the meter has found more zones since the last call: from now on zones()
	 * and read() append them. NULL: the zones never change.
	 */
	bool (*grown)(void *state);
	/*
	 * One reading for each zone. Allocates nothing, except through
	 * collector/power/estimates.h.
	 */
	void (*read)(void *state, struct tw_reading *out);
	/*
	 * True if the meter ends, now that other meters have read these kinds (bits 1 <<
	 * kind): it is not read again. NULL: it never does.
	 */
	bool (*retires)(void *state, unsigned measured);
	/*
	 * The users of a zone at the last reading; NULL: the meter does not know them.
	 * Valid until the next reading.
	 */
	const struct tw_zone_user *(*users)(const void *state, size_t zone,
					    size_t *count);
	/*
	 * Read the users of the zones between two readings. NULL: readings report all
	 * users. Call it at least every TW_METER_WATCH_NS.
	 */
	void (*watch)(void *state);
	void (*close)(void *state); /* NULL is fine */
};

#define TW_METER_WATCH_NS UINT64_C(1000000000)

size_t tw_meter_count(void);
const struct tw_meter *tw_meter_at(size_t i);

/* NULL if there is none. */
const struct tw_meter *tw_meter_find(const char *name);

/* The place of a meter in the registry: 0 is the most trusted. */
size_t tw_meter_rank(const struct tw_meter *meter);

extern const struct tw_meter tw_meter_acpi;
extern const struct tw_meter tw_meter_amd_energy;
extern const struct tw_meter tw_meter_amdsmi;
extern const struct tw_meter tw_meter_command;
extern const struct tw_meter tw_meter_cray;
extern const struct tw_meter tw_meter_fake;
extern const struct tw_meter tw_meter_file;
extern const struct tw_meter tw_meter_hwmon;
extern const struct tw_meter tw_meter_hwmon_any;
extern const struct tw_meter tw_meter_ipmi;
extern const struct tw_meter tw_meter_model;
extern const struct tw_meter tw_meter_nvml;
extern const struct tw_meter tw_meter_passthrough;
extern const struct tw_meter tw_meter_prometheus;
extern const struct tw_meter tw_meter_rapl_msr;
extern const struct tw_meter tw_meter_rapl_perf;
extern const struct tw_meter tw_meter_rapl_sysfs;
extern const struct tw_meter tw_meter_redfish;
extern const struct tw_meter tw_meter_xgene;

#endif /* TW_COLLECTOR_METER_H */
