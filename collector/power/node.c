/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/node.h"

#include "collector/meters/meter_file.h"
#include "collector/system/proc_stat.h"
#include "collector/system/roots.h"
#include "lib/core/err.h"
#include "lib/core/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line for each processor, and one with a number for each interrupt there can be. */
#define STAT_MAX (1u << 18)
#define FREQUENCIES_MAX 4096

/* A whole file of /proc below its root. */
static int read_proc(const struct tw_node *n, const char *name, size_t *len,
		     struct tw_err *err)
{
	char path[512];

	snprintf(path, sizeof(path), "%.480s/%s", n->roots->proc, name);
	return tw_file_read_at(AT_FDCWD, path, n->text, STAT_MAX, len, err);
}

static int frequency_path(const struct tw_node *n, size_t cpu, char *path, size_t size)
{
	return snprintf(path, size,
			"%.400s/devices/system/cpu/cpu%zu/cpufreq/scaling_cur_freq",
			n->roots->sys, cpu);
}

static size_t count_frequencies(const struct tw_node *n)
{
	size_t count = 0;
	char path[512];

	while (count < FREQUENCIES_MAX) {
		frequency_path(n, count, path, sizeof(path));
		if (access(path, F_OK) < 0)
			break;
		count++;
	}
	return count;
}

static unsigned online_cpus(void)
{
	const long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count > 0 ? (unsigned)count : 1;
}

int tw_node_open(struct tw_node *n, const struct tw_roots *roots, struct tw_err *err)
{
	*n = (struct tw_node){ .roots = roots, .cpus = online_cpus() };
	n->frequencies = count_frequencies(n);
	n->text = malloc(STAT_MAX);
	n->hz = calloc(n->frequencies + 1, sizeof(*n->hz));
	if (n->text == NULL || n->hz == NULL) {
		tw_node_release(n);
		return tw_fail(err, TW_NOMEM, "counters of the machine");
	}
	return 0;
}

void tw_node_release(struct tw_node *n)
{
	free(n->text);
	free(n->hz);
	*n = (struct tw_node){ 0 };
}

/* The kernel tells kHz. */
static void read_frequencies(struct tw_node *n)
{
	for (size_t i = 0; i < n->frequencies; i++) {
		struct tw_err ignored = { 0 };
		uint64_t khz = 0;
		char path[512];

		frequency_path(n, i, path, sizeof(path));
		if (tw_meter_number(path, &khz, &ignored) < 0 || khz > 100000000)
			khz = 0;
		n->hz[i] = khz * 1000;
	}
}

/* What falls, as iowait and idle do now and then, or when the machine is another, is 0.
 */
static uint64_t grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static struct tw_node_counts difference(const struct tw_node_counts *now,
					const struct tw_node_counts *before)
{
	struct tw_node_counts d;

	for (int i = 0; i < TW_CPU_MODE_COUNT; i++)
		d.cpu_ms[i] = grown(now->cpu_ms[i], before->cpu_ms[i]);
	d.context_switches = grown(now->context_switches, before->context_switches);
	d.interrupts = grown(now->interrupts, before->interrupts);
	d.page_faults = grown(now->page_faults, before->page_faults);
	for (int i = 0; i < TW_SOFTIRQ_COUNT; i++)
		d.softirqs[i] = grown(now->softirqs[i], before->softirqs[i]);
	return d;
}

int tw_node_tick(struct tw_node *n, uint64_t elapsed_ns, const struct tw_usage *used,
		 struct tw_err *err)
{
	const struct tw_node_counts none = { .interrupts = 0 };
	const bool had = n->there;
	struct tw_node_counts now;
	unsigned cpus;
	size_t len;

	n->elapsed_ns = elapsed_ns;
	n->used = *used;
	n->there = false;
	read_frequencies(n);
	if (read_proc(n, "stat", &len, err) < 0 ||
	    tw_proc_node_stat_parse(n->text, len, tw_proc_ticks_per_s(), &now, &cpus,
				    err) < 0 ||
	    read_proc(n, "vmstat", &len, err) < 0 ||
	    tw_proc_vmstat_parse(n->text, len, &now.page_faults, err) < 0)
		return -1;
	n->last = had ? difference(&now, &n->total) : none;
	n->total = now;
	if (cpus > 0)
		n->cpus = cpus;
	n->there = true;
	return 0;
}

double tw_node_load(const struct tw_node *n)
{
	const double whole = (double)n->elapsed_ns * n->cpus;

	return whole > 0 && (double)n->used.cpu_ns < whole
		       ? (double)n->used.cpu_ns / whole
		       : whole > 0;
}
