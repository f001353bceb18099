/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_REDFISH_H
#define TW_COLLECTOR_REDFISH_H

/*
 * Redfish (DMTF DSP0266, DSP0268): what a management controller tells of the power of its
 * chassis. The answers as values, by pure functions over foreign bytes.
 *
 * Errors name the member: "PowerControl[0].PowerConsumedWatts: expected a number, got a
 * string".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_strs;

#define TW_REDFISH_ID 64
#define TW_REDFISH_PATH 192

/* That tell power, of one controller. */
#define TW_REDFISH_CHASSIS_MAX 32

/* Power supplies of a chassis. */
#define TW_REDFISH_SUPPLIES_MAX 16

enum tw_redfish_auth {
	TW_REDFISH_AUTO,    /* a session; basic where the controller makes none */
	TW_REDFISH_SESSION, /* only a session */
	TW_REDFISH_BASIC,   /* name and password with each request */
};

/* For options, in the order of the enum; ended by NULL. */
extern const char *const tw_redfish_auth_names[];

/* /redfish/v1. Links are paths on the same server, or "" where there is none. */
struct tw_redfish_root {
	char chassis[TW_REDFISH_PATH];
	char sessions[TW_REDFISH_PATH]; /* where one is made */
};

struct tw_redfish_chassis {
	char id[TW_REDFISH_ID];
	char power[TW_REDFISH_PATH];        /* Power, deprecated since 2020.4 */
	char metrics[TW_REDFISH_PATH];      /* EnvironmentMetrics, instead */
	char subsystem[TW_REDFISH_PATH];    /* PowerSubsystem: its power supplies */
	char contained_by[TW_REDFISH_PATH]; /* the chassis around it */
	bool part; /* a component, module or card of a machine, by its type */
};

/* As told, sane or not; what is not told is NaN. */
struct tw_redfish_power {
	double power_w;
	double energy_j;
	/* What the controller's power metrics are of; 0: not told. */
	uint64_t window_ms;
};

int tw_redfish_parse_root(const char *data, size_t len, struct tw_redfish_root *out,
			  struct tw_err *err);

/* A collection: the links of its members, appended; next is "" on its last page. */
int tw_redfish_parse_members(const char *data, size_t len, struct tw_strs *out,
			     char next[TW_REDFISH_PATH], struct tw_err *err);

int tw_redfish_parse_chassis(const char *data, size_t len, struct tw_redfish_chassis *out,
			     struct tw_err *err);

/*
 * Power: the first entry of PowerControl that is there and is of the whole chassis. Where
 * it has no power of now, the average that it tells. Fails where there is neither.
 */
int tw_redfish_parse_power(const char *data, size_t len, struct tw_redfish_power *out,
			   struct tw_err *err);

/* EnvironmentMetrics: PowerWatts, and EnergyJoules or EnergykWh. Fails without any. */
int tw_redfish_parse_metrics(const char *data, size_t len, struct tw_redfish_power *out,
			     struct tw_err *err);

/* PowerSubsystem: the link of the collection of supplies; TW_NOTFOUND without. */
int tw_redfish_parse_subsystem(const char *data, size_t len,
			       char supplies[TW_REDFISH_PATH], struct tw_err *err);

/*
 * PowerSupply: the link of its metrics; "" for a slot without one, or one that is
 * switched off for good. Fails for one that is there and has none: a sum without it is
 * none.
 */
int tw_redfish_parse_supply(const char *data, size_t len, char metrics[TW_REDFISH_PATH],
			    struct tw_err *err);

/* PowerSupplyMetrics: what it takes, InputPowerWatts, and EnergykWh. Fails without any:
 * what it gives is less by its loss. */
int tw_redfish_parse_supply_metrics(const char *data, size_t len,
				    struct tw_redfish_power *out, struct tw_err *err);

/* Of an answer that is an error: its message; "" if it has none. */
void tw_redfish_parse_error(const char *data, size_t len, char *out, size_t size);

#endif /* TW_COLLECTOR_REDFISH_H */
