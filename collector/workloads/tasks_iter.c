/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/iter.skel.h"
#include "collector/workloads/bpf_events.h"
#include "collector/workloads/tasks.h"
#include "lib/core/array.h"
#include "lib/core/err.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel gives at most 8 pages of records in one read. */
#define READ_BYTES 32768

/*
 * Records of a walk. A process's threads are neither adjacent nor always behind their
 * leader, so a hash table finds the process of a thread.
 */
struct iter {
	struct tw_bpf_events *events; /* first: tw_bpf_source_fd() */
	struct iter_bpf *skel;
	struct tw_task *task; /* processes of the walk, in order of their first thread */
	size_t count, size;
	uint32_t *slot;    /* hash table of tgids: index in task + 1; 0: free */
	size_t slot_count; /* a power of two, at least twice size */
};

static void close_iter(void *state)
{
	struct iter *it = state;

	if (it == NULL)
		return;
	iter_bpf__destroy(it->skel);
	tw_bpf_events_close(it->events);
	free(it->task);
	free(it->slot);
	free(it);
}

/* The slot of a tgid, or the free slot where it belongs. */
static uint32_t *find_slot(const struct iter *it, uint32_t tgid)
{
	size_t i = tgid * UINT32_C(2654435761) & (it->slot_count - 1);

	while (it->slot[i] != 0 && it->task[it->slot[i] - 1].tgid != tgid)
		i = (i + 1) & (it->slot_count - 1);
	return &it->slot[i];
}

static int grow(struct iter *it, struct tw_err *err)
{
	const size_t size = it->size != 0 ? it->size * 2 : 1024;
	uint32_t *slot = calloc(size * 2, sizeof(*slot));

	if (slot == NULL || !tw_resize(&it->task, size, sizeof(*it->task))) {
		free(slot);
		return tw_fail(err, TW_NOMEM, "%zu processes", size);
	}
	free(it->slot);
	it->slot = slot;
	it->slot_count = size * 2;
	it->size = size;
	for (size_t i = 0; i < it->count; i++)
		*find_slot(it, it->task[i].tgid) = (uint32_t)i + 1;
	return 0;
}

/*
 * Add a record. Time of exited threads (dead_ns) is taken from the process's first record
 * only: later records may include a thread that the walk has already counted, when thread
 * ids have wrapped around.
 */
static int take(struct iter *it, const struct tw_thread *r, struct tw_err *err)
{
	uint32_t *slot;
	struct tw_task *t;
	uint64_t cpu_ns;

	if (it->count == it->size && grow(it, err) < 0)
		return -1;
	slot = find_slot(it, r->task.tgid);
	if (*slot == 0) {
		it->task[it->count] = r->task;
		it->task[it->count++].cpu_ns += r->dead_ns;
		*slot = (uint32_t)it->count;
		return 0;
	}
	t = &it->task[*slot - 1];
	cpu_ns = t->cpu_ns + r->task.cpu_ns;
	if ((r->task.flags & TW_TASK_THREAD) == 0)
		*t = r->task;
	t->cpu_ns = cpu_ns;
	return 0;
}

static int read_records(struct iter *it, int fd, struct tw_err *err)
{
	struct tw_thread buf[READ_BYTES / sizeof(struct tw_thread)];
	size_t have = 0;

	for (;;) {
		const ssize_t n = read(fd, (char *)buf + have, sizeof(buf) - have);
		size_t whole;

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return tw_fail_errno(err, errno, "cannot read the BPF iterator");
		if (n == 0)
			return 0;
		have += (size_t)n;
		whole = have / sizeof(buf[0]);
		for (size_t i = 0; i < whole; i++)
			if (take(it, &buf[i], err) < 0)
				return -1;
		have -= whole * sizeof(buf[0]);
		memmove(buf, &buf[whole], have);
	}
}

static int load(struct iter *it, const struct tw_task_config *c, struct tw_err *err)
{
	int rc;

	it->skel = iter_bpf__open();
	if (it->skel == NULL)
		return tw_fail_errno(err, errno, "cannot open the BPF iterator");
	it->skel->rodata->tw_cgroup_v1 = c->cgroup_v1;
	it->skel->rodata->tw_boot_offset_ns = c->boot_offset_ns;
	if (tw_bpf_events_share(it->events, it->skel->maps.dead, err) < 0)
		return -1;
	rc = iter_bpf__load(it->skel);
	if (rc == 0)
		rc = iter_bpf__attach(it->skel);
	return tw_bpf_check(rc, "cannot load the BPF iterator", err);
}

static int open_iter(const struct tw_task_config *c, void **state, struct tw_err *err)
{
	struct iter *it = calloc(1, sizeof(*it));

	if (it == NULL)
		return tw_fail(err, TW_NOMEM, "BPF iterator");
	if (tw_bpf_events_open(c, &it->events, err) < 0 || load(it, c, err) < 0) {
		close_iter(it);
		return -1;
	}
	*state = it;
	return 0;
}

/*
 * Drain events first: their processes have left the task list. Threads without a leader
 * in the walk belong to a process that began after its id was passed.
 */
static int read_iter(void *state, const struct tw_task_sink *sink, struct tw_err *err)
{
	struct iter *it = state;
	int fd = -1, rc = -1;

	tw_bpf_events_drain(it->events, sink);
	it->count = 0;
	if (it->slot != NULL)
		memset(it->slot, 0, it->slot_count * sizeof(*it->slot));
	fd = bpf_iter_create(bpf_link__fd(it->skel->links.dump_task));
	if (fd < 0) {
		tw_fail_errno(err, errno, "cannot open the BPF iterator");
		goto out;
	}
	if (read_records(it, fd, err) < 0)
		goto out;
	for (size_t i = 0; i < it->count && sink->alive != NULL; i++)
		if ((it->task[i].flags & TW_TASK_THREAD) == 0)
			sink->alive(sink->arg, &it->task[i]);

	rc = 0;
out:
	if (fd >= 0)
		close(fd);
	return rc;
}

const struct tw_task_source tw_task_source_iter = {
	.name = "bpf-iter",
	.summary = "the kernel's BPF task iterator: exact, 0.6 us a task",
	.reports_exits = true,
	.open = open_iter,
	.read = read_iter,
	.fd = tw_bpf_source_fd,
	.drain = tw_bpf_source_drain,
	.stats = tw_bpf_source_stats,
	.close = close_iter,
};
