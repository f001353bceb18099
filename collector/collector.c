/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/collector.h"

#include "collector/workload.h"
#include "lib/err.h"

#include <time.h>

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

uint64_t tw_boot_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

int tw_collector_tick(struct tw_collector *c, uint64_t lag_ns, uint64_t missed,
		      struct tw_err *err)
{
	const uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
		       now_ns = tw_boot_ns();
	int rc = -1;

	c->elapsed_ns = c->now_ns != 0 ? now_ns - c->now_ns : 0;
	c->now_ns = now_ns;
	c->stats.missed += missed;
	c->stats.lag_ns = lag_ns;
	if (lag_ns > c->stats.lag_max_ns)
		c->stats.lag_max_ns = lag_ns;
	if (tw_workloads_tick(c->workloads, now_ns, err) < 0) {
		c->stats.failed++;
		goto out;
	}
	c->stats.ticks++;

	rc = 0;
out:
	c->stats.tick_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	c->stats.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	return rc;
}
