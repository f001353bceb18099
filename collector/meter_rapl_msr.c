/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RAPL by its registers, which the module msr shows as /dev/cpu/N/msr: 8 bytes at the
 * register's number. It is for where powercap is not. Opening one takes root's files and
 * CAP_SYS_RAWIO, reading it nothing: they are kept open.
 *
 * One CPU is asked for each package or die, and where cores count by themselves one of
 * each core, which wakes it. A register that cannot be read, or is 0, is not there: so
 * does powercap decide it.
 */
#include "collector/meter.h"
#include "collector/meter_file.h"
#include "collector/processors.h"
#include "collector/rapl.h"
#include "collector/roots.h"
#include "lib/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CPUS_MAX 8192

/* "/devices/system/cpu/cpu8191/topology/physical_package_id" */
#define LONGEST 64

/* A processor that is there, and where it is. */
struct cpu {
	unsigned number;
	int package, die, core;
};

struct cpus {
	struct cpu *at;
	size_t count;
	bool dies; /* some package has more than one */
};

/* What zone i of the list reads. */
struct counter {
	unsigned cpu;
	uint32_t at;
	struct tw_rapl_unit unit;
};

struct msr {
	struct tw_zone_list zones;
	struct counter *counter; /* of each; those of a CPU side by side */
	int *fd;                 /* the same */
	char dir[TW_ZONE_PATH];  /* "/dev/cpu" */
};

/* What is being looked for. */
struct search {
	struct msr *m;
	const struct tw_rapl *rapl;
	const struct cpus *cpus;
	unsigned told;     /* of the configuration */
	bool machine;      /* what there is once has been found */
	struct tw_err why; /* the first that could not be read */
};

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

/* ---- where the processors are ---- */

static int topology(const char *sys, unsigned cpu, const char *file)
{
	struct tw_err ignored = { 0 };
	char path[TW_ZONE_PATH + LONGEST];
	uint64_t value;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%u/topology/%s", sys, cpu,
		 file);
	return tw_meter_number(path, &value, &ignored) == 0 && value < 65536 ? (int)value
									     : -1;
}

/* One that is off has no topology. Before Linux 5.2 there are no dies. */
static void add_cpu(struct cpus *c, const char *sys, unsigned number)
{
	struct cpu cpu = { .number = number,
			   .package = topology(sys, number, "physical_package_id"),
			   .die = topology(sys, number, "die_id"),
			   .core = topology(sys, number, "core_id") };

	if (cpu.package < 0)
		return;
	if (cpu.die < 0)
		cpu.die = 0;
	c->dies = c->dies || cpu.die > 0;
	c->at[c->count++] = cpu;
}

static int find_cpus(const char *sys, struct cpus *out, struct tw_err *err)
{
	unsigned *number = malloc(CPUS_MAX * sizeof(*number));
	struct cpus c = { .at = calloc(CPUS_MAX, sizeof(*c.at)) };
	char dir[TW_ZONE_PATH];
	size_t count;
	int rc = -1;

	if (number == NULL || c.at == NULL) {
		tw_fail(err, TW_NOMEM, "processors");
		goto out;
	}
	snprintf(dir, sizeof(dir), "%s/devices/system/cpu", sys);
	if (tw_meter_list(dir, "cpu", number, CPUS_MAX, &count, err) < 0)
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

/* Whether a processor before i is of the same package, die or core. */
static bool is_taken(const struct search *s, size_t i, enum tw_rapl_scope scope)
{
	const struct cpu *c = &s->cpus->at[i];

	for (size_t n = 0; n < i; n++) {
		const struct cpu *o = &s->cpus->at[n];

		if (o->package != c->package)
			continue;
		if (scope == TW_RAPL_CORE ? o->core == c->core && o->die == c->die
					  : !s->rapl->by_die || o->die == c->die)
			return true;
	}
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

/* fd is taken over. */
static int add_counter(struct search *s, const struct cpu *c,
		       const struct tw_rapl_register *r, uint64_t unit, int fd,
		       struct tw_err *err)
{
	struct msr *m = s->m;
	const size_t count = m->zones.count;
	const struct tw_rapl_unit u = tw_rapl_unit_of(s->rapl, r->kind, unit);
	struct tw_zone z = { .range_uj = tw_rapl_range_uj(u) };
	struct counter *counter = realloc(m->counter, (count + 1) * sizeof(*counter));
	int *fds;

	if (counter != NULL)
		m->counter = counter;
	fds = realloc(m->fd, (count + 1) * sizeof(*fds));
	if (fds != NULL)
		m->fd = fds;
	name_zone(s, c, r, &z);
	if (counter == NULL || fds == NULL) {
		close(fd);
		return tw_fail(err, TW_NOMEM, "registers");
	}
	if (tw_zone_list_add(&m->zones, &z, err) < 0) {
		close(fd);
		return -1;
	}
	counter[count] = (struct counter){ c->number, r->at, u };
	fds[count] = fd;
	return 0;
}

/* 0, too, if the register is not there. */
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

static bool is_wanted(const struct search *s, size_t i, const struct tw_rapl_register *r)
{
	return (s->told >> r->kind & 1) == 0 && !is_taken(s, i, r->scope) &&
	       !(r->scope == TW_RAPL_MACHINE && s->machine);
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
		return tw_fail(err, TW_UNSUPPORTED, "powercap tells all that it could");
	if (s->why.code == TW_NOTFOUND)
		return tw_fail(err, TW_NOTFOUND, "%s (module msr)", s->why.text);
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
		close(m->fd[i]);
	free(m->fd);
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

	if (tw_processors_read(roots, &p, err) < 0 ||
	    tw_rapl_find(p.count > 0 ? &p.at[0] : &none, out, err) < 0)
		goto out;

	rc = 0;
out:
	tw_processors_release(&p);
	return rc;
}

static int open_msr(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	struct msr *m = calloc(1, sizeof(*m));
	struct cpus cpus = { .count = 0 };
	struct tw_rapl rapl;
	struct search s = { .m = m, .rapl = &rapl, .cpus = &cpus, .told = c->told };
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
	    find_cpus(c->roots->sys, &cpus, err) < 0 || find_counters(&s, err) < 0)
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

/* By its path, so that one that is gone is seen; by what is open where that is denied. */
static void read_counter(const struct msr *m, size_t i, struct tw_reading *out)
{
	const struct counter *c = &m->counter[i];
	struct tw_err gone = { 0 }, err = { 0 };
	const int fresh = open_cpu(m, c->cpu, &gone);
	uint64_t value = 0;

	if (fresh < 0 && gone.code != TW_DENIED)
		tw_fail(&err, gone.code, "%s", gone.text);
	else if (read_register(m, fresh >= 0 ? fresh : m->fd[i], c->cpu, c->at, &value,
			       &err) == 0)
		value = tw_rapl_uj(c->unit, value);
	if (fresh >= 0)
		close(fresh);
	*out = (struct tw_reading){ .there = err.code == TW_OK, .energy_uj = value };
	snprintf(out->why, sizeof(out->why), "%.*s", (int)sizeof(out->why) - 1, err.text);
}

static void read_msr(void *state, struct tw_reading *out)
{
	const struct msr *m = state;

	for (size_t i = 0; i < m->zones.count; i++)
		read_counter(m, i, &out[i]);
}

const struct tw_meter tw_meter_rapl_msr = {
	.name = "rapl-msr",
	.summary = "RAPL energy counters by the processor's registers",
	.twin = "rapl-sysfs",
	.open = open_msr,
	.zones = zones_of_msr,
	.read = read_msr,
	.close = close_msr,
};
