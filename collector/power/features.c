/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/features.h"

#include "collector/power/node.h"
#include "collector/workloads/workload.h"
#include "lib/core/array.h"

#include <math.h>
#include <stdint.h>

/* A source of a feature: a counter of processes, or a value of the node. */
struct feature_source {
	const char *name;
	int counter; /* enum tw_counter; -1: none */
	bool stays;  /* the value does not depend on load */
	double (*value)(const struct tw_node *n, double seconds);
};

static double cpu_time(const struct tw_node *n, double seconds)
{
	return (double)n->used.cpu_ns / 1e6 / seconds;
}

static double frequency(const struct tw_node *n, double seconds)
{
	double sum = 0;

	(void)seconds;
	for (size_t i = 0; i < n->frequencies; i++)
		sum += (double)n->hz[i];
	return n->frequencies > 0 ? sum / (double)n->frequencies : NAN;
}

/* A rate of the node's counters, which may be of several ticks; NAN: unknown. */
static double rate(const struct tw_node *n, uint64_t increase)
{
	return n->there && n->last_ns > 0 ? (double)increase * 1e9 / (double)n->last_ns
					  : NAN;
}

static double switches(const struct tw_node *n, double seconds)
{
	(void)seconds;
	return rate(n, n->last.context_switches);
}

static double interrupts(const struct tw_node *n, double seconds)
{
	(void)seconds;
	return rate(n, n->last.interrupts);
}

static double page_faults(const struct tw_node *n, double seconds)
{
	(void)seconds;
	return rate(n, n->last.page_faults);
}

#define MODE(id, mode)                                                   \
	static double mode_##id(const struct tw_node *n, double seconds) \
	{                                                                \
		(void)seconds;                                           \
		return rate(n, n->last.cpu_ms[mode]);                    \
	}
#define COUNTER(id, which)                                                  \
	static double counter_##id(const struct tw_node *n, double seconds) \
	{                                                                   \
		return (double)n->used.counter[which] / seconds;            \
	}

#define SOFTIRQ(id, vector)                                                 \
	static double softirq_##id(const struct tw_node *n, double seconds) \
	{                                                                   \
		(void)seconds;                                              \
		return rate(n, n->last.softirqs[vector]);                   \
	}

MODE(irq, TW_CPU_IRQ)
MODE(nice, TW_CPU_NICE)
MODE(softirq, TW_CPU_SOFTIRQ)
MODE(system, TW_CPU_SYSTEM)
MODE(user, TW_CPU_USER)
COUNTER(cycles, TW_COUNTER_CYCLES)
COUNTER(instructions, TW_COUNTER_INSTRUCTIONS)
COUNTER(misses, TW_COUNTER_CACHE_MISSES)
COUNTER(page_cache_hits, TW_COUNTER_PAGE_CACHE_HITS)
COUNTER(block, TW_COUNTER_BLOCK_SOFTIRQS)
COUNTER(net_rx, TW_COUNTER_NET_RX_SOFTIRQS)
COUNTER(net_tx, TW_COUNTER_NET_TX_SOFTIRQS)
SOFTIRQ(block, TW_SOFTIRQ_BLOCK)
SOFTIRQ(net_rx, TW_SOFTIRQ_NET_RX)
SOFTIRQ(net_tx, TW_SOFTIRQ_NET_TX)

/*
 * Sorted by name; if a feature has several sources, the first available one is used.
 * Softirqs of processes come first, because models are trained on our own metrics of
 * them; the machine's softirqs are the fallback.
 */
static const struct feature_source features[] = {
	{ "bpf_block_irq", TW_COUNTER_BLOCK_SOFTIRQS, false, counter_block },
	{ "bpf_block_irq", -1, false, softirq_block },
	{ "bpf_cpu_time_ms", -1, false, cpu_time },
	{ "bpf_net_rx_irq", TW_COUNTER_NET_RX_SOFTIRQS, false, counter_net_rx },
	{ "bpf_net_rx_irq", -1, false, softirq_net_rx },
	{ "bpf_net_tx_irq", TW_COUNTER_NET_TX_SOFTIRQS, false, counter_net_tx },
	{ "bpf_net_tx_irq", -1, false, softirq_net_tx },
	{ "bpf_page_cache_hit", TW_COUNTER_PAGE_CACHE_HITS, false,
	  counter_page_cache_hits },
	{ "cache_miss", TW_COUNTER_CACHE_MISSES, false, counter_misses },
	{ "cpu_cycles", TW_COUNTER_CYCLES, false, counter_cycles },
	{ "cpu_instructions", TW_COUNTER_INSTRUCTIONS, false, counter_instructions },
	{ "cpu_scaling_frequency_hertz", -1, true, frequency },
	{ "node_context_switches", -1, false, switches },
	{ "node_cpu_irq_ms", -1, false, mode_irq },
	{ "node_cpu_nice_ms", -1, false, mode_nice },
	{ "node_cpu_softirq_ms", -1, false, mode_softirq },
	{ "node_cpu_system_ms", -1, false, mode_system },
	{ "node_cpu_user_ms", -1, false, mode_user },
	{ "node_interrupts", -1, false, interrupts },
	{ "node_page_faults", -1, false, page_faults },
};

_Static_assert(TW_COUNT(features) <= TW_FEATURES_MAX, "a row has room for all features");

/* Frequencies exist from the start or never; counters may be lost. */
static bool is_available(const struct feature_source *f, const struct tw_node *node,
			 const struct tw_workloads *workloads)
{
	if (f->value == frequency)
		return node->frequencies > 0;
	return f->counter < 0 ||
	       (workloads != NULL &&
		tw_workloads_counts(workloads, (enum tw_counter)f->counter));
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
	const double seconds = (double)node->used_ns / 1e9;
	const size_t count = f->names.count;
	bool known = seconds > 0;

	for (size_t i = 0; i < count && known; i++) {
		const struct feature_source *t = &features[f->source[i]];

		rows[i] = t->value(node, seconds);
		rows[count + i] = t->stays ? rows[i] : 0;
		known = isfinite(rows[i]) && is_available(t, node, f->workloads);
	}
	return known;
}
