/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the processors count for each process. Counters are read where one process gives a
 * CPU to another, not where threads of one do, and when the collector asks.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/collector.h"
#include "bpf/kernel.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* How many counters there are; the event of counter i on a CPU is at cpu * this + i. */
const volatile __u32 tw_counters = 1;

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__type(value, __u32);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tw_count_cpu);
} cpus SEC(".maps");

/* Rows that gave way to another process's; what is found here belongs to the total. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct tw_count);
} spilled SEC(".maps");

/* Rows that did not fit there, and reads that failed. */
__u64 tw_counts_lost, tw_reads_failed;

static __always_inline void spill(struct tw_count *row)
{
	__u32 tgid = row->tgid;
	struct tw_count *old = bpf_map_lookup_elem(&spilled, &tgid);

	if (!old) {
		/* The other CPUs' values are 0. */
		if (bpf_map_update_elem(&spilled, &tgid, row, BPF_NOEXIST))
			__sync_fetch_and_add(&tw_counts_lost, 1);
		return;
	}
	old->tgid = tgid;
	for (int i = 0; i < TW_COUNTER_COUNT; i++)
		old->counter[i] += row->counter[i];
}

static __always_inline struct tw_count *row_of(struct tw_count_cpu *c, __u32 tgid)
{
	struct tw_count *row = &c->row[tgid & (TW_COUNT_ROWS - 1)];

	if (row->tgid == tgid)
		return row;
	if (row->tgid != 0)
		spill(row);
	row->tgid = tgid;
	for (int i = 0; i < TW_COUNTER_COUNT; i++)
		row->counter[i] = 0;
	return row;
}

/* Where counters share the hardware, the part of the time that it counted stands for all.
 */
static __always_inline __u64 difference(const __u64 start[3],
					const struct bpf_perf_event_value *now)
{
	__u64 count = now->counter - start[0], enabled = now->enabled - start[1],
	      running = now->running - start[2];

	if (running == enabled)
		return count;
	return running ? (count * ((enabled << 8) / running)) >> 8 : 0;
}

/* What was counted since the last time is the CPU's process's. */
static __always_inline void count(struct tw_count_cpu *c)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct tw_count *row = c->tgid ? row_of(c, c->tgid) : 0;

	for (__u32 i = 0; i < TW_COUNTER_COUNT; i++) {
		struct bpf_perf_event_value now;

		if (i >= tw_counters)
			break;
		if (bpf_perf_event_read_value(&counters, cpu * tw_counters + i, &now,
					      sizeof(now))) {
			tw_reads_failed++;
			continue;
		}
		if (row)
			row->counter[i] += difference(c->start[i], &now);
		c->start[i][0] = now.counter;
		c->start[i][1] = now.enabled;
		c->start[i][2] = now.running;
	}
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 zero = 0;
	struct tw_count_cpu *c;

	if (prev->tgid == next->tgid)
		return 0;
	c = bpf_map_lookup_elem(&cpus, &zero);
	if (!c)
		return 0;
	/* A switch that went unseen: nobody's. */
	if (c->tgid != (__u32)prev->tgid)
		c->tgid = 0;
	count(c);
	c->tgid = next->tgid;
	return 0;
}

/* Called on each CPU before its counts are read, for what runs on and on. */
SEC("raw_tp/")
int count_now(void *ctx)
{
	__u32 zero = 0;
	struct tw_count_cpu *c = bpf_map_lookup_elem(&cpus, &zero);

	if (!c)
		return 0;
	c->tgid = bpf_get_current_pid_tgid() >> 32 == c->tgid ? c->tgid : 0;
	count(c);
	c->tgid = bpf_get_current_pid_tgid() >> 32;
	return 0;
}
