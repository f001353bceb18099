/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_SETTINGS_H
#define TW_COLLECTOR_SETTINGS_H

/* The options of tw-collector, checked. */

#include "collector/agents/agents.h"
#include "collector/ask/ask_options.h"
#include "collector/power/tariff.h"
#include "collector/workloads/workload.h"
#include "lib/core/strs.h"
#include "lib/program/opt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which workloads and metric names the collector exports. */
struct tw_show {
	bool level[TW_LEVEL_COUNT];
	uint32_t top;       /* processes and cgroups: at most this many of each; 0: all */
	uint64_t min_uj;    /* processes and cgroups: those with at least this energy */
	bool kepler;        /* also the metrics of Kepler 0.10 and later */
	bool kepler_legacy; /* also the metrics of Kepler 0.5 to 0.9 */
	bool kepler_05;     /* and those that Kepler 0.7.12 no longer had */
	const char *node_name;
	const char *redfish; /* URL of the management controller; NULL: none */
};

enum tw_bpf_choice { TW_BPF_AUTO, TW_BPF_OFF, TW_BPF_WALK, TW_BPF_ITER };
enum tw_counters_choice { TW_COUNTERS_AUTO, TW_COUNTERS_OFF, TW_COUNTERS_SOFTWARE };

/* Filled by tw_opts_parse(), released by tw_opts_release(). */
struct tw_collector_settings {
	char *listen;
	char *web_config;
	struct tw_strs host_names;
	uint64_t interval_ms;
	unsigned bpf;         /* enum tw_bpf_choice */
	unsigned counters;    /* enum tw_counters_choice */
	struct tw_strs trace; /* of tw_trace_names */
	unsigned cgroups;     /* enum tw_cgroup_choice */
	char *proc;
	char *sys;
	char *dev;
	uint64_t keep_ended_ms;
	uint32_t ended_max;
	uint32_t events_max;
	struct tw_strs meters;
	struct tw_redfish_options redfish;
	struct tw_own_meter_options own_meter;
	uint64_t ipmi_interval_ms;
	struct tw_pods_options pods;
	struct tw_push_options push;
	struct tw_tariff_options tariff;
	char *container_names; /* "auto", "off", or the path of a socket */
#if TW_FLEET
	struct tw_agents_options agents;
	bool local; /* this machine, too */
#endif
	unsigned idle_by;
	struct tw_strs levels;
	struct tw_strs compat;
	uint32_t top;
	uint32_t min_joules;
	char *node_name;
	char *powercap;
	char *nvml, *amdsmi;
	struct tw_strs models;
	char *model_server, *model_db, *shipped_models;
	struct tw_strs model_sources;
	char *model_trainer, *model_filter;
	uint64_t model_refresh_ms;
	char *keep;
	unsigned estimated_idle; /* enum tw_estimated_idle */
	char *powercap_out;
	char *vm_power_dir;
	struct tw_strs vm_users;
	char *user;
	bool filter;
	unsigned log_level;
	unsigned log_format;
	char *ready_file;
};

extern const struct tw_opts tw_collector_opts;

/*
 * Copy the keys of Kepler's configuration (docs/wire.md, "Keys of the old programs") into
 * the environment. Call it before the options are parsed.
 */
int tw_collector_settings_kepler(struct tw_err *err);

/* Check what the types of the options cannot: ranges and names. */
int tw_collector_settings_check(const struct tw_collector_settings *s,
				struct tw_err *err);

/*
 * The part of the settings about export. host is room for a host name; it lives as long
 * as the result.
 */
struct tw_show tw_collector_settings_show(const struct tw_collector_settings *s,
					  char *host, size_t size);

#endif /* TW_COLLECTOR_SETTINGS_H */
