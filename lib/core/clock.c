/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t tw_now_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

int64_t tw_wall_ms(void)
{
	return (int64_t)(read_ns(CLOCK_REALTIME) / 1000000);
}

uint64_t tw_boot_ns(void)
{
	return read_ns(CLOCK_BOOTTIME);
}

uint64_t tw_now_ms(void)
{
	return tw_now_ns() / 1000000;
}

/* On Linux these functions do not fail with these arguments. */
void tw_cond_init(pthread_cond_t *c)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(c, &monotonic);
	pthread_condattr_destroy(&monotonic);
}
