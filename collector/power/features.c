/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/features.h"

#include "collector/power/node.h"
#include "collector/workloads/workload.h"
#include "lib/core/array.h"

#include <math.h>
#include <string.h>

/* The source of a feature's value. */
enum from {
	FROM_COUNTER, /* the counter of processes with the number `at` */
	FROM_NODE,    /* the node's counter at the offset `at` of struct tw_node_counts */
	FROM_USED,    /* the CPU time of processes */
	FROM_CPUS,    /* the mean frequency: it does not depend on load */
};

/*
 * Sorted by name; if a feature has several sources, the first available one is used.
 * Softirqs of processes come first, because models are trained on our own metrics of
 * them; the machine's softirqs are the fallback.
 */
#define NODE(member) FROM_NODE, offsetof(struct tw_node_counts, member)
static const struct feature_source {
	const char *name;
	enum from from;
	size_t at;
} features[] = {
	{ "bpf_block_irq", FROM_COUNTER, TW_COUNTER_BLOCK_SOFTIRQS },
	{ "bpf_block_irq", NODE(softirqs[TW_SOFTIRQ_BLOCK]) },
	{ "bpf_cpu_time_ms", FROM_USED, 0 },
	{ "bpf_net_rx_irq", FROM_COUNTER, TW_COUNTER_NET_RX_SOFTIRQS },
	{ "bpf_net_rx_irq", NODE(softirqs[TW_SOFTIRQ_NET_RX]) },
	{ "bpf_net_tx_irq", FROM_COUNTER, TW_COUNTER_NET_TX_SOFTIRQS },
	{ "bpf_net_tx_irq", NODE(softirqs[TW_SOFTIRQ_NET_TX]) },
	{ "bpf_page_cache_hit", FROM_COUNTER, TW_COUNTER_PAGE_CACHE_HITS },
	{ "cache_miss", FROM_COUNTER, TW_COUNTER_CACHE_MISSES },
	{ "cpu_cycles", FROM_COUNTER, TW_COUNTER_CYCLES },
	{ "cpu_instructions", FROM_COUNTER, TW_COUNTER_INSTRUCTIONS },
	{ "cpu_scaling_frequency_hertz", FROM_CPUS, 0 },
	{ "node_context_switches", NODE(context_switches) },
	{ "node_cpu_irq_ms", NODE(cpu_ms[TW_CPU_IRQ]) },
	{ "node_cpu_nice_ms", NODE(cpu_ms[TW_CPU_NICE]) },
	{ "node_cpu_softirq_ms", NODE(cpu_ms[TW_CPU_SOFTIRQ]) },
	{ "node_cpu_system_ms", NODE(cpu_ms[TW_CPU_SYSTEM]) },
	{ "node_cpu_user_ms", NODE(cpu_ms[TW_CPU_USER]) },
	{ "node_interrupts", NODE(interrupts) },
	{ "node_page_faults", NODE(page_faults) },
};

_Static_assert(TW_COUNT(features) <= TW_FEATURES_MAX, "a row has room for all features");

/* The value per second. The node's counters may be of several ticks. NAN: unknown. */
static double value_of(const struct feature_source *f, const struct tw_node *n)
{
	const double seconds = (double)n->used_ns / 1e9;
	uint64_t increase;

	switch (f->from) {
	case FROM_COUNTER:
		return (double)n->used.counter[f->at] / seconds;
	case FROM_USED:
		return (double)n->used.cpu_ns / 1e6 / seconds;
	case FROM_CPUS:
		return tw_node_frequency_hz(n);
	case FROM_NODE:
		break;
	}
	memcpy(&increase, (const char *)&n->last + f->at, sizeof(increase));
	return n->fresh && n->last_ns > 0 ? (double)increase * 1e9 / (double)n->last_ns
					  : NAN;
}

/* Frequencies exist from the start or never; counters may be lost. */
static bool is_available(const struct feature_source *f, const struct tw_node *node,
			 const struct tw_workloads *workloads)
{
	if (f->from == FROM_CPUS)
		return node->frequencies > 0;
	return f->from != FROM_COUNTER ||
	       (workloads != NULL &&
		tw_workloads_counts(workloads, (enum tw_counter)f->at));
}

int tw_features_open(struct tw_features *f, const struct tw_node *node,
		     const struct tw_workloads *workloads, struct tw_err *err)
{
	f->workloads = workloads;
	for (size_t i = 0; i < TW_COUNT(features); i++) {
		if (!is_available(&features[i], node, workloads) ||
		    tw_strs_has(&f->names, features[i].name))
			continue;
		f->source[f->names.count] = (unsigned char)i;
		if (tw_strs_adds(&f->names, features[i].name, err) < 0) {
			tw_features_release(f);
			return -1;
		}
	}
	return 0;
}

void tw_features_release(struct tw_features *f)
{
	tw_strs_clear(&f->names);
}

bool tw_features_read(const struct tw_features *f, const struct tw_node *node,
		      double *rows)
{
	const size_t count = f->names.count;
	bool known = node->used_ns > 0;

	for (size_t i = 0; i < count && known; i++) {
		const struct feature_source *t = &features[f->source[i]];

		rows[i] = value_of(t, node);
		rows[count + i] = t->from == FROM_CPUS ? rows[i] : 0;
		known = isfinite(rows[i]) && is_available(t, node, f->workloads);
	}
	return known;
}

/* ---- the last ticks ---- */

int tw_tick_rows_reserve(struct tw_tick_rows *t, size_t cols, size_t back,
			 struct tw_err *err)
{
	return tw_recent_rows_reserve(&t->machine, cols, back, err) < 0 ||
			       tw_recent_rows_reserve(&t->rest, cols, back, err) < 0
		       ? -1
		       : 0;
}

void tw_tick_rows_add(struct tw_tick_rows *t, uint64_t elapsed_ns, const double *rows)
{
	int64_t time_ms;

	t->time_ns += elapsed_ns;
	if (rows == NULL)
		return;
	time_ms = (int64_t)(t->time_ns / 1000000);
	tw_recent_rows_add(&t->machine, time_ms, rows);
	tw_recent_rows_add(&t->rest, time_ms, rows + t->rest.cols);
}

void tw_tick_rows_release(struct tw_tick_rows *t)
{
	tw_recent_rows_release(&t->machine);
	tw_recent_rows_release(&t->rest);
	*t = (struct tw_tick_rows){ .time_ns = 0 };
}
