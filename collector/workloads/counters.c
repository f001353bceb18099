/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/counters.h"

#include "bpf/counters.skel.h"
#include "collector/workloads/bpf_events.h"
#include "lib/core/array.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"
#include "lib/program/daemon.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct tw_counters {
	struct counters_bpf *skel;
	int cpus;
	int *event; /* [cpu * KINDS + i]; -1: none */
	struct tw_counts_kinds kinds;
	struct tw_count_cpu *cpu; /* per-CPU values of the map, as read */
	struct tw_counts counts;
	struct cpu_state *state;
	uint64_t small_pmu; /* type of the PMU of small cores; 0: there are none */
	struct ring_buffer *samples; /* NULL: more CPUs than a sample has */
	tw_sampled *sampled;         /* set while samples are reported */
	void *sampled_arg;
	bool lost; /* a CPU lost its events: counting has stopped */
};

struct cpu_state {
	bool was_offline; /* offline when the events were opened */
	bool online;      /* online at this read */
	uint64_t
		enabled_ns; /* enabled time of its events at the last read while online */
	uint64_t since_ns;  /* when enabled_ns last changed */
};

static const struct {
	enum tw_counter counter;
	uint64_t hardware, software;
	bool has_software;
} kinds[] = {
	{ TW_COUNTER_CYCLES, PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_SW_CPU_CLOCK, true },
	{ TW_COUNTER_REF_CYCLES, PERF_COUNT_HW_REF_CPU_CYCLES, 0, false },
	{ TW_COUNTER_INSTRUCTIONS, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_SW_TASK_CLOCK,
	  true },
	{ TW_COUNTER_CACHE_MISSES, PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_SW_PAGE_FAULTS,
	  true },
};

#define KINDS TW_COUNT(kinds)

/* Files of this process besides the events. */
#define FILES_MORE 1024

/* Samples between two reads, of which a second has some hundred; header of each. */
#define SAMPLES_MAX 1024
#define RING_HEADER 8

/* Events whose enabled time stands still for this long are lost. */
#define STILL_NS UINT64_C(1000000000)

/* ---- opening ---- */

/*
 * type: of the PMU, or 0. The small cores of a hybrid processor have a PMU of their own,
 * which a general event names in its upper half (PERF_PMU_TYPE_SHIFT, since Linux 5.13).
 */
static int open_event(size_t kind, bool software, int cpu, uint64_t type)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = software ? PERF_TYPE_SOFTWARE : PERF_TYPE_HARDWARE,
		.config = software ? kinds[kind].software
				   : kinds[kind].hardware | type << 32,
		.read_format =
			PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

/* The CPU may count, but not this process. */
static bool is_shortage(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM;
}

/*
 * Open a kind of event of each CPU. It is available if one CPU has it. The descriptors of
 * a CPU are adjacent. Returns the last errno, or 0.
 */
static int open_kind(struct tw_counters *c, size_t kind, bool software)
{
	bool opened = false;
	int errnum = 0;

	for (int cpu = 0; cpu < c->cpus; cpu++) {
		int fd = open_event(kind, software, cpu, 0);

		if (fd < 0 && errno == ENOENT && c->small_pmu != 0)
			fd = open_event(kind, software, cpu, c->small_pmu);
		if (fd < 0) {
			errnum = errno;
			if (is_shortage(errnum))
				return errnum;
			c->state[cpu].was_offline |= errnum == ENODEV;
		}
		opened = opened || fd >= 0;
		c->event[cpu * (int)KINDS + (int)c->kinds.count] = fd;
	}
	if (opened)
		c->kinds.kind[c->kinds.count++] = kinds[kind].counter;
	return errnum;
}

static int open_events(struct tw_counters *c, bool software, struct tw_err *err)
{
	int errnum = 0;

	for (int cpu = 0; cpu < c->cpus; cpu++)
		for (uint32_t i = 0; i < KINDS; i++)
			c->event[cpu * (int)KINDS + (int)i] = -1;
	for (size_t kind = 0; kind < KINDS; kind++) {
		if (software && !kinds[kind].has_software)
			continue;
		errnum = open_kind(c, kind, software);
		if (is_shortage(errnum))
			return tw_fail_errno(err, errnum, "counters of %d CPUs", c->cpus);
	}
	if (c->kinds.count == 0)
		return tw_fail_errno(err, errnum,
				     "the processor has no counters that can be opened");
	return 0;
}

static int fill_map(const struct tw_counters *c, struct tw_err *err)
{
	const int map = bpf_map__fd(c->skel->maps.counters);

	for (int cpu = 0; cpu < c->cpus; cpu++)
		for (uint32_t i = 0; i < c->kinds.count; i++) {
			const uint32_t place = (uint32_t)cpu * c->kinds.count + i;
			const int fd = c->event[cpu * (int)KINDS + (int)i];

			if (fd >= 0 && bpf_map_update_elem(map, &place, &fd, 0) < 0)
				return tw_fail_errno(err, errno,
						     "cannot set up counters");
		}
	return 0;
}

static int on_sample(void *ctx, void *data, size_t size)
{
	struct tw_counters *c = ctx;
	const struct tw_sample *s = data;

	if (size >= sizeof(s->ns) + (size_t)c->cpus * sizeof(s->tgid[0]))
		c->sampled(c->sampled_arg, s->tgid, (size_t)c->cpus, s->ns);
	return 0;
}

static void want_samples(const struct tw_counters *c)
{
	const uint32_t bytes =
		(uint32_t)(sizeof(uint64_t) + (size_t)c->cpus * 4 + 7) / 8 * 8;

	c->skel->rodata->tw_sample_cpus = (uint32_t)c->cpus;
	c->skel->rodata->tw_sample_bytes = bytes;
	bpf_map__set_max_entries(c->skel->maps.samples,
				 tw_bpf_ring_bytes(SAMPLES_MAX * (bytes + RING_HEADER)));
}

/* Load the programs; samples: with samples of what CPUs run. */
static int load(struct tw_counters *c, bool samples, struct tw_err *err)
{
	c->skel = counters_bpf__open();
	if (c->skel == NULL)
		return tw_fail_errno(err, errno, "cannot open the BPF counters");
	c->skel->rodata->tw_counters = c->kinds.count;
	bpf_map__set_max_entries(c->skel->maps.samples, tw_bpf_ring_bytes(1));
	if (samples)
		want_samples(c);
	bpf_program__set_autoattach(c->skel->progs.count_now, false);
	bpf_map__set_max_entries(c->skel->maps.counters,
				 (uint32_t)c->cpus * c->kinds.count);
	if (tw_bpf_check(counters_bpf__load(c->skel), "cannot load the BPF counters",
			 err) < 0)
		return -1;
	if (!samples)
		return 0;
	c->samples =
		ring_buffer__new(bpf_map__fd(c->skel->maps.samples), on_sample, c, NULL);
	return c->samples != NULL
		       ? 0
		       : tw_fail_errno(err, errno, "cannot map the samples of CPUs");
}

/* A kernel that cannot sample may count all the same. */
static int load_any(struct tw_counters *c, struct tw_err *err)
{
	struct tw_err ignored = { 0 };

	if (c->cpus <= TW_SAMPLE_CPUS && load(c, true, &ignored) == 0)
		return 0;
	counters_bpf__destroy(c->skel);
	return load(c, false, err);
}

static int attach(struct tw_counters *c, struct tw_err *err)
{
	if (load_any(c, err) < 0 || fill_map(c, err) < 0)
		return -1;
	return tw_bpf_check(counters_bpf__attach(c->skel),
			    "cannot attach the BPF counters", err);
}

static void find_small_pmu(struct tw_counters *c)
{
	struct tw_err ignored = { 0 };
	char *text = NULL;
	size_t len;

	if (tw_file_read("/sys/devices/cpu_atom/type", 32, &text, &len, &ignored) == 0 &&
	    !tw_parse_u64(text, strcspn(text, "\n"), &c->small_pmu))
		c->small_pmu = 0;
	free(text);
}

static int open_all(struct tw_counters *c, bool software, struct tw_err *err)
{
	c->cpus = libbpf_num_possible_cpus();
	if (c->cpus <= 0)
		return tw_fail_errno(err, -c->cpus, "cannot count the CPUs");
	c->event = calloc((size_t)c->cpus * KINDS, sizeof(*c->event));
	c->cpu = calloc((size_t)c->cpus, sizeof(*c->cpu));
	c->state = calloc((size_t)c->cpus, sizeof(*c->state));
	if (c->event == NULL || c->cpu == NULL || c->state == NULL)
		return tw_fail(err, TW_NOMEM, "counters of %d CPUs", c->cpus);
	find_small_pmu(c);
	tw_file_limit_raise((uint64_t)c->cpus * KINDS + FILES_MORE);
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
	ring_buffer__free(c->samples);
	counters_bpf__destroy(c->skel);
	for (int i = 0; c->event != NULL && c->cpus > 0 && i < c->cpus * (int)KINDS; i++)
		if (c->event[i] > 0)
			close(c->event[i]);
	tw_counts_release(&c->counts);
	free(c->event);
	free(c->cpu);
	free(c->state);
	free(c);
}

bool tw_counters_have(const struct tw_counters *c, enum tw_counter counter)
{
	for (uint32_t i = 0; i < c->kinds.count; i++)
		if (c->kinds.kind[i] == counter)
			return !c->lost;
	return false;
}

size_t tw_counters_sampled_cpus(const struct tw_counters *c)
{
	return c->samples != NULL ? (size_t)c->cpus : 0;
}

void tw_counters_samples(struct tw_counters *c, tw_sampled *sampled, void *arg)
{
	c->sampled = sampled;
	c->sampled_arg = arg;
	if (c->samples != NULL)
		ring_buffer__consume(c->samples);
}

void tw_counters_stats(const struct tw_counters *c, uint64_t *failed, uint64_t *lost)
{
	*failed = c->skel->bss->tw_reads_failed;
	*lost = c->skel->bss->tw_counts_lost;
}

/* ---- reading ---- */

/* Count the running processes up to now. An offline CPU has no running process. */
static void count_running(struct tw_counters *c)
{
	const int fd = bpf_program__fd(c->skel->progs.count_now);

	for (int cpu = 0; cpu < c->cpus; cpu++) {
		struct bpf_test_run_opts opts = { .sz = sizeof(opts),
						  .flags = BPF_F_TEST_RUN_ON_CPU,
						  .cpu = (uint32_t)cpu };

		c->state[cpu].online = bpf_prog_test_run_opts(fd, &opts) == 0;
	}
}

/* The latest enabled time of its events; all of them advance while the CPU is online. */
static uint64_t enabled_ns_of(const struct tw_counters *c, int cpu)
{
	uint64_t latest_ns = 0;

	for (uint32_t i = 0; i < c->kinds.count; i++)
		if (c->cpu[cpu].start[i].enabled > latest_ns)
			latest_ns = c->cpu[cpu].start[i].enabled;
	return latest_ns;
}

/*
 * The kernel's clock may advance by timer ticks, and two reads may follow closely: wait
 * for STILL_NS.
 */
static bool stands_still(struct cpu_state *s, uint64_t enabled_ns, uint64_t now_ns)
{
	if (enabled_ns == 0 || enabled_ns != s->enabled_ns) {
		s->enabled_ns = enabled_ns;
		s->since_ns = now_ns;
	}
	return now_ns - s->since_ns >= STILL_NS;
}

/*
 * A CPU that lost its events, or -1. Linux removes the events of a CPU that goes offline
 * and does not restore them: they can be read, but stand still. A CPU that was offline at
 * the start has no events. Opening them again needs privileges that were dropped.
 */
static int find_lost(struct tw_counters *c)
{
	const uint64_t now_ns = tw_now_ns();

	for (int cpu = 0; cpu < c->cpus; cpu++) {
		struct cpu_state *s = &c->state[cpu];

		if (!s->online)
			s->since_ns = now_ns;
		else if (s->was_offline || stands_still(s, enabled_ns_of(c, cpu), now_ns))
			return cpu;
	}
	return -1;
}

/*
 * Stop counting. Counts of some CPUs only would attribute energy of the others to
 * processes that ran there.
 */
static int lose(struct tw_counters *c, int cpu, struct tw_err *err)
{
	c->lost = true;
	counters_bpf__detach(c->skel);
	return tw_fail(err, TW_UNSUPPORTED,
		       "CPU %d came back without its counters: nothing is counted until "
		       "tw-collector is started again",
		       cpu);
}

static int read_rows(struct tw_counters *c, struct tw_err *err)
{
	const uint32_t zero = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.cpus), &zero, c->cpu) < 0)
		return tw_fail_errno(err, errno, "cannot read counts");
	for (int cpu = 0; cpu < c->cpus; cpu++)
		for (int i = 0; i < TW_COUNT_ROWS; i++) {
			const struct tw_count *row = &c->cpu[cpu].row[i];

			if (row->tgid != 0 && tw_counts_add(&c->counts, row->tgid,
							    &row->of, false, err) < 0)
				return -1;
		}
	return 0;
}

static int read_spilled(struct tw_counters *c, struct tw_err *err)
{
	const int fd = bpf_map__fd(c->skel->maps.spilled);
	uint32_t tgid, *before = NULL;
	struct tw_counts_of of;

	for (; bpf_map_get_next_key(fd, before, &tgid) == 0; before = &tgid)
		if (bpf_map_lookup_elem(fd, &tgid, &of) == 0 &&
		    tw_counts_add(&c->counts, tgid, &of, true, err) < 0)
			return -1;
	return 0;
}

int tw_counters_read(struct tw_counters *c, tw_counted *counted, void *arg,
		     struct tw_err *err)
{
	int cpu;

	if (c->lost)
		return 0;
	if (tw_counts_begin(&c->counts, err) < 0)
		return -1;
	count_running(c);
	/*
	 * Read rows after the spill map: a row that is spilled in between is missing
	 * once, never counted twice.
	 */
	if (read_spilled(c, err) < 0 || read_rows(c, err) < 0)
		return -1;
	cpu = find_lost(c);
	if (cpu >= 0)
		return lose(c, cpu, err);
	tw_counts_report(&c->counts, &c->kinds, bpf_map__fd(c->skel->maps.spilled),
			 counted, arg);
	return 0;
}
