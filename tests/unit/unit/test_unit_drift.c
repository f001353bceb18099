/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/quick.h"
#include "tests/unit/simulated_service.h"
#include "trainer/unit/unit_results.h"

#include <math.h>
#include <stdint.h>

#define HOUR_S 3600

static void find(const struct simulated_law *law, struct tw_unit_drift *out)
{
	struct simulated_service s;
	struct tw_unit_blocks b = { 0 };
	struct tw_err err = { 0 };

	simulated_service_make(&s, law);
	if (tw_unit_blocks_make(&s.in, &b, &err) < 0 ||
	    tw_unit_drift_find(&b, out, &err) < 0)
		fail_msg("%s", err.text);
	tw_unit_blocks_release(&b);
	simulated_service_release(&s);
}

/* A release takes a third more for each unit of b. */
static void a_new_law_is_seen(void **state)
{
	struct simulated_law law = simulated_law_make(24 * HOUR_S);
	struct tw_unit_drift d;

	(void)state;
	law.change_s = 18 * HOUR_S;
	law.later_j[0] = law.unit_j[0];
	law.later_j[1] = 4 * law.unit_j[1] / 3;
	find(&law, &d);
	assert_int_equal(d.state, TW_UNIT_DRIFT_SEEN);
	assert_int_equal(d.work, 1);
	assert_true(fabs(d.before / law.unit_j[1] - 1) < 0.05);
	assert_true(fabs(d.now / law.later_j[1] - 1) < 0.05);
	assert_true(fabs(d.seconds / (6 * HOUR_S) - 1) < 0.05);
}

static void a_small_change_is_no_drift(void **state)
{
	struct simulated_law law = simulated_law_make(24 * HOUR_S);
	struct tw_unit_drift d;

	(void)state;
	law.noise_w = 0;
	law.change_s = 18 * HOUR_S;
	law.later_j[0] = law.unit_j[0];
	law.later_j[1] = 1.03 * law.unit_j[1];
	find(&law, &d);
	assert_int_equal(d.state, TW_UNIT_DRIFT_NONE);
}

static void what_cannot_be_compared_is_unknown(void **state)
{
	struct simulated_law law = simulated_law_make(24 * HOUR_S);
	struct tw_unit_drift d;

	(void)state;
	law.seconds = 3 * HOUR_S; /* 90 blocks */
	find(&law, &d);
	assert_int_equal(d.state, TW_UNIT_DRIFT_UNKNOWN);
	law = simulated_law_make(24 * HOUR_S);
	law.mixed = 1; /* the counters move together */
	find(&law, &d);
	assert_int_equal(d.state, TW_UNIT_DRIFT_UNKNOWN);
}

/* Of three values each, with noise that lasts. */
static void few_recordings_of_one_law_drift(void **state)
{
	struct simulated_law law = simulated_law_make(24 * HOUR_S);
	const int recordings = quick() ? 10 : 100;
	struct tw_unit_drift d;
	int seen = 0;

	(void)state;
	for (int i = 0; i < recordings; i++) {
		law.seed = (uint64_t)i + 1;
		find(&law, &d);
		assert_int_not_equal(d.state, TW_UNIT_DRIFT_UNKNOWN);
		seen += d.state == TW_UNIT_DRIFT_SEEN;
	}
	print_message("drift seen in %d of %d recordings of one law\n", seen, recordings);
	assert_true(seen * 20 <= recordings);
}

static void without_memory_it_fails(void **state)
{
	struct simulated_law law = simulated_law_make(24 * HOUR_S);
	struct tw_unit_blocks b = { 0 };
	struct simulated_service s;
	struct tw_unit_drift d;
	struct tw_err err = { 0 };

	(void)state;
	law.seconds = 6 * HOUR_S;
	simulated_service_make(&s, &law);
	if (tw_unit_blocks_make(&s.in, &b, &err) < 0)
		fail_msg("%s", err.text);
	for (int n = 1;; n++) {
		int rc;

		fail_alloc_at(n);
		rc = tw_unit_drift_find(&b, &d, &err);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 4);
			break;
		}
		tw_err_clear(&err);
	}
	tw_unit_blocks_release(&b);
	simulated_service_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_law_is_seen),
		cmocka_unit_test(a_small_change_is_no_drift),
		cmocka_unit_test(what_cannot_be_compared_is_unknown),
		cmocka_unit_test(few_recordings_of_one_law_drift),
		cmocka_unit_test(without_memory_it_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
