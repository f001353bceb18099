/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RAPL by perf events: the PMU "power" of Linux, and "power_core" of AMD, which has a
 * counter for each core since Linux 6.15. Needs no root: CAP_PERFMON, or
 * perf_event_paranoid 0 or less. `cpumask` has a CPU for each package, die or core;
 * events/NAME has the event and events/NAME.scale its unit in J
 * (Documentation/ABI/testing/sysfs-bus-event_source-devices-events).
 */
#include "collector/meters/meter.h"
#include "collector/meters/meter_file.h"
#include "collector/meters/rapl.h"
#include "collector/system/processors.h"
#include "collector/system/roots.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CPUS_MAX 1024
#define SOURCE "rapl-sysfs" /* the same counters, so the same models */

static const struct event {
	const char *pmu, *name;
	enum tw_zone_kind kind;
} events[] = {
	{ "power", "energy-pkg", TW_ZONE_PACKAGE },
	{ "power", "energy-cores", TW_ZONE_CORE },
	{ "power", "energy-gpu", TW_ZONE_UNCORE },
	{ "power", "energy-ram", TW_ZONE_DRAM },
	{ "power", "energy-psys", TW_ZONE_PSYS },
	{ "power_core", "energy-core", TW_ZONE_CORE },
};

/* The list is first, so that its operations take the whole. */
struct perf {
	struct tw_zone_list list; /* list.fd: the events */
	double *uj;               /* of one count of each zone */
};

/* An event, as the files of its PMU describe it. */
struct kind {
	const struct event *event;
	uint32_t type;
	uint64_t config;
	double uj;
	unsigned cpu[CPUS_MAX];
	size_t cpus;
};

static int open_event(const struct kind *k, unsigned cpu, struct tw_err *err)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = k->type,
					.config = k->config };
	const int fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1,
				    PERF_FLAG_FD_CLOEXEC);

	return fd >= 0 ? fd
		       : tw_fail_errno(err, errno,
				       "perf event %s/%s on CPU %u (needs CAP_PERFMON)",
				       k->event->pmu, k->event->name, cpu);
}

/* "event=0x02". */
static bool parse_event(const char *text, uint64_t *out)
{
	static const char key[] = "event=0x";
	char *end;

	if (strncmp(text, key, sizeof(key) - 1) != 0)
		return false;
	errno = 0;
	*out = strtoull(text + sizeof(key) - 1, &end, 16);
	return *end == '\0' && end != text + sizeof(key) - 1 && errno == 0;
}

/* "0,28", "0-3". */
static size_t parse_mask(const char *text, unsigned *out)
{
	size_t count = 0;
	unsigned long from, to;
	char *end;

	for (const char *at = text; *at >= '0' && *at <= '9'; at = end + (*end == ',')) {
		from = to = strtoul(at, &end, 10);
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		for (; from <= to && to < CPUS_MAX * 64 && count < CPUS_MAX; from++)
			out[count++] = (unsigned)from;
	}
	return count;
}

static bool read_pmu(const char *sys, const char *pmu, const char *file,
		     char out[TW_ZONE_NAME])
{
	char path[TW_ZONE_PATH];
	struct tw_err ignored = { 0 };

	return (size_t)snprintf(path, sizeof(path), "%s/bus/event_source/devices/%s/%s",
				sys, pmu, file) < sizeof(path) &&
	       tw_meter_line(path, out, TW_ZONE_NAME, &ignored) == 0;
}

/* False: the machine does not have the event. */
static bool find_kind(const char *sys, const struct event *e, struct kind *out)
{
	char text[TW_ZONE_NAME], file[TW_ZONE_NAME];
	uint64_t type;
	double joules;

	out->event = e;
	if (!read_pmu(sys, e->pmu, "type", text) ||
	    tw_meter_parse(text, strlen(text), &type, &(struct tw_err){ 0 }) < 0)
		return false;
	out->type = (uint32_t)type;
	snprintf(file, sizeof(file), "events/%s", e->name);
	if (!read_pmu(sys, e->pmu, file, text) || !parse_event(text, &out->config))
		return false;
	snprintf(file, sizeof(file), "events/%s.scale", e->name);
	if (!read_pmu(sys, e->pmu, file, text) ||
	    !tw_parse_double(text, strlen(text), &joules) || !(joules > 0))
		return false;
	out->uj = joules * 1e6;
	if (!read_pmu(sys, e->pmu, "cpumask", text))
		return false;
	out->cpus = parse_mask(text, out->cpu);
	return out->cpus > 0;
}

static int package_of(const char *sys, unsigned cpu)
{
	char path[TW_ZONE_PATH];
	struct tw_err ignored = { 0 };
	uint64_t package;

	snprintf(path, sizeof(path),
		 "%.180s/devices/system/cpu/cpu%u/topology/physical_package_id", sys,
		 cpu);
	return tw_meter_number(path, &package, &ignored) == 0 && package < TW_ZONES_MAX
		       ? (int)package
		       : -1;
}

/* Why a counter is not read: see meter_rapl_sysfs.c. NULL: it is. */
static const char *left_out_of(const struct perf *p, const struct tw_zone *z, bool by_die)
{
	for (size_t i = 0; i < p->list.count; i++) {
		if (p->list.at[i].kind != z->kind)
			continue;
		if (z->kind == TW_ZONE_PSYS)
			return "it shows the machine's counter, which is read once";
		if (!by_die && p->list.at[i].package == z->package)
			return "it shows its package's counter, which is read once";
	}
	return NULL;
}

static int add_zone(struct perf *p, const struct kind *k, unsigned cpu, const char *sys,
		    bool by_die, struct tw_err *err)
{
	const bool core = strcmp(k->event->pmu, "power_core") == 0;
	struct tw_zone z = { .kind = k->event->kind,
			     .package = package_of(sys, cpu),
			     .source = SOURCE };
	const char *left_out;
	int fd;

	snprintf(z.name, sizeof(z.name), "%s-%d", tw_zone_kind_name(z.kind),
		 core ? (int)cpu : z.package);
	snprintf(z.path, sizeof(z.path), "perf:%s/%s@%u", k->event->pmu, k->event->name,
		 cpu);
	left_out = core ? NULL : left_out_of(p, &z, by_die);
	if (left_out != NULL)
		return tw_zone_list_leave(&p->list, &z, left_out, err);
	fd = open_event(k, cpu, err);
	if (fd < 0)
		return -1;
	if (!tw_resize(&p->uj, p->list.count + 1, sizeof(*p->uj)) ||
	    !tw_resize(&p->list.fd, p->list.count + 1, sizeof(*p->list.fd))) {
		close(fd);
		return tw_fail(err, TW_NOMEM, "zones");
	}
	p->uj[p->list.count] = k->uj;
	p->list.fd[p->list.count] = fd;
	if (tw_zone_list_add(&p->list, &z, err) == 0)
		return 0;
	close(fd);
	return -1;
}

static int count_by_die(const struct tw_roots *roots, bool *out, struct tw_err *err)
{
	struct tw_processors p = { 0 };
	struct tw_err why = { 0 };
	struct tw_rapl rapl;

	*out = tw_processors_read(roots, &p, &why) == 0 && p.count > 0 &&
	       tw_rapl_find(&p.at[0], &rapl, &why) == 0 && rapl.by_die;
	tw_processors_release(&p);
	return why.code == TW_NOMEM ? tw_fail(err, TW_NOMEM, "processors") : 0;
}

static void close_perf(void *state)
{
	struct perf *p = state;

	if (p == NULL)
		return;
	free(p->uj);
	tw_zone_list_close(&p->list);
}

static int open_perf(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	const char *sys = c->roots->sys;
	struct perf *p = calloc(1, sizeof(*p));
	bool by_die, any = false;
	struct kind kind;

	if (p == NULL)
		return tw_fail(err, TW_NOMEM, "zones");
	if (count_by_die(c->roots, &by_die, err) < 0)
		goto fail;
	for (size_t i = 0; i < TW_COUNT(events); i++) {
		if (!find_kind(sys, &events[i], &kind))
			continue;
		any = true;
		if ((c->skip_kinds >> events[i].kind & 1U) != 0)
			continue;
		for (size_t k = 0; k < kind.cpus; k++)
			if (add_zone(p, &kind, kind.cpu[k], sys, by_die, err) < 0)
				goto fail;
	}
	if (p->list.count == 0) {
		if (any)
			tw_fail(err, TW_UNSUPPORTED,
				"other meters of RAPL already provide all its zones");
		else
			tw_fail(err, TW_NOTFOUND, "no PMU 'power' below '%s'", sys);
		goto fail;
	}
	*state = p;
	return 0;
fail:
	close_perf(p);
	return -1;
}

/* The kernel's counts have 64 bits and do not wrap. */
static void read_perf(void *state, struct tw_reading *out)
{
	const struct perf *p = state;

	for (size_t i = 0; i < p->list.count; i++) {
		uint64_t count;

		out[i] = (struct tw_reading){ 0 };
		out[i].readable = read(p->list.fd[i], &count, sizeof(count)) ==
				  (ssize_t)sizeof(count);
		if (out[i].readable)
			out[i].energy_uj = (uint64_t)((double)count * p->uj[i]);
		else
			snprintf(out[i].why, sizeof(out[i].why),
				 "its CPU is offline, or the event has ended");
	}
}

const struct tw_meter tw_meter_rapl_perf = {
	.name = "rapl-perf",
	.summary = "RAPL energy counters, by perf events",
	.counters = "rapl",
	.open = open_perf,
	.zones = tw_zone_list_zones,
	.left_out = tw_zone_list_left_out,
	.read = read_perf,
	.close = close_perf,
};
