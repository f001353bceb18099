/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/walk.skel.h"
#include "collector/workloads/bpf_events.h"
#include "collector/workloads/tasks.h"
#include "lib/core/err.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/* 0.9 MiB; more processes take a second walk. */
#define WALK_MAX 16384

struct walk {
	struct tw_bpf_events *events; /* first: tw_bpf_source_fd() */
	struct walk_bpf *skel;
	const struct tw_task *task; /* mapped; NULL: not mapped yet */
	uint32_t max;
};

static void close_walk(void *state)
{
	struct walk *w = state;

	if (w == NULL)
		return;
	if (w->task != NULL)
		munmap((void *)(uintptr_t)w->task, w->max * sizeof(*w->task));
	walk_bpf__destroy(w->skel);
	tw_bpf_events_close(w->events);
	free(w);
}

static int load(struct walk *w, const struct tw_task_config *c, struct tw_err *err)
{
	void *map;

	w->skel = walk_bpf__open();
	if (w->skel == NULL)
		return tw_fail_errno(err, errno, "cannot open the BPF walk");
	w->skel->rodata->tw_cgroup_v1 = c->cgroup_v1;
	w->skel->rodata->tw_boot_offset_ns = c->boot_offset_ns;
	w->skel->bss->tw_max = w->max;
	bpf_map__set_max_entries(w->skel->maps.tasks, w->max);
	if (tw_bpf_events_share(w->events, w->skel->maps.dead, err) < 0)
		return -1;
	if (tw_bpf_check(walk_bpf__load(w->skel), "cannot load the BPF walk", err) < 0)
		return -1;
	map = mmap(NULL, w->max * sizeof(*w->task), PROT_READ, MAP_SHARED,
		   bpf_map__fd(w->skel->maps.tasks), 0);
	if (map == MAP_FAILED)
		return tw_fail_errno(err, errno, "cannot map the BPF walk's records");
	w->task = map;
	return 0;
}

/* Run one walk. *count: processes found, including the `skip` that were passed over. */
static int walk_once(struct walk *w, uint32_t skip, uint32_t *count, struct tw_err *err)
{
	struct bpf_test_run_opts opts = { .sz = sizeof(opts) };
	int errnum;

	w->skel->bss->tw_skip = skip;
	errnum = -bpf_prog_test_run_opts(bpf_program__fd(w->skel->progs.walk_tasks),
					 &opts);
	if (errnum != 0)
		return tw_fail_errno(err, errnum, "cannot run the BPF walk");
	*count = w->skel->bss->tw_count;
	return 0;
}

static int open_walk(const struct tw_task_config *c, void **state, struct tw_err *err)
{
	struct walk *w = calloc(1, sizeof(*w));
	uint32_t count;

	if (w == NULL)
		return tw_fail(err, TW_NOMEM, "BPF walk");
	w->max = c->walk_max != 0 ? c->walk_max : WALK_MAX;
	if (tw_bpf_events_open(c, &w->events, err) < 0 || load(w, c, err) < 0 ||
	    walk_once(w, 0, &count, err) < 0) {
		close_walk(w);
		return -1;
	}
	*state = w;
	return 0;
}

/*
 * Drain events first: their processes have left the task list. A process that begins or
 * exits between two walks may shift another one past both; the next tick sees that one.
 */
static int read_walk(void *state, const struct tw_task_sink *sink, struct tw_err *err)
{
	struct walk *w = state;
	uint32_t skip = 0, count;

	tw_bpf_events_drain(w->events, sink);
	for (;;) {
		if (walk_once(w, skip, &count, err) < 0)
			return -1;
		for (uint32_t i = 0; i + skip < count && sink->alive != NULL; i++)
			sink->alive(sink->arg, &w->task[i]);
		if (count < skip || count - skip < w->max)
			return 0;
		skip = count;
	}
}

const struct tw_task_source tw_task_source_walk = {
	.name = "bpf-walk",
	.summary = "one BPF call walks all tasks: exact, 0.1 to 0.2 us a task",
	.reports_exits = true,
	.open = open_walk,
	.read = read_walk,
	.fd = tw_bpf_source_fd,
	.drain = tw_bpf_source_drain,
	.stats = tw_bpf_source_stats,
	.close = close_walk,
};
