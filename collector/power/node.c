/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/node.h"

#include "collector/meters/meter_file.h"
#include "collector/system/process.h"
#include "collector/system/roots.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const tw_cpu_mode_names[TW_CPU_MODE_COUNT] = {
	[TW_CPU_USER] = "user",       [TW_CPU_NICE] = "nice",
	[TW_CPU_SYSTEM] = "system",   [TW_CPU_IDLE] = "idle",
	[TW_CPU_IOWAIT] = "iowait",   [TW_CPU_IRQ] = "irq",
	[TW_CPU_SOFTIRQ] = "softirq", [TW_CPU_STEAL] = "steal",
};

const char *const tw_softirq_names[TW_SOFTIRQ_COUNT] = {
	[TW_SOFTIRQ_NET_TX] = "net_tx",
	[TW_SOFTIRQ_NET_RX] = "net_rx",
	[TW_SOFTIRQ_BLOCK] = "block",
};

/* The rest of a text, from which words and lines are taken. */
struct rest {
	const char *at, *end;
};

static bool next_line(struct rest *text, struct rest *line)
{
	const char *newline;

	if (text->at == text->end)
		return false;
	newline = memchr(text->at, '\n', (size_t)(text->end - text->at));
	*line = (struct rest){ text->at, newline != NULL ? newline : text->end };
	text->at = newline != NULL ? newline + 1 : text->end;
	return true;
}

static bool next_word(struct rest *line, const char **word, size_t *len)
{
	while (line->at < line->end && *line->at == ' ')
		line->at++;
	*word = line->at;
	while (line->at < line->end && *line->at != ' ')
		line->at++;
	*len = (size_t)(line->at - *word);
	return *len > 0;
}

static bool is_word(const char *word, size_t len, const char *want)
{
	return len == strlen(want) && memcmp(word, want, len) == 0;
}

static int next_number(struct rest *line, const char *what, uint64_t *out,
		       struct tw_err *err)
{
	const char *word;
	size_t len;

	if (!next_word(line, &word, &len) || !tw_parse_u64(word, len, out))
		return tw_fail(err, TW_PARSE, "'%s': want a number", what);
	return 0;
}

/* Older kernels have fewer columns. */
static int parse_modes(struct rest *line, uint32_t ticks_per_s, uint64_t *cpu_ms,
		       struct tw_err *err)
{
	for (int i = 0; i < TW_CPU_MODE_COUNT; i++) {
		struct rest look = *line;
		const char *word;
		uint64_t ticks;
		size_t len;

		if (!next_word(&look, &word, &len))
			return i > TW_CPU_IDLE
				       ? 0
				       : tw_fail(err, TW_PARSE, "'cpu': want a number");
		if (next_number(line, "cpu", &ticks, err) < 0)
			return -1;
		if (ticks > UINT64_MAX / 1000)
			return tw_fail(err, TW_PARSE, "'cpu': a number is too large");
		cpu_ms[i] = ticks * 1000 / ticks_per_s;
	}
	return 0;
}

/* The total, then each vector: HI, TIMER, NET_TX, NET_RX, BLOCK and others. */
static int parse_softirqs(struct rest *line, uint64_t vector[TW_SOFTIRQ_COUNT],
			  struct tw_err *err)
{
	uint64_t other;

	for (int i = 0; i < 3; i++)
		if (next_number(line, "softirq", &other, err) < 0)
			return -1;
	for (int i = 0; i < TW_SOFTIRQ_COUNT; i++)
		if (next_number(line, "softirq", &vector[i], err) < 0)
			return -1;
	return 0;
}

/* The lines of /proc/stat that are read. */
struct stat_lines {
	uint32_t ticks_per_s;
	struct tw_node_counts counts;
	bool found; /* the line "cpu" */
	unsigned cpus;
};

/* A line, after its first word[0..n). Lines that are not known are skipped. */
static int take_line(struct stat_lines *s, const char *word, size_t n, struct rest *line,
		     struct tw_err *err)
{
	struct tw_node_counts *c = &s->counts;

	if (is_word(word, n, "cpu")) {
		s->found = true;
		return parse_modes(line, s->ticks_per_s, c->cpu_ms, err);
	}
	if (is_word(word, n, "ctxt"))
		return next_number(line, "ctxt", &c->context_switches, err);
	if (is_word(word, n, "intr"))
		return next_number(line, "intr", &c->interrupts, err);
	if (is_word(word, n, "softirq"))
		return parse_softirqs(line, c->softirqs, err);
	s->cpus += n > 3 && memcmp(word, "cpu", 3) == 0;
	return 0;
}

int tw_proc_node_stat_parse(const char *data, size_t len, uint32_t ticks_per_s,
			    struct tw_node_counts *out, unsigned *cpus,
			    struct tw_err *err)
{
	struct rest text = { data, data + len }, line;
	struct stat_lines s = { .ticks_per_s = ticks_per_s };

	while (next_line(&text, &line)) {
		const char *word;
		size_t n;

		if (next_word(&line, &word, &n) && take_line(&s, word, n, &line, err) < 0)
			return -1;
	}
	if (!s.found)
		return tw_fail(err, TW_PARSE, "no line 'cpu'");
	*out = s.counts;
	*cpus = s.cpus;
	return 0;
}

int tw_proc_vmstat_parse(const char *data, size_t len, uint64_t *page_faults,
			 struct tw_err *err)
{
	struct rest text = { data, data + len }, line;

	while (next_line(&text, &line)) {
		const char *word;
		size_t n;

		if (next_word(&line, &word, &n) && is_word(word, n, "pgfault"))
			return next_number(&line, "pgfault", page_faults, err);
	}
	return tw_fail(err, TW_PARSE, "no line 'pgfault'");
}

/* Room for a line for each CPU, and a line with a number for each interrupt. */
#define STAT_MAX (1u << 18)
#define FREQUENCIES_MAX 4096

/* Read a file of /proc. */
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

/* CPUs up to the last with a frequency: one that is offline has a directory only. */
static size_t count_frequencies(const struct tw_node *n)
{
	size_t count = 0;
	char path[512];

	for (size_t cpu = 0; cpu < FREQUENCIES_MAX; cpu++) {
		frequency_path(n, cpu, path, sizeof(path));
		if (access(path, F_OK) == 0) {
			count = cpu + 1;
			continue;
		}
		snprintf(path, sizeof(path), "%.400s/devices/system/cpu/cpu%zu",
			 n->roots->sys, cpu);
		if (access(path, F_OK) < 0)
			break;
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

/* The kernel reports kHz. */
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

/*
 * The increase of a counter. iowait and idle may fall, and a moved VM starts again: then
 * it is 0.
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

/* The first usage is a base: the time before it is not known. */
static void take_used(struct tw_node *n, const struct tw_usage *used)
{
	n->unused_ns += n->elapsed_ns;
	n->used_ns = 0;
	n->used = (struct tw_usage){ 0 };
	if (used == NULL)
		return;
	n->used = *used;
	n->used_ns = n->was_used ? n->unused_ns : 0;
	n->was_used = true;
	n->unused_ns = 0;
}

int tw_node_tick(struct tw_node *n, uint64_t elapsed_ns, const struct tw_usage *used,
		 struct tw_err *err)
{
	const struct tw_node_counts none = { .interrupts = 0 };
	struct tw_node_counts now;
	unsigned cpus;
	size_t len;

	n->elapsed_ns = elapsed_ns;
	take_used(n, used);
	n->fresh = false;
	n->unread_ns += elapsed_ns;
	read_frequencies(n);
	if (read_proc(n, "stat", &len, err) < 0 ||
	    tw_proc_node_stat_parse(n->text, len, tw_proc_ticks_per_s(), &now, &cpus,
				    err) < 0 ||
	    read_proc(n, "vmstat", &len, err) < 0 ||
	    tw_proc_vmstat_parse(n->text, len, &now.page_faults, err) < 0)
		return -1;
	/* Without a reading before, nothing is known; 0 would be an idle machine's. */
	n->last = n->was_read ? difference(&now, &n->total) : none;
	n->last_ns = n->was_read ? n->unread_ns : 0;
	n->unread_ns = 0;
	n->was_read = true;
	n->total = now;
	if (cpus > 0)
		n->cpus = cpus;
	n->fresh = true;
	return 0;
}

double tw_node_frequency_hz(const struct tw_node *n)
{
	size_t known = 0;
	double sum = 0;

	for (size_t i = 0; i < n->frequencies; i++) {
		known += n->hz[i] > 0;
		sum += (double)n->hz[i];
	}
	return known > 0 ? sum / (double)known : NAN;
}

double tw_node_load(const struct tw_node *n)
{
	const double whole = (double)n->used_ns * n->cpus;

	if (n->used_ns == 0)
		return -1;
	return (double)n->used.cpu_ns < whole ? (double)n->used.cpu_ns / whole : 1;
}
