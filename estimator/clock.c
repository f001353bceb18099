/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/clock.h"

#include <time.h>

uint64_t tw_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}
