/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_COLLECTOR_H
#define TW_COLLECTOR_COLLECTOR_H

/*
 * The collector: all state that a tick reads or changes, on one thread.
 *
 * A tick reads the clock, the workloads and the meters, then attributes the energy. The
 * same thread answers HTTP between ticks, so an answer always shows a whole tick.
 */

#include "collector/power/node.h"
#include "collector/powercap.h"
#include "collector/settings.h"
#include "collector/system/processors.h"
#include "collector/system/roots.h"
#include "collector/system/virtual.h"
#include "profiler/spec.h"

#include <stdint.h>
#include <sys/types.h>

struct tw_agents;
struct tw_attribution;
struct tw_counters;
struct tw_err;
struct tw_estimates;
struct tw_power_history;
struct tw_pods;
struct tw_push;
struct tw_tariffs;
struct tw_texts;
struct tw_power;
struct tw_traces;
struct tw_workloads;

/* The cost of the collector itself and the regularity of its ticks, since the start. */
struct tw_collector_stats {
	uint64_t ticks;
	uint64_t missed;      /* ticks skipped because an earlier tick took too long */
	uint64_t failed;      /* ticks that could not read the tasks */
	uint64_t cpu_ns;      /* CPU time of the process */
	uint64_t tick_cpu_ns; /* CPU time of the last tick */
	uint64_t lag_ns;      /* delay of the last tick */
	uint64_t lag_max_ns;
};

struct tw_collector {
	struct tw_roots roots;
	uint64_t interval_ms;
	struct tw_counters *counters;   /* NULL: none */
	struct tw_traces *traces;       /* NULL: none */
	struct tw_workloads *workloads; /* NULL: without this machine, only agents */
	struct tw_estimates *estimates; /* NULL: no models */
	bool shipped_only; /* the only models are those that ship, a last resort */
	pid_t finder;      /* the process that finds models, if it was started */
	struct tw_power *power;
	struct tw_attribution *attribution;
	struct tw_tariffs *tariffs;       /* NULL: none */
	struct tw_power_history *history; /* NULL: without this machine */
	struct tw_pods *pods;             /* NULL: pod names are not fetched */
	struct tw_pods *engines;          /* of containers in no pod; NULL: likewise */
	struct tw_agents *agents;         /* NULL: no other collectors are summed */
	struct tw_node node;
	struct tw_processors processors; /* empty: unknown */
	struct tw_machine_spec spec;     /* as far as it is known */
	struct tw_show show;
	struct tw_push *push;   /* NULL: the metrics are pushed to nobody */
	struct tw_texts *texts; /* NULL: all answers are written on this thread */
	struct tw_powercap powercap;
	uint64_t now_ns;     /* CLOCK_BOOTTIME of the last tick */
	int64_t wall_ns;     /* CLOCK_REALTIME of the last tick */
	uint64_t awake_ns;   /* CLOCK_MONOTONIC of the last tick: without suspend */
	uint64_t elapsed_ns; /* awake time of the last tick; 0 in the first */
	struct tw_collector_stats stats;
	uint64_t started_ns;    /* CLOCK_BOOTTIME */
	char instance[33];      /* random, of this process */
	char vm_id[TW_VM_UUID]; /* id of this virtual machine on its host; or "" */
};

/*
 * Start the process that finds models (collector/power/model_finder.h), if a server or a
 * database is configured, or models ship. Call it before anything else is opened. Sets
 * c->shipped_only. *fd is yours; it stays as it was if no finder is needed.
 */
int tw_collector_start_finder(struct tw_collector *c,
			      const struct tw_collector_settings *s, int *fd,
			      struct tw_err *err);

/* Called for each thing that this machine lacks and that was not asked for by name. why
 * names the thing and the reason. */
typedef void tw_passed_over(void *arg, const char *what, const struct tw_err *why);

/* Called for each meter that has appeared since the start. arg is NULL. */
typedef void tw_meter_found(void *arg, const char *meter);

/*
 * Check what tw_collector_open() refuses on any machine: models, trees and users that do
 * not exist. Starts nothing.
 */
int tw_collector_check(const struct tw_collector_settings *s, struct tw_err *err);

/*
 * Open what s asks for, while the process still has its rights. c has its roots and its
 * interval; s and they outlive it. finder_fd is taken, even on failure; -1: none. passed
 * gets NULL as its arg. Call tw_collector_close() after a failure, too.
 */
int tw_collector_open(struct tw_collector *c, const struct tw_collector_settings *s,
		      int finder_fd, tw_passed_over *passed, tw_meter_found *found,
		      struct tw_err *err);
void tw_collector_close(struct tw_collector *c);

/*
 * Run a tick that is lag_ns late, after `missed` skipped ticks. Meters are read even if
 * the workloads cannot be.
 */
int tw_collector_tick(struct tw_collector *c, uint64_t lag_ns, uint64_t missed,
		      struct tw_err *err);

/* Identifies a tick, failed ones included. */
uint64_t tw_collector_tick_number(const struct tw_collector *c);

#endif /* TW_COLLECTOR_COLLECTOR_H */
