/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_NODE_H
#define TW_COLLECTOR_NODE_H

/*
 * The machine as a whole: what /proc/stat and /proc/vmstat count, the frequencies of its
 * processors, and what all of its workloads used. Read at each tick.
 */

#include "collector/workloads/usage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_roots;

/* The columns of /proc/stat: proc(5). Time of guests is in user and nice, too. */
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
const char *tw_cpu_mode_name(enum tw_cpu_mode mode);

/* Of the line "softirq" of /proc/stat: those that tell of work. */
enum tw_softirq {
	TW_SOFTIRQ_NET_TX,
	TW_SOFTIRQ_NET_RX,
	TW_SOFTIRQ_BLOCK,
	TW_SOFTIRQ_COUNT
};

/* "net_tx", "net_rx", "block". */
const char *tw_softirq_name(enum tw_softirq vector);

/* Counters since boot. */
struct tw_node_counts {
	uint64_t cpu_ms[TW_CPU_MODE_COUNT];
	uint64_t context_switches;
	uint64_t interrupts;
	uint64_t page_faults;
	uint64_t softirqs[TW_SOFTIRQ_COUNT];
};

struct tw_node {
	bool there;                  /* the two below are of the last tick */
	struct tw_node_counts total; /* since boot */
	struct tw_node_counts last;  /* in the last tick */
	unsigned cpus;
	uint64_t elapsed_ns;  /* of the last tick; 0: there was none before */
	struct tw_usage used; /* in it, by all workloads */
	uint64_t *hz;         /* of each processor, frequencies many; 0: not known */
	size_t frequencies;
	const struct tw_roots *roots;
	char *text; /* room to read into */
};

/*
 * "cpu ...", "ctxt", "intr", "softirq" of /proc/stat, and the number of its processors.
 * Lines that are not there leave 0; ticks_per_s is of its times.
 */
int tw_proc_node_stat_parse(const char *data, size_t len, uint32_t ticks_per_s,
			    struct tw_node_counts *out, unsigned *cpus,
			    struct tw_err *err);

/* "pgfault" of /proc/vmstat. */
int tw_proc_vmstat_parse(const char *data, size_t len, uint64_t *page_faults,
			 struct tw_err *err);

/* roots lives as long as the node. Fails only for want of memory. */
int tw_node_open(struct tw_node *n, const struct tw_roots *roots, struct tw_err *err);
void tw_node_release(struct tw_node *n);

/*
 * Read it, elapsed_ns after the last time, in which workloads used so much. After a
 * failure what could not be read is not there. No allocation.
 */
int tw_node_tick(struct tw_node *n, uint64_t elapsed_ns, const struct tw_usage *used,
		 struct tw_err *err);

/* How much of its processors' time was used, 0 to 1. */
double tw_node_load(const struct tw_node *n);

#endif /* TW_COLLECTOR_NODE_H */
