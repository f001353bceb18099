/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/powercap.h"

#include "collector/collector.h"
#include "collector/power.h"
#include "collector/workload.h"
#include "lib/err.h"
#include "lib/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 1024

/* Where a kind is in the tree; the first of a place that is told has it. */
static const struct place {
	enum tw_zone_kind kind;
	const char *at, *name;
} places[] = {
	{ TW_ZONE_PACKAGE, "intel-rapl:0", "package-0" },
	{ TW_ZONE_CORE, "intel-rapl:0:0", "core" },
	{ TW_ZONE_UNCORE, "intel-rapl:0:1", "uncore" },
	{ TW_ZONE_DRAM, "intel-rapl:0:2", "dram" },
	{ TW_ZONE_PSYS, "intel-rapl:1", "psys" },
	{ TW_ZONE_PLATFORM, "intel-rapl:1", "psys" },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int write_number(const char *dir, const char *file, uint64_t value,
			struct tw_err *err)
{
	char path[PATH_BYTES + 32], text[24];
	const int len = snprintf(text, sizeof(text), "%" PRIu64 "\n", value);

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return tw_file_replace(path, text, (size_t)len, err);
}

/* What does not change is written once; energy last, so that a zone that has it is whole.
 */
static int write_zone(const char *dir, const char *name, uint64_t uj, struct tw_err *err)
{
	char path[PATH_BYTES + 32], line[80];

	snprintf(path, sizeof(path), "%s/energy_uj", dir);
	if (access(path, F_OK) != 0) {
		const int len = snprintf(line, sizeof(line), "%s\n", name);

		snprintf(path, sizeof(path), "%s/name", dir);
		if (tw_dir_make(dir, err) < 0 ||
		    tw_file_replace(path, line, (size_t)len, err) < 0 ||
		    write_number(dir, "max_energy_range_uj", TW_POWERCAP_RANGE_UJ, err) <
			    0)
			return -1;
	}
	return write_number(dir, "energy_uj", uj % (TW_POWERCAP_RANGE_UJ + 1), err);
}

/* Kinds that are told in tells[], with the energy that c has of each. */
static int write_tree(const char *dir, const bool tells[TW_ZONE_KIND_COUNT],
		      const struct tw_charge *c, struct tw_err *err)
{
	const char *last = "";

	for (size_t i = 0; i < COUNT(places); i++) {
		const struct place *p = &places[i];
		char path[PATH_BYTES];

		if (!tells[p->kind] || strcmp(p->at, last) == 0)
			continue;
		last = p->at;
		if ((size_t)snprintf(path, sizeof(path), "%s/class/powercap/%s", dir,
				     p->at) >= sizeof(path))
			return tw_fail(err, TW_INVALID, "'%s' is too long", dir);
		if (write_zone(path, p->name,
			       c->dynamic_uj[p->kind] + c->idle_uj[p->kind], err) < 0)
			return -1;
	}
	return 0;
}

/* All that the machine has had. */
static struct tw_charge charge_of_node(const struct tw_power *p)
{
	struct tw_charge sum = { { 0 }, { 0 } };
	size_t count;
	const struct tw_power_zone *z = tw_power_zones(p, &count);

	for (size_t i = 0; i < count; i++) {
		const enum tw_zone_kind kind = z[i].zone->kind;

		if (tw_power_meter(p, kind) != z[i].meter)
			continue;
		sum.dynamic_uj[kind] += z[i].dynamic_uj;
		sum.idle_uj[kind] += z[i].idle_uj;
	}
	return sum;
}

/* A VM that has ended keeps its tree: what it had is not to be given to another. */
static int write_vm(const struct tw_collector *c, const bool *tells,
		    const struct tw_workload *w, struct tw_err *err)
{
	char dir[PATH_BYTES];

	if (tw_name_check("id of a VM", w->who->id, strlen(w->who->id), err) < 0)
		return -1;
	if ((size_t)snprintf(dir, sizeof(dir), "%s/%s", c->vm_power_dir, w->who->id) >=
	    sizeof(dir))
		return tw_fail(err, TW_INVALID, "'%s' is too long", c->vm_power_dir);
	return write_tree(dir, tells, &w->charged, err);
}

int tw_powercap_tick(const struct tw_collector *c, struct tw_err *err)
{
	const struct tw_workload *w = NULL;
	bool tells[TW_ZONE_KIND_COUNT], failed = false;

	for (int i = 0; i < TW_ZONE_KIND_COUNT; i++)
		tells[i] = tw_power_tells(c->power, (enum tw_zone_kind)i);
	if (c->powercap_out != NULL) {
		const struct tw_charge node = charge_of_node(c->power);

		failed = write_tree(c->powercap_out, tells, &node, err) < 0;
	}
	if (c->vm_power_dir == NULL)
		return failed ? -1 : 0;
	while ((w = tw_workloads_next(c->workloads, TW_LEVEL_VM, w)) != NULL)
		if (!w->ended && write_vm(c, tells, w, err) < 0)
			failed = true;
	return failed ? -1 : 0;
}
