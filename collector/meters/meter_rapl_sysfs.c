/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two meters of the same shape: RAPL, and the trees that tw-collector writes for virtual
 * machines (collector/powercap.h). A zone of such a tree has a file `source`.
 *
 * RAPL by powercap: Documentation/power/powercap. Each zone is a directory: intel-rapl:N
 * for a package (or a die, or psys) and intel-rapl:N:M for its subzones. AMD uses the
 * same names. They are side by side below /sys/class/powercap, or nested below
 * /sys/devices/virtual/powercap. intel-rapl-mmio:N has the same counters, by other
 * registers. What is read twice is left out: see left_out_of().
 */
#include "collector/meters/meter.h"
#include "collector/meters/meter_file.h"
#include "collector/meters/rapl.h"
#include "collector/system/processors.h"
#include "collector/system/roots.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 3

/* The best source of a counter first. */
static const char *const prefixes[] = { "intel-rapl", "intel-rapl-mmio" };

/* A zone's directory: intel-rapl:TOP or intel-rapl:TOP:PART. */
struct place {
	size_t prefix;
	uint32_t top, part; /* part: UINT32_MAX for a top-level zone */
	char path[TW_ZONE_PATH];
	char name[TW_ZONE_NAME];
	struct tw_zone_origin origin; /* source "": RAPL */
};

struct places {
	struct place *at;
	size_t count;
	bool written;              /* look for the trees of a collector, not for RAPL */
	char hidden[TW_ZONE_PATH]; /* a zone that cannot be read; "": none */
};

static bool parse_index(const char *s, size_t len, uint32_t *out)
{
	uint64_t v;

	if (!tw_parse_u64(s, len, &v) || v >= UINT32_MAX)
		return false;
	*out = (uint32_t)v;
	return true;
}

/* The prefix that a name begins with, followed by `end`; its length. */
static size_t prefix_of(const char *name, char end, size_t *len)
{
	size_t i = 0;

	for (; i < TW_COUNT(prefixes); i++) {
		*len = strlen(prefixes[i]);
		if (strncmp(name, prefixes[i], *len) == 0 && name[*len] == end)
			break;
	}
	return i;
}

/* "intel-rapl:1", "intel-rapl-mmio:1:0". */
static bool parse_place(const char *name, struct place *p)
{
	const char *top, *colon;
	size_t len;

	p->prefix = prefix_of(name, ':', &len);
	if (p->prefix == TW_COUNT(prefixes))
		return false;
	top = name + len + 1;
	p->part = UINT32_MAX;
	colon = strchr(top, ':');
	if (colon == NULL)
		return parse_index(top, strlen(top), &p->top);
	return parse_index(top, (size_t)(colon - top), &p->top) &&
	       parse_index(colon + 1, strlen(colon + 1), &p->part);
}

static bool is_known(const struct places *l, const struct place *p)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->at[i].prefix == p->prefix && l->at[i].top == p->top &&
		    l->at[i].part == p->part)
			return true;
	return false;
}

static int add_place(struct places *l, const struct place *p, struct tw_err *err)
{
	if (l->count == TW_ZONES_MAX)
		return tw_fail(err, TW_INVALID, "more than %d zones", TW_ZONES_MAX);
	if (!tw_resize(&l->at, l->count + 1, sizeof(*l->at)))
		return tw_fail(err, TW_NOMEM, "zones");
	l->at[l->count++] = *p;
	return 0;
}

static void read_line(const char *dir, const char *name, char out[TW_ZONE_NAME])
{
	struct tw_err ignored = { 0 };
	char file[TW_ZONE_PATH + 8];

	snprintf(file, sizeof(file), "%s/%s", dir, name);
	if (tw_meter_line(file, out, TW_ZONE_NAME, &ignored) < 0)
		out[0] = '\0';
}

static void read_origin(const char *dir, struct tw_zone_origin *out)
{
	read_line(dir, "source", out->source);
	read_line(dir, "model", out->model);
}

/*
 * Skip a directory without a name: its zone cannot be known. Container runtimes hide the
 * directories of all zones behind their links.
 */
static int take_place(struct places *l, const char *path, struct place *p,
		      struct tw_err *err)
{
	snprintf(p->path, sizeof(p->path), "%s", path);
	read_line(path, "name", p->name);
	read_origin(path, &p->origin);
	if (p->name[0] == '\0')
		snprintf(l->hidden, sizeof(l->hidden), "%s", path);
	if (is_known(l, p) || p->name[0] == '\0' ||
	    (p->origin.source[0] != '\0') != l->written)
		return 0;
	return add_place(l, p, err);
}

static int find_places(struct places *l, const char *dir, int depth, struct tw_err *err)
{
	const struct dirent *d;
	DIR *open_dir = opendir(dir);
	int rc = -1;

	if (open_dir == NULL)
		return tw_fail_errno(err, errno, "cannot open '%s'", dir);
	while ((d = readdir(open_dir)) != NULL) {
		struct tw_err ignored = { 0 };
		char path[TW_ZONE_PATH];
		struct place p;
		size_t len;
		const bool zone = prefix_of(d->d_name, ':', &len) < TW_COUNT(prefixes);

		if (!zone && prefix_of(d->d_name, '\0', &len) == TW_COUNT(prefixes))
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, d->d_name) >=
		    sizeof(path)) {
			tw_fail(err, TW_INVALID, "a path below '%s' is too long", dir);
			goto out;
		}
		if (zone && parse_place(d->d_name, &p) &&
		    take_place(l, path, &p, err) < 0)
			goto out;
		if (depth > 1 && find_places(l, path, depth - 1, &ignored) < 0 &&
		    ignored.code == TW_NOMEM) {
			tw_fail(err, TW_NOMEM, "zones");
			goto out;
		}
	}

	rc = 0;
out:
	closedir(open_dir);
	return rc;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->prefix != y->prefix)
		return x->prefix < y->prefix ? -1 : 1;
	if (x->top != y->top)
		return x->top < y->top ? -1 : 1;
	/* UINT32_MAX + 1 is 0: a top-level zone sorts before its subzones. */
	if (x->part != y->part)
		return x->part + 1 < y->part + 1 ? -1 : 1;
	return 0;
}

static bool kind_of(const char *name, enum tw_zone_kind *out)
{
	static const struct {
		const char *name;
		enum tw_zone_kind kind;
	} known[] = {
		{ "core", TW_ZONE_CORE },
		{ "uncore", TW_ZONE_UNCORE },
		{ "dram", TW_ZONE_DRAM },
		{ "psys", TW_ZONE_PSYS },
	};

	if (strncmp(name, "package-", 8) == 0) {
		*out = TW_ZONE_PACKAGE;
		return true;
	}
	/* The counter of the machine in another package than 0. */
	if (strncmp(name, "psys-", 5) == 0)
		name = "psys";
	for (size_t i = 0; i < TW_COUNT(known); i++) {
		if (strcmp(name, known[i].name) == 0) {
			*out = known[i].kind;
			return true;
		}
	}
	return false;
}

/* "package-1", "package-1-die-0". */
static int package_of(const char *name)
{
	uint32_t package;

	if (strncmp(name, "package-", 8) != 0)
		return -1;
	name += 8;
	return parse_index(name, strcspn(name, "-"), &package) && package < 4096
		       ? (int)package
		       : -1;
}

/* Properties of the processor's counters that powercap does not show. */
struct quirks {
	bool one_core;    /* "core" is the counter of a single core */
	bool one_package; /* all dies of a package show the package's counter */
};

/* A tree from the VM's host is of another processor, and of another program. */
static int find_quirks(const struct tw_roots *roots, struct quirks *out,
		       struct tw_err *err)
{
	struct tw_processors p = { 0 };
	struct tw_err why = { 0 }, unknown = { 0 };
	struct tw_rapl rapl;

	*out = (struct quirks){ .one_core = false };
	if (roots->powercap != NULL)
		return 0;
	if (tw_processors_read(roots, &p, &why) == 0 && p.count > 0) {
		out->one_core = tw_rapl_is_amd(&p.at[0]);
		out->one_package =
			out->one_core ||
			(tw_rapl_find(&p.at[0], &rapl, &unknown) == 0 && !rapl.by_die);
	}
	tw_processors_release(&p);
	return why.code == TW_NOMEM ? tw_fail(err, TW_NOMEM, "%s", why.text) : 0;
}

/*
 * Linux makes a zone for each die, but few processors count by die (rapl.h). The dies of
 * the others, such as the NUMA dies of Zen 1 and 2 and the CCDs of Zen 4 and 5 under
 * Linux 6.9 and 6.10, show the counters of their package. "core" of AMD is the counter of
 * a single core (drivers/powercap/intel_rapl_msr.c, as of 6.12). Returns NULL for a zone
 * to read.
 */
static const char *left_out_of(const struct tw_zone_list *l, const struct tw_zone *z,
			       const struct place *p, const struct quirks *q)
{
	const bool shared = q->one_package || p->prefix > 0;

	if (q->one_core && z->kind == TW_ZONE_CORE)
		return "Linux shows the counter of a single core";
	for (size_t i = 0; i < l->count; i++) {
		if (l->at[i].kind != z->kind)
			continue;
		if (z->kind == TW_ZONE_PSYS)
			return "it shows the machine's counter, which is read once";
		if (shared && l->at[i].package == z->package)
			return "it shows its package's counter, which is read once";
	}
	return NULL;
}

/* The first limit of a package is its thermal design power. 0: unknown. */
static double tdp_of(const struct place *p)
{
	struct tw_err ignored = { 0 };
	char file[TW_ZONE_PATH + 32];
	uint64_t uw = 0;

	snprintf(file, sizeof(file), "%s/constraint_0_max_power_uw", p->path);
	return tw_meter_number(file, &uw, &ignored) == 0 ? (double)uw / 1e6 : 0;
}

/* Add the zone of a directory, as part of that package. */
static int add_zone(struct tw_zone_list *l, const struct place *p, int package,
		    const struct quirks *q, struct tw_err *err)
{
	struct tw_zone z = { .package = package,
			     .estimated = strcmp(p->origin.source, "model") == 0,
			     .origin = p->origin };
	struct tw_err ignored = { 0 };
	char file[TW_ZONE_PATH + 24];
	const char *left_out;

	snprintf(z.name, sizeof(z.name), "%s", p->name);
	if ((size_t)snprintf(z.path, sizeof(z.path), "%s/energy_uj", p->path) >=
	    sizeof(z.path))
		return tw_fail(err, TW_INVALID, "'%s' is too long", p->path);
	if (!kind_of(p->name, &z.kind)) {
		z.kind = TW_ZONE_SENSOR;
		return tw_zone_list_leave(l, &z, "no RAPL zone is known by its name",
					  err);
	}
	left_out = left_out_of(l, &z, p, q);
	if (left_out != NULL)
		return tw_zone_list_leave(l, &z, left_out, err);
	snprintf(file, sizeof(file), "%s/max_energy_range_uj", p->path);
	if (tw_meter_number(file, &z.range_uj, &ignored) < 0)
		z.range_uj = 0;
	if (z.kind == TW_ZONE_PACKAGE)
		z.tdp_w = tdp_of(p);
	return tw_zone_list_add(l, &z, err);
}

static int add_zones(struct tw_zone_list *l, struct places *p, const struct quirks *q,
		     struct tw_err *err)
{
	int package = -1;

	if (p->count > 0)
		qsort(p->at, p->count, sizeof(*p->at), compare_places);
	for (size_t i = 0; i < p->count; i++) {
		if (p->at[i].part == UINT32_MAX || p->at[i].top != p->at[i - (i > 0)].top)
			package = package_of(p->at[i].name);
		if (add_zone(l, &p->at[i], package, q, err) < 0)
			return -1;
	}
	if (l->count > 0)
		return 0;
	if (p->hidden[0] != '\0' && !p->written)
		return tw_fail(err, TW_NOTFOUND,
			       "'%s' has no name: in a container, mount the host's /sys "
			       "and set --sys",
			       p->hidden);
	return tw_fail(err, TW_NOTFOUND,
		       p->written ? "no zones that a collector has written"
				  : "no RAPL zones");
}

static int open_tree(const struct tw_meter_config *c, bool written, void **state,
		     struct tw_err *err)
{
	struct tw_zone_list *l = calloc(1, sizeof(*l));
	struct places places = { .written = written };
	char dir[TW_ZONE_PATH];
	struct quirks quirks;
	int n, rc = -1;

	if (l == NULL)
		return tw_fail(err, TW_NOMEM, "zones");
	n = c->roots->powercap != NULL
		    ? snprintf(dir, sizeof(dir), "%s", c->roots->powercap)
		    : snprintf(dir, sizeof(dir), "%s/class/powercap", c->roots->sys);
	if (n < 0 || (size_t)n >= sizeof(dir)) {
		tw_fail(err, TW_INVALID, "the powercap path is too long (%d bytes)", n);
		goto out;
	}
	if (find_places(&places, dir, DEPTH_MAX, err) < 0 ||
	    find_quirks(c->roots, &quirks, err) < 0 ||
	    add_zones(l, &places, &quirks, err) < 0 || tw_zone_list_open(l, err) < 0)
		goto out;

	*state = l;
	l = NULL;
	rc = 0;
out:
	free(places.at);
	tw_zone_list_close(l);
	return rc;
}

static int open_rapl(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	return open_tree(c, false, state, err);
}

static int open_written(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	return open_tree(c, true, state, err);
}

/* The other machine may use another model later. */
static void read_written(void *state, struct tw_reading *out)
{
	struct tw_zone_list *l = state;

	tw_zone_list_read(state, out);
	for (size_t i = 0; i < l->count; i++) {
		struct tw_zone *z = &l->at[i];
		char dir[TW_ZONE_PATH];

		snprintf(dir, sizeof(dir), "%s", z->path);
		*strrchr(dir, '/') = '\0';
		if (out[i].readable)
			read_line(dir, "model", z->origin.model);
	}
}

const struct tw_meter tw_meter_passthrough = {
	.name = "passthrough",
	.summary =
		"energy that the host, or another collector, has written as a powercap "
		"tree",
	.late = true,
	.open = open_written,
	.zones = tw_zone_list_zones,
	.read = read_written,
	.close = tw_zone_list_close,
};

const struct tw_meter tw_meter_rapl_sysfs = {
	.name = "rapl-sysfs",
	.summary = "RAPL energy counters, by Linux' powercap",
	.late = true,
	.wraps = true,
	.counters = "rapl",
	.open = open_rapl,
	.zones = tw_zone_list_zones,
	.left_out = tw_zone_list_left_out,
	.read = tw_zone_list_read,
	.close = tw_zone_list_close,
};
