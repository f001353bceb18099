/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts hardware events per process. The program reads the counters when a CPU switches
 * from one process to another, not between threads of one process, and when the collector
 * asks.
 *
 * Some hundred times a second it samples what each CPU runs: at the first switch after a
 * time by chance. No switch lies between, so that this is what ran at that time.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/kernel.bpf.h"
#include "bpf/shared.h"

char LICENSE[] SEC("license") = "GPL";

/* Number of counters. Counter i of a CPU is at index cpu * tw_counters + i of the map. */
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

/* Counts of rows that were replaced by another process's; part of the totals. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct tw_counts_of);
} spilled SEC(".maps");

/* CPUs of a sample; 0: no samples. Bytes of it, a multiple of 8. Set before load. */
const volatile __u32 tw_sample_cpus = 0;
const volatile __u32 tw_sample_bytes = sizeof(struct tw_sample);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* bytes, set before load */
} samples SEC(".maps");

/* The process that each CPU runs. A cache line each, so that CPUs do not wait. */
struct {
	__u32 tgid;
	__u32 reserved[15];
} running[TW_SAMPLE_CPUS] __attribute__((aligned(64)));

/* Times of the last sample and of the next one; the jiffy of the last look at the clock.
 */
__u64 tw_sampled_ns, tw_sample_ns, tw_looked;

/* Nanoseconds from one sample to the next: at least, and a mask for more by chance. */
#define SAMPLE_MIN_NS 4000000
#define SAMPLE_MORE_NS 0x7fffff

/* Rows that found no room in `spilled`, and failed reads. */
__u64 tw_counts_lost, tw_reads_failed;

static __always_inline void spill(const struct tw_count *row)
{
	__u32 tgid = row->tgid;
	struct tw_counts_of *sum = bpf_map_lookup_elem(&spilled, &tgid);

	if (!sum && !bpf_map_update_elem(&spilled, &tgid, &row->of, BPF_NOEXIST))
		return;
	/* Another CPU may have created the entry. */
	sum = sum ? sum : bpf_map_lookup_elem(&spilled, &tgid);
	if (!sum) {
		__sync_fetch_and_add(&tw_counts_lost, 1);
		return;
	}
	for (int i = 0; i < TW_COUNTS_MAX; i++)
		__sync_fetch_and_add(&sum->count[i], row->of.count[i]);
}

static __always_inline struct tw_count *row_of(struct tw_count_cpu *c, __u32 tgid)
{
	struct tw_count *row = &c->row[tgid & (TW_COUNT_ROWS - 1)];

	if (row->tgid == tgid)
		return row;
	if (row->tgid != 0)
		spill(row);
	/*
	 * Clear the counts before tgid changes, so that a concurrent reader never sees
	 * the old process's counts under the new tgid.
	 */
	for (int i = 0; i < TW_COUNTS_MAX; i++)
		row->of.count[i] = 0;
	barrier();
	row->tgid = tgid;
	return row;
}

/*
 * While events share the hardware, scale by enabled / running time. Both are differences
 * between the last two reads of times.
 */
static __always_inline __u64 scale(__u64 count, struct tw_count_start *start,
				   const struct bpf_perf_event_value *now)
{
	__u64 enabled = now->enabled - start->enabled,
	      running = now->running - start->running;

	start->enabled = now->enabled;
	start->running = now->running;
	if (running == enabled)
		return count;
	start->shared = 1;
	return running ? (count * ((enabled << 8) / running)) >> 8 : 0;
}

/* Reading the times, too, doubles the cost. False: the read failed. */
static __always_inline _Bool read_event(__u32 place, _Bool times,
					struct bpf_perf_event_value *now)
{
	if (times)
		return !bpf_perf_event_read_value(&counters, place, now, sizeof(*now));
	now->counter = bpf_perf_event_read(&counters, place);
	/* Errors are the 4095 largest numbers. */
	return now->counter < -4095ULL;
}

/*
 * Add the counts since the last call to the CPU's process. look: find out whether events
 * share the hardware; calls between read times only if they did.
 */
static __always_inline void count(struct tw_count_cpu *c, _Bool look)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct tw_count *row = c->tgid ? row_of(c, c->tgid) : 0;

	for (__u32 i = 0; i < TW_COUNTS_MAX; i++) {
		struct tw_count_start *start = &c->start[i];
		struct bpf_perf_event_value now;
		_Bool times = look || start->shared;
		__u64 more;

		if (i >= tw_counters)
			break;
		if (!read_event(cpu * tw_counters + i, times, &now)) {
			tw_reads_failed++;
			continue;
		}
		more = now.counter - start->counter;
		start->counter = now.counter;
		if (look)
			start->shared = 0;
		if (times)
			more = scale(more, start, &now);
		if (row)
			row->of.count[i] += more;
	}
}

/*
 * A sample that finds no room is not made up for: the next one stands for the time since
 * then. Two CPUs may sample at a time; the later one then stands for no time.
 */
static __always_inline void sample(__u64 now)
{
	__u64 since = tw_sampled_ns;
	struct tw_sample *s;

	tw_sampled_ns = now;
	tw_sample_ns = now + SAMPLE_MIN_NS + (bpf_get_prandom_u32() & SAMPLE_MORE_NS);
	s = bpf_ringbuf_reserve(&samples, tw_sample_bytes, 0);
	if (!s)
		return;
	s->ns = since && now > since ? now - since : 0;
	for (__u32 cpu = 0; cpu < TW_SAMPLE_CPUS; cpu++) {
		if (cpu >= tw_sample_cpus)
			break;
		s->tgid[cpu] = running[cpu].tgid;
	}
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
}

/* Call it before the CPU's entry in `running` changes. The clock is read once a jiffy. */
static __always_inline void may_sample(void)
{
	__u64 jiffies = bpf_jiffies64(), now;

	if (jiffies == tw_looked)
		return;
	tw_looked = jiffies;
	now = bpf_ktime_get_ns();
	if (now >= tw_sample_ns)
		sample(now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 zero = 0;
	struct tw_count_cpu *c;

	if (prev->tgid == next->tgid)
		return 0;
	if (tw_sample_cpus) {
		__u32 cpu = bpf_get_smp_processor_id();

		may_sample();
		if (cpu < TW_SAMPLE_CPUS)
			running[cpu].tgid = next->tgid;
	}
	c = bpf_map_lookup_elem(&cpus, &zero);
	if (!c)
		return 0;
	/* A switch was missed: the counts belong to no process. */
	if (c->tgid != (__u32)prev->tgid)
		c->tgid = 0;
	count(c, 0);
	c->tgid = next->tgid;
	return 0;
}

/*
 * The collector runs this on each CPU before it reads the counts, for processes that run
 * without a switch.
 */
SEC("raw_tp/")
int count_now(void *ctx)
{
	__u32 zero = 0;
	struct tw_count_cpu *c = bpf_map_lookup_elem(&cpus, &zero);

	if (!c)
		return 0;
	c->tgid = bpf_get_current_pid_tgid() >> 32 == c->tgid ? c->tgid : 0;
	count(c, 1);
	c->tgid = bpf_get_current_pid_tgid() >> 32;
	return 0;
}
