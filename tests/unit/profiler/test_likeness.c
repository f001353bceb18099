/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "profiler/likeness.h"
#include "profiler/spec.h"

#define EPYC(name, n, chips_, memory)                                                 \
	{                                                                             \
		.processor = name, .cores = n, .chips = chips_, .memory_gib = memory, \
		.frequency_mhz = 2500, .threads_per_core = 2                          \
	}

static double like(const struct tw_machine_spec *a, const struct tw_machine_spec *b)
{
	struct tw_likeness of_a, of_b;

	tw_likeness_of(a, &of_a);
	tw_likeness_of(b, &of_b);
	return tw_likeness(&of_a, &of_b);
}

/* Each is less like the first one than the one before it. */
static void the_processor_decides_before_its_name(void **state)
{
	static const struct tw_machine_spec machines[] = {
		EPYC("amd_epyc_7713", 256, 2, 512),     /* itself */
		EPYC("amd_epyc_7763", 256, 2, 512),     /* its generation */
		EPYC("amd_ryzen_9_5950x", 256, 2, 512), /* its architecture */
		EPYC("amd_epyc_7742", 256, 2, 512),     /* its vendor and process */
		EPYC("intel_xeon_platinum_8380", 256, 2, 512),
		/* Most letters in common with the first. */
		EPYC("intel_xeon_x5570", 256, 2, 512),
	};
	double last = 2;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(machines); i++) {
		const double l = like(&machines[0], &machines[i]);

		if (!(l < last && l > 0))
			fail_msg("%s: %g, behind %g", machines[i].processor, l, last);
		last = l;
	}
}

static void figures_decide_among_machines_of_one_processor(void **state)
{
	static const struct tw_machine_spec one = EPYC("amd_epyc_7763", 128, 1, 256),
					    two = EPYC("amd_epyc_7763", 256, 2, 512),
					    more = EPYC("amd_epyc_7763", 256, 2, 4096),
					    far = EPYC("amd_epyc_7763", 2048, 16, 65536);
	static const struct tw_machine_spec other = EPYC("amd_epyc_7713", 128, 1, 256);

	(void)state;
	assert_true(like(&two, &more) > like(&two, &one));
	assert_true(like(&one, &one) > 0.94);
	/* No figure makes them unlike. */
	assert_true(like(&one, &far) >= TW_LIKENESS_SAME_PROCESSOR_MIN - 1e-12);
	assert_true(like(&one, &other) <= TW_LIKENESS_OTHER_PROCESSOR_MAX + 1e-12);
}

static void a_share_has_no_figures_of_its_host(void **state)
{
	static const struct tw_machine_spec vm = EPYC("amd_epyc_7763", 4, 1, 16),
					    host = EPYC("amd_epyc_7763", 256, 2, 512),
					    small = EPYC("amd_epyc_4564p", 4, 1, 16);

	(void)state;
	assert_true(like(&vm, &host) > 0.9);
	assert_true(like(&vm, &host) < 1);
	assert_true(like(&vm, &host) > like(&vm, &small));
}

static void physical_cores_compare(void **state)
{
	struct tw_machine_spec physical = EPYC("amd_epyc_7763", 128, 2, 512);
	const struct tw_machine_spec logical = EPYC("amd_epyc_7763", 256, 2, 512);
	struct tw_machine_spec hybrid[] = { EPYC("intel_core_i9_14900k", 32, 1, 64),
					    EPYC("intel_core_i9_14900k", 32, 1, 64) };
	const double without = (physical.threads_per_core = 1, like(&logical, &physical));

	(void)state;
	assert_true(without > 0.94);
	/* The table of products has the threads. */
	physical.cores = 256;
	physical.threads_per_core = 0;
	assert_true(like(&logical, &physical) > 0.94);
	/* 24 cores: 8 of them have two threads. */
	hybrid[1].threads_per_core = 0;
	assert_true(like(&hybrid[0], &hybrid[1]) == like(&hybrid[0], &hybrid[0]));
}

static void unknown_processors_compare_by_letters(void **state)
{
	static const struct tw_machine_spec a = { .processor = "mystery_9000" },
					    near = { .processor = "mystery_9001" },
					    off = { .processor = "qfzjk" }, none = { 0 };

	(void)state;
	assert_true(like(&a, &near) > like(&a, &off));
	assert_true(like(&a, &none) <= like(&a, &off));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_processor_decides_before_its_name),
		cmocka_unit_test(figures_decide_among_machines_of_one_processor),
		cmocka_unit_test(a_share_has_no_figures_of_its_host),
		cmocka_unit_test(physical_cores_compare),
		cmocka_unit_test(unknown_processors_compare_by_letters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
