/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/clock.h"

#include <time.h>

uint64_t tw_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t tw_now_ms(void)
{
	return tw_now_ns() / 1000000;
}
