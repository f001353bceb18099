/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "collector/power/share.h"
#include "lib/core/num.h"
#include "tests/unit/chance.h"

#include <inttypes.h>
#include <math.h>

static void shares_are_by_largest_remainder(void **state)
{
	const uint64_t weight[] = { 1, 1, 1, 0, 4 };
	struct tw_remainder room[5];
	uint64_t out[5];

	(void)state;
	assert_true(tw_share_out(10, weight, 5, out, room));
	/* 1.43 1.43 1.43 0 5.71: the last gets the first that is left, then by place. */
	assert_int_equal(out[0], 2);
	assert_int_equal(out[1], 1);
	assert_int_equal(out[2], 1);
	assert_int_equal(out[3], 0);
	assert_int_equal(out[4], 6);
}

static void what_is_left_goes_to_the_largest_remainders(void **state)
{
	static const struct {
		uint64_t total, weight[3], want[3];
	} cases[] = {
		{ 1, { 1, 2, 0 }, { 0, 1, 0 } },
		{ 2, { 1, 3, 3 }, { 0, 1, 1 } },
		{ 2, { 3, 3, 1 }, { 1, 1, 0 } },
		{ 7, { 0, 1, 0 }, { 0, 7, 0 } },
		{ 10, { UINT64_MAX - 1, 1, 0 }, { 10, 0, 0 } },
	};
	struct tw_remainder room[3];
	uint64_t out[3];

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		assert_true(tw_share_out(cases[i].total, cases[i].weight, 3, out, room));
		assert_memory_equal(out, cases[i].want, sizeof(out));
	}
}

static void without_weights_nothing_is_shared(void **state)
{
	const uint64_t weight[] = { 0, 0 };
	struct tw_remainder room[2];
	uint64_t out[2] = { 7, 7 };

	(void)state;
	assert_false(tw_share_out(10, weight, 2, out, room));
	assert_false(tw_share_out(10, weight, 0, out, room));
	assert_false(tw_share_out(10, (const uint64_t[]){ UINT64_MAX, 1 }, 2, out, room));
	assert_int_equal(out[0], 7);
}

/* Parts are rounded up for the largest remainders; of equal ones, for those that come
 * first. */
static void check_rounding(uint64_t total, const uint64_t *weight, size_t count,
			   const uint64_t *out)
{
	uint64_t least_up = UINT64_MAX, most_down = 0;
	size_t last_up = 0, first_down = count;
	tw_u128 sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += weight[i];
	for (size_t i = 0; i < count; i++) {
		const tw_u128 owed = (tw_u128)total * weight[i];
		const uint64_t rest = (uint64_t)(owed % sum);
		const bool up = out[i] == (uint64_t)(owed / sum) + 1;

		if (!up && out[i] != (uint64_t)(owed / sum))
			fail_msg("part %zu is %" PRIu64, i, out[i]);
		if (up && rest <= least_up) {
			least_up = rest;
			last_up = i;
		}
		if (!up && (first_down == count || rest > most_down)) {
			most_down = rest;
			first_down = i;
		}
	}
	assert_true(least_up > most_down ||
		    (least_up == most_down && last_up < first_down));
}

/* Each part is within 1 of what it is owed, and all of them are the whole. */
static void shares_of_any_weights_add_up(void **state)
{
	static uint64_t weight[1000], out[1000];
	static struct tw_remainder room[1000];
	uint64_t seed = 42;

	(void)state;
	for (int round = 0; round < 300; round++) {
		const size_t count = 1 + chance(&seed, 1000);
		const uint64_t total = chance(&seed, UINT64_C(1) << chance(&seed, 31));
		uint64_t sum = 0;
		long double whole = 0;

		for (size_t i = 0; i < count; i++) {
			weight[i] = chance(&seed, 3) == 0
					    ? 0
					    : chance(&seed, UINT64_C(1) << 31) *
						      chance(&seed, 1 + round);
			whole += (long double)weight[i];
		}
		if (!tw_share_out(total, weight, count, out, room)) {
			assert_true(whole == 0);
			continue;
		}
		for (size_t i = 0; i < count; i++) {
			const long double owed =
				(long double)total * (long double)weight[i] / whole;

			assert_true(fabsl((long double)out[i] - owed) < 1.0001L);
			sum += out[i];
		}
		assert_int_equal(sum, total);
		check_rounding(total, weight, count, out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_by_largest_remainder),
		cmocka_unit_test(what_is_left_goes_to_the_largest_remainders),
		cmocka_unit_test(without_weights_nothing_is_shared),
		cmocka_unit_test(shares_of_any_weights_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
