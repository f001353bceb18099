/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/bpf_events.h"

#include "bpf/exits.skel.h"
#include "collector/workloads/tasks.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define EVENTS_MAX 4096

/*
 * Exited processes whose last threads are not freed yet, and how long they are kept. RCU
 * frees threads within milliseconds, unless it has to wait for a CPU; lazy RCU takes 10
 * s.
 */
#define LATE_MAX 2048
#define LATE_NS UINT64_C(12000000000)

/* Each event has a ring buffer header of 8 bytes. */
#define EVENT_BYTES (sizeof(struct tw_task_event) + 8)

/* Slots of the hash table of reported overflow: at most half of them are taken. */
#define REPORTED_SLOTS (2 * TW_OVERFLOW_MAX)

struct reported {
	bool taken;
	uint64_t cgroup_id;
	struct tw_task_overflow total;
};

struct tw_bpf_events {
	struct exits_bpf *skel;
	struct ring_buffer *ring;
	const struct tw_task_sink *sink; /* set while draining */
	uint64_t lost_reported;          /* tw_lost at the last report */
	struct reported reported[REPORTED_SLOTS];
	struct tw_task_overflow rest_reported;
	struct tw_task_event late[LATE_MAX];
	size_t late_count;
};

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

int tw_bpf_check(int rc, const char *what, struct tw_err *err)
{
	if (rc == 0)
		return 0;
	if (access(KERNEL_BTF, F_OK) < 0 && errno == ENOENT)
		return tw_fail(err, TW_UNSUPPORTED,
			       "%s: no " KERNEL_BTF
			       " (a kernel with CONFIG_DEBUG_INFO_BTF has it)",
			       what);
	return tw_fail_errno(err, -rc, "%s", what);
}

static struct tw_group_key key_of(const struct tw_task_event *t)
{
	return (struct tw_group_key){ t->signal, t->task.tgid };
}

/* Take the process's total from the map `dead`; true if it grew. */
static bool add_late(const struct tw_bpf_events *e, struct tw_task_event *t)
{
	const struct tw_group_key key = key_of(t);
	struct tw_dead d;

	/* An older entry is of another process: see dead_of() of bpf/task.bpf.h. */
	if (bpf_map_lookup_elem(bpf_map__fd(e->skel->maps.dead), &key, &d) != 0 ||
	    d.since_ns + (uint64_t)e->skel->rodata->tw_boot_offset_ns <
		    t->task.start_ns ||
	    d.sum_ns <= t->task.cpu_ns)
		return false;
	t->task.cpu_ns = d.sum_ns;
	return true;
}

static void forget_dead(const struct tw_bpf_events *e, const struct tw_task_event *t)
{
	const struct tw_group_key key = key_of(t);

	bpf_map_delete_elem(bpf_map__fd(e->skel->maps.dead), &key);
}

static void on_ended(struct tw_bpf_events *e, const struct tw_task_event *t)
{
	struct tw_task_event known = *t;

	if (t->awaited != 0 && e->late_count < LATE_MAX) {
		e->late[e->late_count++] = *t;
	} else if (t->awaited != 0) {
		add_late(e, &known);
		forget_dead(e, t);
	}
	if (e->sink->ended != NULL)
		e->sink->ended(e->sink->arg, &known.task);
}

/*
 * Report time of threads that were freed since, and forget processes that waited long
 * enough.
 */
static void report_late(struct tw_bpf_events *e)
{
	const uint64_t now_ns = tw_now_ns();
	size_t left = 0;

	for (size_t i = 0; i < e->late_count; i++) {
		struct tw_task_event *t = &e->late[i];
		const uint64_t before_ns = t->task.cpu_ns;

		if (add_late(e, t) && e->sink->late != NULL)
			e->sink->late(e->sink->arg, &t->task, t->task.cpu_ns - before_ns);
		if (t->at_ns + LATE_NS > now_ns)
			e->late[left++] = *t;
		else
			forget_dead(e, t);
	}
	e->late_count = left;
}

static int on_event(void *ctx, void *data, size_t size)
{
	struct tw_bpf_events *e = ctx;
	const struct tw_task_sink *s = e->sink;
	const struct tw_task_event *t = data;
	const struct tw_cgroup_event *c = data;

	if (size == sizeof(*c) && c->kind == TW_EVENT_CGROUP && s->cgroup != NULL)
		s->cgroup(s->arg, c->cgroup_id, c->path);
	if (size != sizeof(*t))
		return 0;
	if (t->kind == TW_EVENT_LEFT && s->left != NULL)
		s->left(s->arg, &t->task);
	if (t->kind == TW_EVENT_ENDED)
		on_ended(e, t);
	if (t->kind == TW_EVENT_MOVED && s->moved != NULL)
		s->moved(s->arg, &t->task);
	return 0;
}

uint32_t tw_bpf_ring_bytes(uint64_t wanted)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_PAGESIZE);

	while (bytes < wanted && bytes < UINT32_C(1) << 30)
		bytes *= 2;
	return (uint32_t)bytes;
}

static int load(struct tw_bpf_events *e, const struct tw_task_config *c, bool releases,
		struct tw_err *err)
{
	const uint64_t events = c->events_max != 0 ? c->events_max : EVENTS_MAX;
	const uint32_t bytes = tw_bpf_ring_bytes(events * EVENT_BYTES);

	e->skel = exits_bpf__open();
	if (e->skel == NULL)
		return tw_fail_errno(err, errno, "cannot open the BPF programs");
	e->skel->rodata->tw_cgroup_v1 = c->cgroup_v1;
	e->skel->rodata->tw_boot_offset_ns = c->boot_offset_ns;
	e->skel->rodata->tw_monotonic_offset_ns = c->monotonic_offset_ns;
	e->skel->rodata->tw_cgroup_hierarchy = c->cgroup_hierarchy;
	e->skel->rodata->tw_wake_bytes = bytes / 4;
	bpf_map__set_max_entries(e->skel->maps.events, bytes);
	bpf_program__set_autoload(e->skel->progs.on_release, releases);
	bpf_program__set_autoload(e->skel->progs.on_exit, !releases);
	if (tw_bpf_check(exits_bpf__load(e->skel), "cannot load the BPF programs", err) <
	    0)
		return -1;
	return tw_bpf_check(exits_bpf__attach(e->skel), "cannot attach the BPF programs",
			    err);
}

static int open_ring(struct tw_bpf_events *e, struct tw_err *err)
{
	e->ring = ring_buffer__new(bpf_map__fd(e->skel->maps.events), on_event, e, NULL);
	if (e->ring == NULL)
		return tw_fail_errno(err, errno, "cannot map the BPF ring buffer");
	return 0;
}

int tw_bpf_events_open(const struct tw_task_config *c, struct tw_bpf_events **out,
		       struct tw_err *err)
{
	struct tw_bpf_events *e = calloc(1, sizeof(*e));
	int rc;

	if (e == NULL)
		return tw_fail(err, TW_NOMEM, "BPF events");
	rc = load(e, c, true, err);
	if (rc < 0) {
		exits_bpf__destroy(e->skel);
		rc = load(e, c, false, err);
	}
	if (rc == 0)
		rc = open_ring(e, err);
	if (rc < 0) {
		tw_bpf_events_close(e);
		return -1;
	}
	*out = e;
	return 0;
}

void tw_bpf_events_close(struct tw_bpf_events *e)
{
	if (e == NULL)
		return;
	ring_buffer__free(e->ring);
	exits_bpf__destroy(e->skel);
	free(e);
}

int tw_bpf_events_share(const struct tw_bpf_events *e, struct bpf_map *dead,
			struct tw_err *err)
{
	const int errnum = -bpf_map__reuse_fd(dead, bpf_map__fd(e->skel->maps.dead));

	if (errnum != 0)
		return tw_fail_errno(err, errnum, "cannot share a BPF map");
	return 0;
}

/* The events of a source's state, which begins with the pointer to them. */
static struct tw_bpf_events *events_of(const void *state)
{
	return *(struct tw_bpf_events *const *)state;
}

int tw_bpf_source_fd(const void *state)
{
	return bpf_map__fd(events_of(state)->skel->maps.events);
}

/* The BPF programs change it at any time. */
static uint64_t lost_now(const struct tw_bpf_events *e)
{
	return __atomic_load_n(&e->skel->bss->tw_lost, __ATOMIC_RELAXED);
}

static struct reported *reported_of(struct tw_bpf_events *e, uint64_t cgroup_id)
{
	size_t i =
		(size_t)(cgroup_id * UINT64_C(0x9e3779b97f4a7c15) >> 32) % REPORTED_SLOTS;

	while (e->reported[i].taken && e->reported[i].cgroup_id != cgroup_id)
		i = (i + 1) % REPORTED_SLOTS;
	e->reported[i].taken = true;
	e->reported[i].cgroup_id = cgroup_id;
	return &e->reported[i];
}

/* Report the growth of a total since the last report. */
static void report_growth(const struct tw_bpf_events *e, uint64_t cgroup_id,
			  struct tw_task_overflow *before,
			  const struct tw_task_overflow *total)
{
	const struct tw_task_overflow more = { .cpu_ns = total->cpu_ns - before->cpu_ns,
					       .ended = total->ended - before->ended };

	if (more.cpu_ns == 0 && more.ended == 0)
		return;
	*before = *total;
	e->sink->overflowed(e->sink->arg, cgroup_id, &more);
}

static void report_overflow(struct tw_bpf_events *e)
{
	const int fd = bpf_map__fd(e->skel->maps.overflow);
	struct tw_task_overflow total;
	uint64_t id, *before = NULL;

	/* Read tw_lost first: exits lost from here on are reported the next time, too. */
	e->lost_reported = lost_now(e);
	while (bpf_map_get_next_key(fd, before, &id) == 0) {
		if (bpf_map_lookup_elem(fd, &id, &total) == 0)
			report_growth(e, id, &reported_of(e, id)->total, &total);
		before = &id;
	}
	total.cpu_ns = e->skel->bss->tw_rest_cpu_ns;
	total.ended = e->skel->bss->tw_rest_ended;
	report_growth(e, 0, &e->rest_reported, &total);
}

void tw_bpf_events_drain(struct tw_bpf_events *e, const struct tw_task_sink *sink)
{
	e->sink = sink;
	ring_buffer__consume(e->ring);
	report_late(e);
	if (e->lost_reported != lost_now(e) && sink->overflowed != NULL)
		report_overflow(e);
	e->sink = NULL;
}

void tw_bpf_source_drain(void *state, const struct tw_task_sink *sink)
{
	tw_bpf_events_drain(events_of(state), sink);
}

void tw_bpf_source_stats(const void *state, struct tw_task_stats *out)
{
	const struct tw_bpf_events *e = events_of(state);

	*out = (struct tw_task_stats){ .lost = e->skel->bss->tw_lost,
				       .untold = e->skel->bss->tw_untold };
}
