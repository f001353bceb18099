/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/line.h"

#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include <math.h>

/* Points (1, 2), (2, 3), (3, 7), (4, 8): slope 2.2, distances 0.3, -0.9, 0.9, -0.3. */
static struct tw_line four_points(double x, double y)
{
	static const double at[][2] = { { 1, 2 }, { 2, 3 }, { 3, 7 }, { 4, 8 } };
	struct tw_line l = { 0 };

	for (size_t i = 0; i < TW_COUNT(at); i++)
		tw_line_add(&l, x + at[i][0], y + at[i][1]);
	return l;
}

static void assert_near(double v, double wanted)
{
	if (!(fabs(v - wanted) <= 1e-9 * fmax(fabs(wanted), 1)))
		fail_msg("%.12g, not %.12g", v, wanted);
}

static void it_has_the_least_squares(void **state)
{
	const struct tw_line l = four_points(0, 0);

	(void)state;
	assert_near(tw_line_mean_x(&l), 2.5);
	assert_near(tw_line_mean_y(&l), 5);
	assert_near(tw_line_xx(&l), 5);
	assert_near(tw_line_xy(&l), 11);
	assert_near(tw_line_yy(&l), 26);
	assert_near(tw_line_slope(&l), 2.2);
	assert_near(tw_line_at(&l, 0), -0.5);
	assert_near(tw_line_share(&l), 121.0 / 130);
	assert_near(tw_line_variance(&l), 0.9);
	assert_near(tw_line_variance_at(&l, 2.5), 0.9 / 4);
	assert_near(tw_line_variance_at(&l, 4.5), 0.9 * (1.0 / 4 + 4.0 / 5));
}

static void large_numbers_lose_no_digits(void **state)
{
	const struct tw_line l = four_points(1e9, -1e9);

	(void)state;
	assert_near(tw_line_slope(&l), 2.2);
	assert_near(tw_line_variance(&l), 0.9);
}

static void without_a_slope_it_is_the_mean(void **state)
{
	struct tw_line l = { 0 };

	(void)state;
	for (int i = 0; i < 4; i++)
		tw_line_add(&l, 3, i);
	assert_near(tw_line_slope(&l), 0);
	assert_near(tw_line_at(&l, 7), 1.5);
	assert_near(tw_line_variance(&l), 2.5);
	assert_true(isinf(tw_line_variance_at(&l, 7)));
	assert_near(tw_line_share(&l), 0);
}

static void a_falling_line_explains_nothing(void **state)
{
	struct tw_line l = { 0 };

	(void)state;
	for (int i = 0; i < 4; i++)
		tw_line_add(&l, i, -i);
	assert_near(tw_line_slope(&l), -1);
	assert_near(tw_line_share(&l), 0);
}

static void two_points_have_no_known_variance(void **state)
{
	struct tw_line l = { 0 };

	(void)state;
	tw_line_add(&l, 0, 1);
	tw_line_add(&l, 1, 3);
	assert_near(tw_line_at(&l, 2), 5);
	assert_true(isinf(tw_line_variance(&l)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_the_least_squares),
		cmocka_unit_test(large_numbers_lose_no_digits),
		cmocka_unit_test(without_a_slope_it_is_the_mean),
		cmocka_unit_test(a_falling_line_explains_nothing),
		cmocka_unit_test(two_points_have_no_known_variance),
	};

	return cmocka_run_group_tests_name("line", tests, NULL, NULL);
}
