/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/counters.h"

#include "bpf/counters.skel.h"
#include "lib/err.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Totals of a process, of all CPUs together. */
struct total {
	uint32_t tgid; /* 0: free */
	bool spilled;
	uint64_t now[TW_COUNTER_COUNT], told[TW_COUNTER_COUNT];
	uint64_t spilled_now[TW_COUNTER_COUNT];
};

struct totals {
	struct total *at;
	size_t count, size; /* size is a power of two */
};

struct tw_counters {
	struct counters_bpf *skel;
	int cpus;
	int *event; /* cpu * count + i; -1: none */
	enum tw_counter which[TW_COUNTER_COUNT];
	uint32_t count;
	struct tw_count_cpu *cpu; /* as read */
	struct tw_count *row;
	struct totals totals, before; /* of this read, and what was told of the last */
};

static const struct {
	enum tw_counter counter;
	uint64_t hardware, software;
	bool standin;
} kinds[] = {
	{ TW_COUNTER_CYCLES, PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_SW_CPU_CLOCK, true },
	{ TW_COUNTER_REF_CYCLES, PERF_COUNT_HW_REF_CPU_CYCLES, 0, false },
	{ TW_COUNTER_INSTRUCTIONS, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_SW_TASK_CLOCK,
	  true },
	{ TW_COUNTER_CACHE_MISSES, PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_SW_PAGE_FAULTS,
	  true },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* ---- opening ---- */

static int open_event(size_t kind, bool software, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = software ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE,
		.config = software ? kinds[kind].software : kinds[kind].hardware,
		.read_format =
			PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

/* A kind of event is there if one CPU has it; events are side by side for each CPU. */
static int open_events(struct tw_counters *c, bool software, struct tw_err *err)
{
	int errnum = 0;

	for (int cpu = 0; cpu < c->cpus; cpu++)
		for (uint32_t i = 0; i < KINDS; i++)
			c->event[cpu * (int)KINDS + (int)i] = -1;
	for (size_t kind = 0; kind < KINDS; kind++) {
		bool there = false;

		if (software && !kinds[kind].standin)
			continue;
		for (int cpu = 0; cpu < c->cpus; cpu++) {
			const int fd = open_event(kind, software, cpu);

			errnum = fd < 0 ? errno : errnum;
			there = there || fd >= 0;
			c->event[cpu * (int)KINDS + (int)c->count] = fd;
		}
		if (there)
			c->which[c->count++] = kinds[kind].counter;
	}
	if (c->count == 0)
		return tw_fail_errno(err, errnum, "no counters of the processor");
	return 0;
}

static int fill_map(const struct tw_counters *c, struct tw_err *err)
{
	const int map = bpf_map__fd(c->skel->maps.counters);

	for (int cpu = 0; cpu < c->cpus; cpu++)
		for (uint32_t i = 0; i < c->count; i++) {
			const uint32_t place = (uint32_t)cpu * c->count + i;
			const int fd = c->event[cpu * (int)KINDS + (int)i];

			if (fd >= 0 && bpf_map_update_elem(map, &place, &fd, 0) < 0)
				return tw_fail_errno(err, errno,
						     "cannot set up counters");
		}
	return 0;
}

static int attach(struct tw_counters *c, struct tw_err *err)
{
	int errnum;

	c->skel = counters_bpf__open();
	if (c->skel == NULL)
		return tw_fail_errno(err, errno, "cannot open the BPF counters");
	c->skel->rodata->tw_counters = c->count;
	bpf_program__set_autoattach(c->skel->progs.count_now, false);
	bpf_map__set_max_entries(c->skel->maps.counters, (uint32_t)c->cpus * c->count);
	errnum = -counters_bpf__load(c->skel);
	if (errnum != 0)
		return tw_fail_errno(err, errnum, "cannot load the BPF counters");
	if (fill_map(c, err) < 0)
		return -1;
	errnum = -counters_bpf__attach(c->skel);
	if (errnum != 0)
		return tw_fail_errno(err, errnum, "cannot attach the BPF counters");
	return 0;
}

static int open_all(struct tw_counters *c, bool software, struct tw_err *err)
{
	c->cpus = libbpf_num_possible_cpus();
	if (c->cpus <= 0)
		return tw_fail_errno(err, -c->cpus, "cannot count the CPUs");
	c->event = calloc((size_t)c->cpus * KINDS, sizeof(*c->event));
	c->cpu = calloc((size_t)c->cpus, sizeof(*c->cpu));
	c->row = calloc((size_t)c->cpus, sizeof(*c->row));
	if (c->event == NULL || c->cpu == NULL || c->row == NULL)
		return tw_fail(err, TW_NOMEM, "counters of %d CPUs", c->cpus);
	if (open_events(c, software, err) < 0)
		return -1;
	return attach(c, err);
}

int tw_counters_open(bool software, struct tw_counters **out, struct tw_err *err)
{
	struct tw_counters *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return tw_fail(err, TW_NOMEM, "counters");
	if (open_all(c, software, err) < 0) {
		tw_counters_close(c);
		return -1;
	}
	*out = c;
	return 0;
}

void tw_counters_close(struct tw_counters *c)
{
	if (c == NULL)
		return;
	counters_bpf__destroy(c->skel);
	for (int i = 0; c->event != NULL && c->cpus > 0 && i < c->cpus * (int)KINDS; i++)
		if (c->event[i] > 0)
			close(c->event[i]);
	free(c->totals.at);
	free(c->before.at);
	free(c->event);
	free(c->cpu);
	free(c->row);
	free(c);
}

bool tw_counters_have(const struct tw_counters *c, enum tw_counter counter)
{
	for (uint32_t i = 0; i < c->count; i++)
		if (c->which[i] == counter)
			return true;
	return false;
}

void tw_counters_stats(const struct tw_counters *c, uint64_t *failed, uint64_t *lost)
{
	*failed = c->skel->bss->tw_reads_failed;
	*lost = c->skel->bss->tw_counts_lost;
}

/* ---- reading ---- */

/* The entry of a tgid, or the free one where it belongs. */
static struct total *find(const struct totals *t, uint32_t tgid)
{
	size_t i = tgid * UINT32_C(2654435761) & (t->size - 1);

	while (t->at[i].tgid != 0 && t->at[i].tgid != tgid)
		i = (i + 1) & (t->size - 1);
	return &t->at[i];
}

/* At most half of the places are taken. */
static int grow(struct totals *t, struct tw_err *err)
{
	const struct totals old = *t;
	const size_t size = old.size != 0 ? old.size * 2 : 1024;
	struct total *at = calloc(size, sizeof(*at));

	if (at == NULL)
		return tw_fail(err, TW_NOMEM, "counts of %zu processes", size / 2);
	t->at = at;
	t->size = size;
	for (size_t i = 0; i < old.size; i++)
		if (old.at[i].tgid != 0)
			*find(t, old.at[i].tgid) = old.at[i];
	free(old.at);
	return 0;
}

static int add_row(struct tw_counters *c, uint32_t tgid, const struct tw_count *row,
		   bool spilled, struct tw_err *err)
{
	struct total *t;

	if (2 * c->totals.count >= c->totals.size && grow(&c->totals, err) < 0)
		return -1;
	t = find(&c->totals, tgid);
	if (t->tgid == 0)
		c->totals.count++;
	t->tgid = tgid;
	t->spilled = t->spilled || spilled;
	for (int i = 0; i < TW_COUNTER_COUNT; i++) {
		t->now[i] += row->counter[i];
		t->spilled_now[i] += spilled ? row->counter[i] : 0;
	}
	return 0;
}

/* A CPU that is off has nothing to add. */
static void count_what_runs(const struct tw_counters *c)
{
	const int fd = bpf_program__fd(c->skel->progs.count_now);

	for (int cpu = 0; cpu < c->cpus; cpu++) {
		struct bpf_test_run_opts opts = { .sz = sizeof(opts),
						  .flags = BPF_F_TEST_RUN_ON_CPU,
						  .cpu = (uint32_t)cpu };

		bpf_prog_test_run_opts(fd, &opts);
	}
}

static int read_rows(struct tw_counters *c, struct tw_err *err)
{
	const uint32_t zero = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.cpus), &zero, c->cpu) < 0)
		return tw_fail_errno(err, errno, "cannot read counts");
	for (int cpu = 0; cpu < c->cpus; cpu++)
		for (int i = 0; i < TW_COUNT_ROWS; i++) {
			const struct tw_count *row = &c->cpu[cpu].row[i];

			if (row->tgid != 0 && add_row(c, row->tgid, row, false, err) < 0)
				return -1;
		}
	return 0;
}

static int read_spilled(struct tw_counters *c, struct tw_err *err)
{
	const int fd = bpf_map__fd(c->skel->maps.spilled);
	uint32_t tgid, *before = NULL;

	for (; bpf_map_get_next_key(fd, before, &tgid) == 0; before = &tgid) {
		if (bpf_map_lookup_elem(fd, &tgid, c->row) < 0)
			continue;
		for (int cpu = 0; cpu < c->cpus; cpu++)
			if (add_row(c, tgid, &c->row[cpu], true, err) < 0)
				return -1;
	}
	return 0;
}

/* What was told before belongs to the tgid, whichever process it was. */
static void take_told(struct tw_counters *c)
{
	for (size_t i = 0; i < c->before.size; i++) {
		const struct total *old = &c->before.at[i];
		struct total *t = old->tgid != 0 ? find(&c->totals, old->tgid) : NULL;

		if (t != NULL && t->tgid != 0)
			memcpy(t->told, old->told, sizeof(t->told));
	}
}

static void difference(const struct tw_counters *c, struct total *t,
		       uint64_t more[TW_COUNTER_COUNT])
{
	memset(more, 0, TW_COUNTER_COUNT * sizeof(*more));
	for (uint32_t i = 0; i < c->count; i++) {
		/* A row on its way from one map to the other may be in neither. */
		if (t->now[i] <= t->told[i])
			continue;
		more[c->which[i]] = t->now[i] - t->told[i];
		t->told[i] = t->now[i];
	}
}

/* The map is for those that live. */
static void forget(struct tw_counters *c, struct total *t)
{
	if (!t->spilled ||
	    bpf_map_delete_elem(bpf_map__fd(c->skel->maps.spilled), &t->tgid) < 0)
		return;
	for (int i = 0; i < TW_COUNTER_COUNT; i++)
		t->told[i] -=
			t->told[i] < t->spilled_now[i] ? t->told[i] : t->spilled_now[i];
}

int tw_counters_read(struct tw_counters *c,
		     bool (*counted)(void *arg, uint32_t tgid,
				     const uint64_t more[TW_COUNTER_COUNT]),
		     void *arg, struct tw_err *err)
{
	const struct totals now = c->totals;
	struct totals told;
	uint64_t more[TW_COUNTER_COUNT];

	c->totals.count = 0;
	if (now.at != NULL)
		memset(now.at, 0, now.size * sizeof(*now.at));
	else if (grow(&c->totals, err) < 0)
		return -1;
	count_what_runs(c);
	if (read_rows(c, err) < 0 || read_spilled(c, err) < 0)
		return -1;
	take_told(c);
	for (size_t i = 0; i < c->totals.size; i++) {
		struct total *t = &c->totals.at[i];

		if (t->tgid == 0)
			continue;
		difference(c, t, more);
		if (!counted(arg, t->tgid, more))
			forget(c, t);
	}
	told = c->before;
	c->before = c->totals;
	c->totals = told;
	return 0;
}
