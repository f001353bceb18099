/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_COLLECTOR_H
#define TW_COLLECTOR_COLLECTOR_H

/*
 * The collector: everything that a tick touches, on one thread. A tick reads the clock,
 * the workloads, the meters, and attributes; between ticks the same thread answers HTTP,
 * so that an answer always shows a whole tick.
 */

#include "collector/power/node.h"
#include "collector/powercap.h"
#include "collector/show.h"
#include "collector/system/processors.h"
#include "collector/system/roots.h"

#include <stddef.h>
#include <stdint.h>

struct tw_attribution;
struct tw_collector_settings;
struct tw_counters;
struct tw_err;
struct tw_estimates;
struct tw_pods;
struct tw_power;
struct tw_traces;
struct tw_workloads;

/* Own cost and regularity, since the start. */
struct tw_collector_stats {
	uint64_t ticks;
	uint64_t missed;      /* ticks that fell out because one before took too long */
	uint64_t failed;      /* ticks whose tasks could not be read */
	uint64_t cpu_ns;      /* of the whole process */
	uint64_t tick_cpu_ns; /* of the last tick */
	uint64_t lag_ns;      /* how late the last tick began */
	uint64_t lag_max_ns;
};

struct tw_collector {
	struct tw_roots roots;
	uint64_t interval_ms;
	struct tw_counters *counters;   /* NULL: none */
	struct tw_traces *traces;       /* so are these; NULL: none */
	struct tw_workloads *workloads; /* and the next six */
	struct tw_estimates *estimates; /* NULL: no models */
	struct tw_power *power;
	struct tw_attribution *attribution;
	struct tw_pods *pods; /* NULL: names are not asked for */
	struct tw_node node;
	struct tw_processors processors; /* none: not known */
	struct tw_show show;
	struct tw_powercap powercap;
	uint64_t now_ns;     /* since boot, of the last tick */
	uint64_t awake_ns;   /* the same without the time that the machine slept */
	uint64_t elapsed_ns; /* of that, between the last two; 0 before */
	struct tw_collector_stats stats;
};

/*
 * Start the process that finds models (collector/power/model_finder.h), if a server or a
 * database is configured. Call it before anything else is opened. *fd is yours; it stays
 * as it was if no finder is needed.
 */
int tw_collector_start_finder(const struct tw_collector_settings *s, int *fd,
			      struct tw_err *err);

/* Called for each thing that this machine lacks and that was not asked for by name. why
 * names the thing and the reason. */
typedef void tw_passed_over(void *arg, const char *what, const struct tw_err *why);

/*
 * Open what s asks for, while the process still has its rights. c has its roots and its
 * interval; s and they outlive it. finder_fd is taken, even on failure; -1: none. passed
 * gets NULL as its arg. Call tw_collector_close() after a failure, too.
 */
int tw_collector_open(struct tw_collector *c, const struct tw_collector_settings *s,
		      int finder_fd, tw_passed_over *passed, struct tw_err *err);
void tw_collector_close(struct tw_collector *c);

/* One tick, lag_ns after its time, with so many missed before it. */
int tw_collector_tick(struct tw_collector *c, uint64_t lag_ns, uint64_t missed,
		      struct tw_err *err);

#endif /* TW_COLLECTOR_COLLECTOR_H */
