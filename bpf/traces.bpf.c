/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts kernel events per process. Each event costs a little, so the collector loads
 * these programs only on request. The functions that touch the page cache have had
 * several names; the collector loads those that this kernel has.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/shared.h"

char LICENSE[] SEC("license") = "GPL";

/* Counts by process id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct tw_counts_of);
} traced SEC(".maps");

/* Counts of processes that found no room in `traced`. */
struct tw_counts_of tw_rest;

/* Interrupts of the idle task belong to no process. */
static __always_inline void add(enum tw_traced what)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct tw_counts_of none = {}, *of;

	if (!tgid)
		return;
	of = bpf_map_lookup_elem(&traced, &tgid);
	if (!of) {
		bpf_map_update_elem(&traced, &tgid, &none, BPF_NOEXIST);
		of = bpf_map_lookup_elem(&traced, &tgid);
	}
	__sync_fetch_and_add(of ? &of->count[what] : &tw_rest.count[what], 1);
}

#define COUNT_PAGES(section, name)              \
	SEC(section) int name(void *ctx)        \
	{                                       \
		add(TW_TRACED_PAGE_CACHE_HITS); \
		return 0;                       \
	}

/*
 * A page that is read from the cache. The last hook runs once for each read() (Linux
 * 6.11).
 */
COUNT_PAGES("fentry/folio_mark_accessed", on_folio_accessed)
COUNT_PAGES("fentry/mark_page_accessed", on_page_accessed)
COUNT_PAGES("kprobe/folio_mark_accessed", on_folio_accessed_probe)
COUNT_PAGES("kprobe/mark_page_accessed", on_page_accessed_probe)
COUNT_PAGES("tp_btf/mm_filemap_get_pages", on_pages_got)

/* A page that is written. */
COUNT_PAGES("tp_btf/writeback_dirty_folio", on_folio_dirty)
COUNT_PAGES("tp_btf/writeback_dirty_page", on_page_dirty)

/* include/linux/interrupt.h */
#define NET_TX_SOFTIRQ 2
#define NET_RX_SOFTIRQ 3
#define BLOCK_SOFTIRQ 4

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq, unsigned int vector)
{
	if (vector == NET_TX_SOFTIRQ)
		add(TW_TRACED_NET_TX_SOFTIRQS);
	else if (vector == NET_RX_SOFTIRQ)
		add(TW_TRACED_NET_RX_SOFTIRQS);
	else if (vector == BLOCK_SOFTIRQ)
		add(TW_TRACED_BLOCK_SOFTIRQS);
	return 0;
}
