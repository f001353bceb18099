/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_NODE_H
#define TW_COLLECTOR_NODE_H

/*
 * The machine as a whole: the counters of /proc/stat and /proc/vmstat, the frequencies of
 * its CPUs, and the usage of all workloads. Read at each tick.
 */

#include "collector/workloads/tasks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_roots;

/* The columns of /proc/stat: proc(5). user and nice include the time of guests. */
enum tw_cpu_mode {
	TW_CPU_USER,
	TW_CPU_NICE,
	TW_CPU_SYSTEM,
	TW_CPU_IDLE,
	TW_CPU_IOWAIT,
	TW_CPU_IRQ,
	TW_CPU_SOFTIRQ,
	TW_CPU_STEAL,
	TW_CPU_MODE_COUNT
};

/* "user", "nice", "system", ... */
extern const char *const tw_cpu_mode_names[TW_CPU_MODE_COUNT];

/* Vectors of the line "softirq" of /proc/stat that show work. */
enum tw_softirq {
	TW_SOFTIRQ_NET_TX,
	TW_SOFTIRQ_NET_RX,
	TW_SOFTIRQ_BLOCK,
	TW_SOFTIRQ_COUNT
};

/* "net_tx", "net_rx", "block". */
extern const char *const tw_softirq_names[TW_SOFTIRQ_COUNT];

/* Counters since boot. */
struct tw_node_counts {
	uint64_t cpu_ms[TW_CPU_MODE_COUNT];
	uint64_t context_switches;
	uint64_t interrupts;
	uint64_t page_faults;
	uint64_t softirqs[TW_SOFTIRQ_COUNT];
};

struct tw_node {
	bool fresh;                  /* the counters were read in the last tick */
	struct tw_node_counts total; /* since boot */
	struct tw_node_counts last;  /* increase since the reading before */
	uint64_t last_ns; /* time that `last` is of: several ticks after a failure; 0:
			     there is no reading before */
	unsigned cpus;
	uint64_t elapsed_ns;  /* length of the last tick; 0: it was the first */
	struct tw_usage used; /* usage of all workloads since it was known before */
	uint64_t used_ns;     /* time that `used` is of: several ticks after a failure; 0:
				 it is not known */
	uint64_t *hz;         /* frequency of each CPU; 0: unknown */
	size_t frequencies;
	const struct tw_roots *roots;
	char *text; /* buffer for files */

	/* For node.c only. */
	bool was_read;      /* total is of an earlier tick */
	uint64_t unread_ns; /* since that tick */
	bool was_used;      /* the usage was known in an earlier tick */
	uint64_t unused_ns; /* since that tick */
};

/*
 * Parse "cpu", "ctxt", "intr" and "softirq" of /proc/stat, and count its CPUs. Missing
 * lines leave 0. ticks_per_s is the unit of its times.
 */
int tw_proc_node_stat_parse(const char *data, size_t len, uint32_t ticks_per_s,
			    struct tw_node_counts *out, unsigned *cpus,
			    struct tw_err *err);

/* Parse "pgfault" of /proc/vmstat. */
int tw_proc_vmstat_parse(const char *data, size_t len, uint64_t *page_faults,
			 struct tw_err *err);

/* roots outlives the node. Fails only if out of memory. */
int tw_node_open(struct tw_node *n, const struct tw_roots *roots, struct tw_err *err);
void tw_node_release(struct tw_node *n);

/*
 * Read the counters, elapsed_ns after the last tick. The workloads have used `used` since
 * it was known before; NULL: it is not known in this tick. After a failure n->fresh is
 * false. Allocates nothing.
 */
int tw_node_tick(struct tw_node *n, uint64_t elapsed_ns, const struct tw_usage *used,
		 struct tw_err *err);

/* The mean frequency of the CPUs that have one; NAN: of none it is known. */
double tw_node_frequency_hz(const struct tw_node *n);

/* The load: the used part of the CPUs' time, 0 to 1; below 0: unknown. */
double tw_node_load(const struct tw_node *n);

#endif /* TW_COLLECTOR_NODE_H */
