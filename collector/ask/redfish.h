/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_REDFISH_H
#define TW_COLLECTOR_REDFISH_H

/*
 * Redfish (DMTF DSP0266, DSP0268): parsers for the answers of a management controller
 * about the power of its chassis. Pure functions over untrusted bytes.
 *
 * Controllers do not keep to the schema: a number may be a text, an object a list of one
 * and the other way round; any other member of a wrong type counts as missing. Errors
 * name the member that power needs: "PowerControl: no PowerConsumedWatts".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_strs;

#define TW_REDFISH_ID 64
#define TW_REDFISH_PATH 192

/* Chassis with power readings of one controller. */
#define TW_REDFISH_CHASSIS_MAX 32

/* Power supplies of a chassis. */
#define TW_REDFISH_SUPPLIES_MAX 16

enum tw_redfish_auth {
	TW_REDFISH_AUTO,    /* a session; basic if the controller has no sessions */
	TW_REDFISH_SESSION, /* a session only */
	TW_REDFISH_BASIC,   /* name and password with each request */
};

/* Names for options, in the order of the enum; ends with NULL. */
extern const char *const tw_redfish_auth_names[];

/* /redfish/v1. Links are paths on the same server; "" if missing. */
struct tw_redfish_root {
	char chassis[TW_REDFISH_PATH];
	char systems[TW_REDFISH_PATH];
	char sessions[TW_REDFISH_PATH]; /* where sessions are created */
};

/* The first links of a list. */
struct tw_redfish_links {
	char path[8][TW_REDFISH_PATH];
	size_t count;
};

/* A computer system: a machine, or a part of one that has an own entry. */
struct tw_redfish_system {
	struct tw_redfish_links chassis;
	bool part; /* its type is not a machine: a DPU, a VM */
};

/* What a chassis is, by the definition of its ChassisType in DSP0268. */
enum tw_redfish_kind {
	TW_REDFISH_OTHER,     /* Other, or no type: it may be a machine or a part */
	TW_REDFISH_NAMED,     /* of a type that is not in this list */
	TW_REDFISH_PART,      /* inside a machine, whose own chassis has its power */
	TW_REDFISH_ENCLOSURE, /* of one machine or of several */
	TW_REDFISH_GROUP,     /* of several machines: a rack. Cisco's servers, too */
	TW_REDFISH_PLUGGED,   /* in a chassis of several machines: a blade, a sled */
	TW_REDFISH_SINGLE,    /* "a single-system chassis" */
};

struct tw_redfish_chassis {
	char id[TW_REDFISH_ID];          /* "": no text, or none that can be printed */
	char serial[TW_REDFISH_ID];      /* its serial number; "": unknown */
	char power[TW_REDFISH_PATH];     /* link to Power, deprecated since 2020.4 */
	char metrics[TW_REDFISH_PATH];   /* link to EnvironmentMetrics, its successor */
	char subsystem[TW_REDFISH_PATH]; /* link to PowerSubsystem: its power supplies */
	char sensors[TW_REDFISH_PATH];   /* link to its collection of sensors */
	char contained_by[TW_REDFISH_PATH]; /* link to the enclosing chassis */
	struct tw_redfish_links contains;   /* links to chassis inside */
	struct tw_redfish_links systems;    /* links to its computer systems */
	enum tw_redfish_kind kind;
};

/* Values as reported, unchecked; NaN if missing. */
struct tw_redfish_power {
	double power_w;
	double energy_j;
	/* The time that power metrics cover; 0: unknown. */
	uint64_t window_ms;
	/*
	 * The supplies that the same resource lists beside another reading, all that are
	 * present together: what they take and what they give. 0: unknown.
	 */
	double input_w, output_w;
	/* Of a disabled entry, or of a sensor with the name of a part: any other reading
	   of the chassis is better. */
	bool doubtful;
};

/* True if two powers may be two readings of one thing. */
bool tw_redfish_is_alike(double a, double b);

/* False for values that no machine has: placeholders of 0 W, of -1, of 2^32 - 1. */
bool tw_redfish_is_plausible(const struct tw_redfish_power *p);

/*
 * A page of a collection: appends the links of its members, without those that have none;
 * next is "" on the last page.
 */
int tw_redfish_parse_members(const char *data, size_t len, struct tw_strs *out,
			     char next[TW_REDFISH_PATH], struct tw_err *err);

struct tw_redfish_supply {
	char metrics[TW_REDFISH_PATH]; /* link; "": the slot is empty, or it is disabled
					*/
	bool off; /* it has no input, or stands by: without a reading it uses 0 W */
};

/*
 * Types of resources. Those that report the power of a chassis come first, the most
 * trusted first.
 */
enum tw_redfish_type {
	/* EnvironmentMetrics: PowerWatts, and EnergyJoules or EnergykWh. Fails if all are
	   missing. */
	TW_REDFISH_METRICS,
	/*
	 * Power: the first entry of PowerControl with a plausible power whose context or
	 * name is the whole chassis, else the first that is not a part of it; several
	 * that have only the context, and differ, are none. Without a current value, its
	 * average counts. Without such an entry, the sum of the inputs of PowerSupplies
	 * counts, then an entry that is disabled or of 0 W. Without these, it fails.
	 */
	TW_REDFISH_POWER,
	/* PowerSubsystem: the link to the collection of supplies; TW_NOTFOUND if missing.
	 */
	TW_REDFISH_SUBSYSTEM,
	/* Sensor: the reading of a sensor of power. TW_NOTFOUND for other sensors. */
	TW_REDFISH_SENSOR,
	TW_REDFISH_POWER_TYPES,

	TW_REDFISH_ROOT = TW_REDFISH_POWER_TYPES,
	TW_REDFISH_SYSTEM,
	TW_REDFISH_CHASSIS,
	/* PowerSupply. Fails for a supply without metrics that should have some: the sum
	   would be incomplete. */
	TW_REDFISH_SUPPLY,
	/* PowerSupplyMetrics: the input, InputPowerWatts and EnergykWh. Fails if both are
	   missing: the output is less by the losses. */
	TW_REDFISH_SUPPLY_METRICS,
	TW_REDFISH_TYPES
};

/* The parts of a resource that are read. */
union tw_redfish_doc {
	struct tw_redfish_root root;
	struct tw_redfish_system system;
	struct tw_redfish_chassis chassis;
	struct tw_redfish_supply supply;
	struct tw_redfish_power power;
	char supplies[TW_REDFISH_PATH]; /* of TW_REDFISH_SUBSYSTEM */
};

int tw_redfish_parse(enum tw_redfish_type type, const char *data, size_t len,
		     union tw_redfish_doc *out, struct tw_err *err);

/* The message of an error answer; "" if it has none. */
void tw_redfish_parse_error(const char *data, size_t len, char *out, size_t size);

#endif /* TW_COLLECTOR_REDFISH_H */
