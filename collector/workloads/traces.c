/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/traces.h"

#include "bpf/traces.skel.h"
#include "collector/workloads/bpf_events.h"
#include "lib/core/array.h"
#include "lib/core/err.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A hook, and the programs that can attach to it on some kernel, the best first. One of
 * them is loaded.
 */
static const struct hook {
	const char *failure;
	enum tw_trace trace;
	const char *program[6];
} hooks[] = {
	{ "cannot trace reads of the page cache",
	  TW_TRACE_PAGE_CACHE,
	  { "on_folio_accessed", "on_page_accessed", "on_folio_accessed_probe",
	    "on_page_accessed_probe", "on_pages_got" } },
	{ "cannot trace writes to the page cache",
	  TW_TRACE_PAGE_CACHE,
	  { "on_folio_dirty", "on_page_dirty" } },
	{ "cannot trace softirqs", TW_TRACE_SOFTIRQS, { "on_softirq" } },
};

static const struct tw_counts_kinds kinds = {
	.kind = { [TW_TRACED_PAGE_CACHE_HITS] = TW_COUNTER_PAGE_CACHE_HITS,
		  [TW_TRACED_NET_TX_SOFTIRQS] = TW_COUNTER_NET_TX_SOFTIRQS,
		  [TW_TRACED_NET_RX_SOFTIRQS] = TW_COUNTER_NET_RX_SOFTIRQS,
		  [TW_TRACED_BLOCK_SOFTIRQS] = TW_COUNTER_BLOCK_SOFTIRQS },
	.count = TW_COUNTS_MAX,
};

const char *const tw_trace_names[] = {
	[TW_TRACE_PAGE_CACHE] = "page-cache",
	[TW_TRACE_SOFTIRQS] = "softirqs",
	[TW_TRACE_COUNT] = NULL,
};

/* Entries of one batched read of the map. */
#define BATCH 1024

struct tw_traces {
	struct traces_bpf *skel[TW_COUNT(hooks)]; /* they share the map of the first */
	size_t count;
	bool attached[TW_TRACE_COUNT];
	struct tw_counts counts;
	uint32_t tgid[BATCH];
	struct tw_counts_of of[BATCH];
};

static int map_of(const struct tw_traces *t)
{
	return bpf_map__fd(t->skel[0]->maps.traced);
}

/* ---- opening ---- */

static void choose_program(struct traces_bpf *skel, const char *name)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, skel->obj)
		bpf_program__set_autoload(p, strcmp(bpf_program__name(p), name) == 0);
}

/* Returns 0 or an errno. */
static int try_program(struct tw_traces *t, const char *name)
{
	struct traces_bpf *skel = traces_bpf__open();
	int errnum = 0;

	if (skel == NULL)
		return errno;
	choose_program(skel, name);
	if (t->count > 0)
		errnum = -bpf_map__reuse_fd(skel->maps.traced, map_of(t));
	if (errnum == 0)
		errnum = -traces_bpf__load(skel);
	if (errnum == 0)
		errnum = -traces_bpf__attach(skel);
	if (errnum == 0)
		t->skel[t->count++] = skel;
	else
		traces_bpf__destroy(skel);
	return errnum;
}

static int open_hook(struct tw_traces *t, const struct hook *h, struct tw_err *err)
{
	int errnum = ENOENT;

	for (size_t i = 0; i < TW_COUNT(h->program) && h->program[i] != NULL; i++) {
		errnum = try_program(t, h->program[i]);
		if (errnum == 0)
			return 0;
	}
	return tw_bpf_check(-errnum, h->failure, err);
}

int tw_traces_open(struct tw_traces **out, struct tw_err *err)
{
	*out = calloc(1, sizeof(**out));
	return *out != NULL ? 0 : tw_fail(err, TW_NOMEM, "traces");
}

int tw_traces_add(struct tw_traces *t, enum tw_trace trace, struct tw_err *err)
{
	const size_t before = t->count;

	for (size_t i = 0; i < TW_COUNT(hooks); i++)
		if (hooks[i].trace == trace && open_hook(t, &hooks[i], err) < 0) {
			while (t->count > before)
				traces_bpf__destroy(t->skel[--t->count]);
			return -1;
		}
	t->attached[trace] = true;
	return 0;
}

void tw_traces_close(struct tw_traces *t)
{
	if (t == NULL)
		return;
	while (t->count > 0)
		traces_bpf__destroy(t->skel[--t->count]);
	tw_counts_release(&t->counts);
	free(t);
}

bool tw_traces_have(const struct tw_traces *t, enum tw_counter counter)
{
	if (counter == TW_COUNTER_PAGE_CACHE_HITS)
		return t->attached[TW_TRACE_PAGE_CACHE];
	return counter > TW_COUNTER_PAGE_CACHE_HITS && t->attached[TW_TRACE_SOFTIRQS];
}

uint64_t tw_traces_lost(const struct tw_traces *t)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < t->count; i++)
		for (int k = 0; k < TW_COUNTS_MAX; k++)
			lost += t->skel[i]->bss->tw_rest.count[k];
	return lost;
}

/* ---- reading ---- */

static int read_map(struct tw_traces *t, struct tw_err *err)
{
	uint32_t place, *before = NULL;
	int rc;

	do {
		uint32_t count = BATCH;

		rc = bpf_map_lookup_batch(map_of(t), before, &place, t->tgid, t->of,
					  &count, NULL);
		if (rc < 0 && errno != ENOENT)
			return tw_fail_errno(err, errno, "cannot read traces");
		for (uint32_t i = 0; i < count; i++)
			if (tw_counts_add(&t->counts, t->tgid[i], &t->of[i], true, err) <
			    0)
				return -1;
		before = &place;
	} while (rc == 0);
	return 0;
}

int tw_traces_read(struct tw_traces *t, tw_counted *counted, void *arg,
		   struct tw_err *err)
{
	if (t->count == 0)
		return 0;
	if (tw_counts_begin(&t->counts, err) < 0 || read_map(t, err) < 0)
		return -1;
	tw_counts_report(&t->counts, &kinds, map_of(t), counted, arg);
	return 0;
}
