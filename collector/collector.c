/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/collector.h"

#include "collector/power/attribute.h"
#include "collector/power/power.h"
#include "collector/powercap.h"
#include "collector/workloads/workload.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"

#include <time.h>

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* What all that ran used in this tick. */
static struct tw_usage used_by_all(const struct tw_workloads *t)
{
	struct tw_usage sum = { .cpu_ns = 0 };
	size_t count;
	const struct tw_slice *s = tw_workloads_slices(t, &count);

	for (size_t i = 0; i < count; i++)
		tw_usage_add(&sum, &s[i].used);
	return sum;
}

/* What is not of a process that is known stays the machine's. */
static void tick_gpus(struct tw_collector *c)
{
	size_t count;
	const struct tw_use *use = tw_power_uses(c->power, &count);

	for (size_t i = 0; i < count; i++)
		tw_workloads_use_gpu(c->workloads, use[i].tgid, use[i].dynamic_uj,
				     use[i].idle_uj);
}

/* Meters are read whatever else fails: their counters go on. */
static int tick_energy(struct tw_collector *c, struct tw_err *err)
{
	const struct tw_usage used = used_by_all(c->workloads);
	struct tw_err missing = { 0 };

	/* What the kernel does not tell of the machine is not there: node.there. */
	tw_node_tick(&c->node, c->elapsed_ns, &used, &missing);
	tw_power_tick(c->power, c->now_ns, c->elapsed_ns, tw_node_load(&c->node));
	tick_gpus(c);
	if (tw_attribute(c->attribution, c->workloads, tw_power_ticked(c->power), err) <
	    0)
		return -1;
	return tw_powercap_tick(c, err);
}

int tw_collector_tick(struct tw_collector *c, uint64_t lag_ns, uint64_t missed,
		      struct tw_err *err)
{
	const uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
		       now_ns = tw_boot_ns(), awake_ns = tw_now_ns();
	int rc = -1;

	c->elapsed_ns = c->awake_ns != 0 ? awake_ns - c->awake_ns : 0;
	c->awake_ns = awake_ns;
	c->now_ns = now_ns;
	c->stats.missed += missed;
	c->stats.lag_ns = lag_ns;
	if (lag_ns > c->stats.lag_max_ns)
		c->stats.lag_max_ns = lag_ns;
	if (tw_workloads_tick(c->workloads, now_ns, err) < 0) {
		struct tw_err ignored = { 0 };

		c->stats.failed++;
		tick_energy(c, &ignored);
		goto out;
	}
	c->stats.ticks++;
	if (c->pods != NULL)
		tw_workloads_name(c->workloads, c->pods);
	if (tick_energy(c, err) < 0)
		goto out;

	rc = 0;
out:
	c->stats.tick_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	c->stats.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	return rc;
}
