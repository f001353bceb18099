/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_METER_H
#define TW_COLLECTOR_METER_H

/*
 * Meters: what can tell the energy or the power of zones. One file each,
 * collector/meter_<name>.c, with a const entry in the registry, most trusted first.
 */

#include "collector/meters/zone.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_ask_config;
struct tw_err;
struct tw_estimates;
struct tw_node;
struct tw_redfish_options;
struct tw_roots;

#define TW_ZONES_MAX 512 /* of one meter */
#define TW_ZONE_NAME 64
#define TW_ZONE_PATH 256

/* Which GPU a zone is; "" and NULL: not told. */
struct tw_zone_gpu {
	char index[12];
	char uuid[96];
	char model[96];
	const char *vendor; /* "nvidia" */
};

/* A zone of a meter. Does not change while the meter is open. */
struct tw_zone {
	enum tw_zone_kind kind;
	bool tells_power;        /* W; else energy, in uJ */
	bool estimated;          /* reckoned, not measured: 0 W may be, and jumps */
	int package;             /* -1: not told */
	char name[TW_ZONE_NAME]; /* "package-0", "package-0-die-1", "dram": the meter's
				    own */
	char path[TW_ZONE_PATH]; /* what is read */
	/* Of energy: the largest value before it is 0 again; 0: not known. */
	uint64_t range_uj;
	uint64_t window_ms;     /* what a power value is the average of; 0: not known */
	struct tw_zone_gpu gpu; /* of TW_ZONE_GPU */
	const char *note;       /* what is to be known of it; or NULL */
};

/* What a zone showed. */
struct tw_reading {
	bool there;         /* false: not readable now */
	uint64_t energy_uj; /* as the zone tells */
	double power_w;
	bool own_load; /* its load is not the processors', but this one */
	double load;   /* 0 to 1; below 0: not known */
	bool has_idle; /* idle_w is what of power_w is there without load */
	double idle_w;
	/* Of a power that is asked for less often than it is read: another number for
	 * each answer. 0: it is of now. */
	uint64_t sample;
	/* Why it is not there; "" if it is. */
	char why[96];
};

/* A process that used a zone since the reading before, and how much of it. */
struct tw_zone_user {
	uint32_t tgid;
	uint64_t weight; /* beside those of others */
};

struct tw_meter_config {
	const struct tw_roots *roots;
	const struct tw_node *node;     /* for meters that reckon; lives as long */
	struct tw_estimates *estimates; /* by models; NULL: none */
	unsigned skip_kinds; /* 1 << kind of those that its twin tells: they are left out
			      */
	const char *nvml;    /* NVIDIA's library; NULL: the system's */
	uint32_t seed;       /* of noise */
	const struct tw_ask_config *ask;          /* for those that take long */
	const struct tw_redfish_options *redfish; /* or NULL */
	uint64_t ipmi_interval_ms;
};

struct tw_meter {
	const char *name;             /* "rapl-sysfs": source in metrics */
	const char *summary;          /* one line */
	bool only_by_name;            /* used only where it is named */
	const char *same_counters_as; /* a more trusted one that reads the same counters;
					 or NULL */
	/* *state is yours: close(). Fails with why where the machine has no such meter.
	 */
	int (*open)(const struct tw_meter_config *c, void **state, struct tw_err *err);
	/* Lives as long as the state, and where it lies. */
	const struct tw_zone *(*zones)(const void *state, size_t *count);
	/*
	 * Whether zones were found since they were last told: from now on zones() and
	 * read() have them, behind the others. NULL: never.
	 */
	bool (*grown)(void *state);
	/* One reading for each zone. No allocation, but see collector/power/estimates.h.
	 */
	void (*read)(void *state, struct tw_reading *out);
	/* Who used a zone, as of the last reading; NULL: it does not know. Lives until
	 * the next. */
	const struct tw_zone_user *(*users)(const void *state, size_t zone,
					    size_t *count);
	void (*close)(void *state); /* NULL is fine */
};

size_t tw_meter_count(void);
const struct tw_meter *tw_meter_at(size_t i);

/* NULL if there is none. */
const struct tw_meter *tw_meter_find(const char *name);

extern const struct tw_meter tw_meter_acpi;
extern const struct tw_meter tw_meter_amd_energy;
extern const struct tw_meter tw_meter_fake;
extern const struct tw_meter tw_meter_hwmon;
extern const struct tw_meter tw_meter_hwmon_any;
extern const struct tw_meter tw_meter_ipmi;
extern const struct tw_meter tw_meter_model;
extern const struct tw_meter tw_meter_nvml;
extern const struct tw_meter tw_meter_rapl_msr;
extern const struct tw_meter tw_meter_rapl_sysfs;
extern const struct tw_meter tw_meter_redfish;
extern const struct tw_meter tw_meter_xgene;

#endif /* TW_COLLECTOR_METER_H */
