/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/topology.h"

#include "collector/meters/meter.h"
#include "collector/meters/meter_file.h"
#include "lib/core/err.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CPUS_MAX 8192

static int topology(const char *sys, unsigned cpu, const char *file)
{
	struct tw_err ignored = { 0 };
	char path[TW_ZONE_PATH + TW_TOPOLOGY_LONGEST];
	uint64_t value;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%u/topology/%s", sys, cpu,
		 file);
	return tw_meter_number(path, &value, &ignored) == 0 && value < 65536 ? (int)value
									     : -1;
}

/* An offline CPU has no topology. die_id exists since Linux 5.2. */
static void add_cpu(struct tw_topology *c, const char *sys, unsigned number)
{
	struct tw_place cpu = { .number = number,
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

int tw_topology_read(const char *sys, struct tw_topology *out, struct tw_err *err)
{
	unsigned *number = malloc(CPUS_MAX * sizeof(*number));
	struct tw_topology c = { .at = calloc(CPUS_MAX, sizeof(*c.at)) };
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

void tw_topology_release(struct tw_topology *t)
{
	free(t->at);
	*t = (struct tw_topology){ .count = 0 };
}
