/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/workload_plan.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <stdio.h>
#include <string.h>

#define REST                                                          \
	{                                                             \
		.name = "rest", .summary = "nothing runs", .cpus = 0, \
	}
#define CPU(which, on, percent, line)                                                \
	{                                                                            \
		.name = which, .summary = line, .cpus = on, .load_percent = percent, \
		.spin = TW_SPIN_CPU, .stress = "--cpu,%n,--cpu-load," #percent       \
	}

/* Levels of CPU load alternate, so that time and load are independent. */
static const struct tw_planned plan[] = {
	REST,
	CPU("cpu-50", TW_PLAN_ALL, 50, "half of the time of each CPU"),
	CPU("cpu-10", TW_PLAN_ALL, 10, "a tenth of the time of each CPU"),
	CPU("cpu-100", TW_PLAN_ALL, 100, "each CPU all of the time"),
	{ .name = "memory",
	  .summary = "writes to memory beyond the caches",
	  .cpus = TW_PLAN_HALF,
	  .load_percent = 100,
	  .spin = TW_SPIN_MEMORY,
	  .stress = "--vm,%n,--vm-bytes,64M,--vm-method,write64,--vm-keep" },
	CPU("cpu-25", TW_PLAN_ALL, 25, "a quarter of the time of each CPU"),
	{ .name = "switches",
	  .summary = "context switches between pairs of processes",
	  .cpus = TW_PLAN_HALF,
	  .load_percent = 100,
	  .spin = TW_SPIN_SWITCH,
	  .stress = "--switch,%n" },
	CPU("cpu-one", TW_PLAN_ONE, 100, "one CPU all of the time"),
	{ .name = "cache",
	  .summary = "dependent reads and writes in the caches",
	  .cpus = TW_PLAN_ALL,
	  .load_percent = 100,
	  .spin = TW_SPIN_CACHE,
	  .stress = "--cache,%n" },
	{ .name = "disk",
	  .summary = "writes to a file, with syncs",
	  .cpus = TW_PLAN_ONE,
	  .load_percent = 100,
	  .spin = TW_SPIN_DISK,
	  .stress = "--hdd,%n,--hdd-bytes,16M,--hdd-opts,fdatasync" },
	CPU("cpu-75", TW_PLAN_ALL, 75, "three quarters of the time of each CPU"),
	{ .name = "mixed",
	  .summary = "CPU, memory, context switches and caches together",
	  .cpus = TW_PLAN_HALF,
	  .load_percent = 60,
	  .spin = TW_SPIN_MIXED,
	  .stress = "--cpu,%n,--cpu-load,60,--vm,1,--vm-bytes,64M,--switch,1,--cache,1" },
	REST,
};

size_t tw_plan_count(void)
{
	return TW_COUNT(plan);
}

const struct tw_planned *tw_plan_at(size_t i)
{
	return &plan[i];
}

size_t tw_plan_repeat(size_t i)
{
	size_t count = 0;

	for (size_t k = 0; k < i; k++)
		count += strcmp(plan[k].name, plan[i].name) == 0;
	return count;
}

unsigned tw_planned_cpus(const struct tw_planned *p, unsigned machine_cpus)
{
	const unsigned cpus = p->cpus == TW_PLAN_ALL    ? machine_cpus
			      : p->cpus == TW_PLAN_HALF ? machine_cpus / 2
							: 1;

	if (p->processes > 0)
		return p->processes;
	return cpus > 0 ? cpus : 1;
}

int tw_planned_stress(const struct tw_planned *p, unsigned machine_cpus, const char *dir,
		      unsigned limit_s, struct tw_strs *out, struct tw_err *err)
{
	struct tw_strs given = { 0 };
	char cpus[16], limit[16];
	int rc = -1;

	snprintf(cpus, sizeof(cpus), "%u", tw_planned_cpus(p, machine_cpus));
	snprintf(limit, sizeof(limit), "%us", limit_s);
	if (tw_strs_adds(out, "stress-ng", err) < 0 ||
	    tw_strs_adds(out, "--quiet", err) < 0 ||
	    tw_strs_adds(out, "--timeout", err) < 0 ||
	    tw_strs_adds(out, limit, err) < 0 ||
	    tw_strs_adds(out, "--temp-path", err) < 0 ||
	    tw_strs_adds(out, dir, err) < 0 || tw_strs_split(&given, p->stress, err) < 0)
		goto out;
	for (size_t i = 0; i < given.count; i++)
		if (tw_strs_adds(out, strcmp(given.at[i], "%n") == 0 ? cpus : given.at[i],
				 err) < 0)
			goto out;
	rc = 0;
out:
	tw_strs_clear(&given);
	return rc;
}
