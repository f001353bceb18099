/* SPDX-License-Identifier: Apache-2.0 */
/* tallywatt run without a collector: the meters, by a clock of the test. */
#include "tests/unit/tw_test.h"

#include "cli/run/run_energy.h"
#include "collector/system/roots.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"

#include <math.h>
#include <time.h>

#define S UINT64_C(1000000000)

static uint64_t awake_ns = 1000 * S, suspended_ns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

/* A look follows 100 ms after the last one. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	const uint64_t ns = awake_ns + (clock == CLOCK_BOOTTIME ? suspended_ns : 0);

	awake_ns += S / 10;
	*out = (struct timespec){ .tv_sec = (time_t)(ns / S), .tv_nsec = (long)(ns % S) };
	return 0;
}

/* A machine of 20 W that is suspended for an hour uses none of it in that time. */
static void a_suspended_machine_uses_no_energy(void **state)
{
	char *dir = scratch_new();
	const struct tw_roots roots = { .proc = dir, .sys = dir, .dev = dir };
	struct tw_run_meter *m = NULL;
	struct tw_run_figures figures;
	struct tw_err err = { 0 };
	uint64_t began_ns;

	(void)state;
	tree_write(dir, "class/hwmon/hwmon0/name", "power_meter\n");
	tree_write(dir, "class/hwmon/hwmon0/power1_average", "20000000\n");
	if (tw_run_meter_open(&roots, &m, &err) < 0)
		fail_msg("%s", err.text);
	tw_run_meter_begin(m);
	began_ns = awake_ns;
	awake_ns += 5 * S;
	tw_run_meter_look(m);
	suspended_ns += 3600 * S;
	tw_run_meter_look(m);
	awake_ns += 5 * S;
	tw_run_meter_end(m, &figures);
	assert_float_equal(figures.joules, 20 * (double)(awake_ns - began_ns) / 1e9, 10);
	assert_float_equal(figures.peak_w, 20, 0.5);
	tw_run_meter_close(m);
	scratch_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_suspended_machine_uses_no_energy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
