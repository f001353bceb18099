/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RAPL by the processor's registers, for machines without powercap. The kernel module msr
 * offers them as /dev/cpu/N/msr: 8 bytes at the number of the register. Opening such a
 * file needs root and CAP_SYS_RAWIO, reading an open one nothing, so the files stay open.
 *
 * One CPU is read for each package or die, and one of each core where cores have
 * counters, which wakes that core. If the CPU is offline, another one is read. A register
 * that cannot be read or is 0 does not exist; powercap decides the same way.
 */
#include "collector/meters/meter.h"
#include "collector/meters/meter_file.h"
#include "collector/meters/rapl.h"
#include "collector/system/processors.h"
#include "collector/system/roots.h"
#include "lib/core/array.h"
#include "lib/core/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Room for the path below either root. */
#define LONGEST 64

/* CPUs of the machine. */
#define MACHINE_MAX 8192

/* CPUs kept open for a register: one may go offline. */
#define CPUS_MAX 4

/* The register of zone i of the list, readable through any of these CPUs. */
struct counter {
	uint32_t at;
	struct tw_rapl_unit unit;
	struct {
		unsigned cpu;
		int fd;
	} cpus[CPUS_MAX];
	size_t count, now; /* index of the CPU that answered last */
};

struct msr {
	struct tw_zone_list zones;
	struct counter *counter; /* one for each zone */
	char dir[TW_ZONE_PATH];  /* "/dev/cpu" */
};

struct cpu {
	unsigned number;
	int package, die, core;
};

/* The online CPUs. */
struct cpus {
	struct cpu *at; /* sorted by number */
	size_t count;
	bool dies; /* a package has more than one die */
};

/* State of the search for registers. */
struct search {
	struct msr *m;
	const struct tw_rapl *rapl;
	const struct cpus *cpus;
	unsigned skip_kinds; /* kinds to skip, as configured */
	bool machine;        /* the register of the whole machine was found */
	struct tw_err why;   /* the first read error */
};

/* ---- the online CPUs, and their packages, dies and cores ---- */

static int read_place(const char *sys, unsigned cpu, const char *file)
{
	struct tw_err ignored = { 0 };
	char path[TW_ZONE_PATH + LONGEST];
	uint64_t value;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%u/topology/%s", sys, cpu,
		 file);
	return tw_meter_number(path, &value, &ignored) == 0 && value < 65536 ? (int)value
									     : -1;
}

/* An offline CPU has no topology. die_id exists since Linux 5.2. */
static void add_cpu(struct cpus *c, const char *sys, unsigned number)
{
	struct cpu cpu = { .number = number,
			   .package = read_place(sys, number, "physical_package_id"),
			   .die = read_place(sys, number, "die_id"),
			   .core = read_place(sys, number, "core_id") };

	if (cpu.package < 0)
		return;
	if (cpu.die < 0)
		cpu.die = 0;
	c->dies = c->dies || cpu.die > 0;
	c->at[c->count++] = cpu;
}

/*
 * Read the online CPUs from sys/devices/system/cpu/cpuN/topology. out->at is yours.
 * TW_NOTFOUND if no CPU has a topology.
 */
static int read_cpus(const char *sys, struct cpus *out, struct tw_err *err)
{
	unsigned *number = malloc(MACHINE_MAX * sizeof(*number));
	struct cpus c = { .at = calloc(MACHINE_MAX, sizeof(*c.at)) };
	char dir[TW_ZONE_PATH];
	size_t count;
	int rc = -1;

	if (number == NULL || c.at == NULL) {
		tw_fail(err, TW_NOMEM, "processors");
		goto out;
	}
	snprintf(dir, sizeof(dir), "%s/devices/system/cpu", sys);
	if (tw_meter_list(dir, "cpu", number, MACHINE_MAX, &count, err) < 0)
		goto out;
	for (size_t i = 0; i < count; i++)
		add_cpu(&c, sys, number[i]);
	if (c.count == 0) {
		tw_fail(err, TW_NOTFOUND, "no topology of processors below '%s'", dir);
		goto out;
	}

	*out = c;
	c.at = NULL;
	rc = 0;
out:
	free(number);
	free(c.at);
	return rc;
}

/* ---- registers ---- */

static int open_cpu(const struct msr *m, unsigned cpu, struct tw_err *err)
{
	char path[TW_ZONE_PATH + 24];
	int fd;

	snprintf(path, sizeof(path), "%s/%u/msr", m->dir, cpu);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd >= 0 ? fd : tw_fail_errno(err, errno, "cannot open '%s'", path);
}

static int read_register(const struct msr *m, int fd, unsigned cpu, uint32_t at,
			 uint64_t *out, struct tw_err *err)
{
	uint64_t value;
	const ssize_t len = pread(fd, &value, sizeof(value), (off_t)at);

	if (len < 0)
		return tw_fail_errno(err, errno, "register 0x%" PRIx32 " of '%s/%u/msr'",
				     at, m->dir, cpu);
	if (len != (ssize_t)sizeof(value))
		return tw_fail(err, TW_IO, "register 0x%" PRIx32 " of '%s/%u/msr' is cut",
			       at, m->dir, cpu);
	*out = value;
	return 0;
}

/* ---- which CPUs share a register ---- */

/* True if two CPUs share one register of that scope. */
static bool is_shared(const struct search *s, const struct cpu *a, const struct cpu *b,
		      enum tw_rapl_scope scope)
{
	if (scope == TW_RAPL_MACHINE)
		return true;
	if (a->package != b->package)
		return false;
	return scope == TW_RAPL_CORE ? a->core == b->core && a->die == b->die
				     : !s->rapl->by_die || a->die == b->die;
}

/* True if a CPU before i shares the register. */
static bool is_taken(const struct search *s, size_t i, enum tw_rapl_scope scope)
{
	for (size_t n = 0; n < i; n++)
		if (is_shared(s, &s->cpus->at[n], &s->cpus->at[i], scope))
			return true;
	return false;
}

/* ---- zones ---- */

static void name_zone(const struct search *s, const struct cpu *c,
		      const struct tw_rapl_register *r, struct tw_zone *z)
{
	const char *kind = tw_zone_kind_name(r->kind);

	if (r->scope == TW_RAPL_CORE)
		snprintf(z->name, sizeof(z->name), "%s-%d", kind, c->core);
	else if (r->kind != TW_ZONE_PACKAGE)
		snprintf(z->name, sizeof(z->name), "%s", kind);
	else if (s->rapl->by_die && s->cpus->dies)
		snprintf(z->name, sizeof(z->name), "%s-%d-die-%d", kind, c->package,
			 c->die);
	else
		snprintf(z->name, sizeof(z->name), "%s-%d", kind, c->package);
	z->kind = r->kind;
	z->package = r->scope == TW_RAPL_MACHINE ? -1 : c->package;
	snprintf(z->path, sizeof(z->path), "%.200s/%u/msr:0x%" PRIx32, s->m->dir,
		 c->number, r->at);
}

/* Open other CPUs that share the register, in case the first goes offline. */
static void add_others(struct search *s, const struct cpu *first,
		       const struct tw_rapl_register *r, struct counter *to)
{
	for (size_t i = 0; i < s->cpus->count && to->count < CPUS_MAX; i++) {
		const struct cpu *c = &s->cpus->at[i];
		struct tw_err ignored = { 0 };
		int fd;

		if (c->number == first->number || !is_shared(s, first, c, r->scope))
			continue;
		fd = open_cpu(s->m, c->number, &ignored);
		if (fd < 0)
			continue;
		to->cpus[to->count].cpu = c->number;
		to->cpus[to->count++].fd = fd;
	}
}

/* fd is taken. */
static int add_counter(struct search *s, const struct cpu *c,
		       const struct tw_rapl_register *r, uint64_t unit, int fd,
		       struct tw_err *err)
{
	struct msr *m = s->m;
	const size_t count = m->zones.count;
	const struct tw_rapl_unit u = tw_rapl_unit_of(s->rapl, r->kind, unit);
	struct tw_zone z = { .range_uj = tw_rapl_range_uj(u) };
	struct counter *to;

	if (!tw_resize(&m->counter, count + 1, sizeof(*m->counter))) {
		close(fd);
		return tw_fail(err, TW_NOMEM, "registers");
	}
	name_zone(s, c, r, &z);
	if (tw_zone_list_add(&m->zones, &z, err) < 0) {
		close(fd);
		return -1;
	}
	to = &m->counter[count];
	*to = (struct counter){ .at = r->at, .unit = u, .count = 1 };
	to->cpus[0].cpu = c->number;
	to->cpus[0].fd = fd;
	add_others(s, c, r, to);
	return 0;
}

/* Also returns 0 if the register does not exist. */
static int try_register(struct search *s, const struct cpu *c,
			const struct tw_rapl_register *r, struct tw_err *err)
{
	uint64_t unit, value;
	const int fd = open_cpu(s->m, c->number, &s->why);

	if (fd < 0)
		return 0;
	if (read_register(s->m, fd, c->number, s->rapl->unit_at, &unit, &s->why) < 0 ||
	    read_register(s->m, fd, c->number, r->at, &value, &s->why) < 0 ||
	    (value & UINT32_MAX) == 0) {
		close(fd);
		return 0;
	}
	s->machine = s->machine || r->scope == TW_RAPL_MACHINE;
	return add_counter(s, c, r, unit, fd, err);
}

/* A register of the whole machine is searched in each package. */
static bool is_wanted(const struct search *s, size_t i, const struct tw_rapl_register *r)
{
	if ((s->skip_kinds >> r->kind & 1) != 0)
		return false;
	if (r->scope == TW_RAPL_MACHINE)
		return !s->machine && !is_taken(s, i, TW_RAPL_PACKAGE);
	return !is_taken(s, i, r->scope);
}

static int find_counters(struct search *s, struct tw_err *err)
{
	bool wanted = false;

	for (size_t i = 0; i < s->cpus->count; i++) {
		for (size_t n = 0; n < s->rapl->regs; n++) {
			const struct tw_rapl_register *r = &s->rapl->reg[n];

			if (!is_wanted(s, i, r))
				continue;
			wanted = true;
			if (try_register(s, &s->cpus->at[i], r, err) < 0)
				return -1;
		}
	}
	if (s->m->zones.count > 0)
		return 0;
	if (!wanted)
		return tw_fail(err, TW_UNSUPPORTED,
			       "powercap already provides all its zones");
	if (s->why.code == TW_NOTFOUND)
		return tw_fail(err, TW_NOTFOUND, "%s (load the module msr)", s->why.text);
	if (s->why.code != TW_OK)
		return tw_fail(err, s->why.code, "%s", s->why.text);
	return tw_fail(err, TW_NOTFOUND, "all registers are 0");
}

/* ---- the meter ---- */

static void close_msr(void *state)
{
	struct msr *m = state;

	if (m == NULL)
		return;
	for (size_t i = 0; i < m->zones.count; i++)
		for (size_t k = 0; k < m->counter[i].count; k++)
			close(m->counter[i].cpus[k].fd);
	free(m->counter);
	free(m->zones.at);
	free(m);
}

static int find_rapl(const struct tw_roots *roots, struct tw_rapl *out,
		     struct tw_err *err)
{
	struct tw_processors p = { 0 };
	const struct tw_processor none = { .number = "" };
	int rc = -1;

	if (tw_processors_read(roots, &p, err) == 0 &&
	    tw_rapl_find(p.count > 0 ? &p.at[0] : &none, out, err) == 0)
		rc = 0;
	tw_processors_release(&p);
	return rc;
}

static int open_msr(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	struct msr *m = calloc(1, sizeof(*m));
	struct cpus cpus = { .count = 0 };
	struct tw_rapl rapl;
	struct search s = {
		.m = m, .rapl = &rapl, .cpus = &cpus, .skip_kinds = c->skip_kinds
	};
	int rc = -1;

	if (m == NULL)
		return tw_fail(err, TW_NOMEM, "registers");
	if (strlen(c->roots->dev) >= sizeof(m->dir) - LONGEST ||
	    strlen(c->roots->sys) >= sizeof(m->dir) - LONGEST) {
		tw_fail(err, TW_INVALID, "'%s' or '%s' is too long", c->roots->dev,
			c->roots->sys);
		goto out;
	}
	snprintf(m->dir, sizeof(m->dir), "%s/cpu", c->roots->dev);
	if (find_rapl(c->roots, &rapl, err) < 0 ||
	    read_cpus(c->roots->sys, &cpus, err) < 0 || find_counters(&s, err) < 0)
		goto out;

	*state = m;
	m = NULL;
	rc = 0;
out:
	free(cpus.at);
	close_msr(m);
	return rc;
}

static const struct tw_zone *zones_of_msr(const void *state, size_t *count)
{
	const struct msr *m = state;

	return tw_zone_list_zones(&m->zones, count);
}

/* Read by path, so that an offline CPU is seen; if that is denied, read the open file. */
static int read_through(const struct msr *m, const struct counter *c, size_t k,
			uint64_t *out, struct tw_err *err)
{
	const unsigned cpu = c->cpus[k].cpu;
	struct tw_err gone = { 0 };
	const int fresh = open_cpu(m, cpu, &gone);
	int rc;

	if (fresh < 0 && gone.code != TW_DENIED)
		return tw_fail(err, gone.code, "%s", gone.text);
	rc = read_register(m, fresh >= 0 ? fresh : c->cpus[k].fd, cpu, c->at, out, err);
	if (fresh >= 0)
		close(fresh);
	return rc;
}

/* Try the CPU that answered last, then the others: all have the same counter. */
static void read_counter(const struct msr *m, struct counter *c, struct tw_reading *out)
{
	const size_t first = c->now;
	struct tw_err why = { 0 };
	uint64_t value = 0;

	*out = (struct tw_reading){ .readable = false };
	for (size_t i = 0; i < c->count && !out->readable; i++) {
		struct tw_err err = { 0 };
		const size_t k = (first + i) % c->count;

		out->readable = read_through(m, c, k, &value, &err) == 0;
		if (out->readable)
			c->now = k;
		else if (i == 0)
			why = err;
	}
	if (out->readable)
		out->energy_uj = tw_rapl_uj(c->unit, value);
	else
		tw_reading_fail(out, &why);
}

static void read_msr(void *state, struct tw_reading *out)
{
	struct msr *m = state;

	for (size_t i = 0; i < m->zones.count; i++)
		read_counter(m, &m->counter[i], &out[i]);
}

const struct tw_meter tw_meter_rapl_msr = {
	.name = "rapl-msr",
	.summary = "RAPL energy counters, by the processor's registers",
	.wraps = true,
	.counters = "rapl",
	.open = open_msr,
	.zones = zones_of_msr,
	.read = read_msr,
	.close = close_msr,
};
