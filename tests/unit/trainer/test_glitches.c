/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/field/feature.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/online/glitches.h"
#include "trainer/online/window.h"

#include <math.h>
#include <string.h>

#define COUNT 60

/* A window of a machine of 30 W and 20 W a busy CPU, with a little noise. */
struct window {
	struct tw_segment at[COUNT];
	struct tw_segments w;
};

static void set_up(struct window *t)
{
	static const double busy[] = { 0.1, 1, 2, 0.5, 1.5 };

	memset(t, 0, sizeof(*t));
	for (size_t i = 0; i < COUNT; i++) {
		struct tw_segment *g = &t->at[i];

		g->feature[0] = tw_feature_find("bpf_cpu_time_ms");
		g->features = 1;
		g->mean[0] = 1000 * busy[i * 7 % 5];
		g->watts = 30 + g->mean[0] / 50 + (i % 3 == 0 ? 0.2 : -0.1);
	}
	t->w = (struct tw_segments){ t->at, COUNT, COUNT };
}

/* The glitches, as a bit for each segment. */
static unsigned long find(struct window *t)
{
	struct tw_err err = { 0 };
	unsigned long bits = 0;

	if (tw_glitches_mark(&t->w, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < t->w.count; i++)
		bits |= (unsigned long)t->at[i].glitch << i;
	return bits;
}

static void a_window_of_a_law_has_none(void **state)
{
	struct window t;

	(void)state;
	set_up(&t);
	assert_int_equal(find(&t), 0);
	t.w.count = 0;
	assert_int_equal(find(&t), 0);
}

static void one_or_two_segments_are_a_glitch(void **state)
{
	struct window t;

	(void)state;
	set_up(&t);
	t.at[5].watts = 2500;
	assert_int_equal(find(&t), 1UL << 5);
	set_up(&t);
	t.at[8].mean[0] += 3000;
	t.at[9].watts -= 20;
	t.at[10].watts -= 0.8; /* the end of it */
	t.at[12].watts -= 0.8;
	assert_int_equal(find(&t), 7UL << 8);
	set_up(&t);
	t.at[7].watts += 0.8; /* its begin */
	t.at[8].watts += 20;
	assert_int_equal(find(&t), 3UL << 7);
	/* There is none before the first; the last two are never marked. */
	set_up(&t);
	t.at[0].watts = t.at[COUNT - 3].watts = 2500;
	t.at[COUNT - 2].watts += 0.8;
	assert_int_equal(find(&t), 1UL | 1UL << (COUNT - 3));
}

/* Six usual deviations: 1.4826 times the median of the distances, which is 3 W. */
static void noise_is_no_glitch(void **state)
{
	(void)state;
	for (int off = 25; off <= 29; off += 4) {
		struct window t;

		set_up(&t);
		for (size_t i = 0; i < COUNT; i++)
			t.at[i].watts =
				30 + t.at[i].mean[0] / 50 + 3 * ((double)(i % 3) - 1);
		t.at[7].watts += off; /* 7 % 3 is 1: no noise */
		assert_int_equal(find(&t), off == 25 ? 0 : 1UL << 7);
	}
}

/* Up to a fifth, and the line is that of the others. */
static void many_glitches_are_another_law(void **state)
{
	(void)state;
	for (size_t many = 12; many <= 13; many++) {
		unsigned long want = 0;
		struct window t;

		set_up(&t);
		for (size_t k = 0; k < many; k++) {
			t.at[1 + k * 9 / 2].watts = 2500;
			want |= 1UL << (1 + k * 9 / 2);
		}
		assert_int_equal(find(&t), many == 12 ? want : 0);
	}
}

static void without_memory_none_is_marked(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		struct window t;
		int rc;

		set_up(&t);
		t.at[5].watts = 2500;
		fail_alloc_at(n);
		rc = tw_glitches_mark(&t.w, &err);
		assert_int_equal(t.at[5].glitch, rc == 0);
		if (!fail_alloc_told(rc, &err))
			break;
	}
}

static void a_change_of_the_law_is_none(void **state)
{
	struct window t;

	(void)state;
	set_up(&t);
	for (size_t i = COUNT - 2; i < COUNT; i++)
		t.at[i].watts += 40;
	assert_int_equal(find(&t), 0);
	/* Of three segments within, none is a glitch; nor are many. */
	set_up(&t);
	for (size_t i = 10; i < 13; i++)
		t.at[i].watts += 40;
	assert_int_equal(find(&t), 0);
	set_up(&t);
	for (size_t i = 1; i < COUNT; i += 4)
		t.at[i].watts += 40;
	assert_int_equal(find(&t), 0);
}

static void work_that_stands_is_a_glitch(void **state)
{
	struct window t;

	(void)state;
	set_up(&t);
	for (size_t i = 10; i < 14; i++) {
		t.at[i].mean[0] = 0;
		t.at[i].watts = 60;
	}
	assert_int_equal(find(&t), 15UL << 10);
	/* So much less than rest is no load's power. */
	for (size_t i = 10; i < 14; i++) {
		t.at[i].watts = 10;
		t.at[i].glitch = false;
	}
	assert_int_equal(find(&t), 0);
}

static void segments_without_power_are_none(void **state)
{
	struct window t;

	(void)state;
	set_up(&t);
	t.at[5].watts = NAN;
	t.at[6].features = 0;
	assert_int_equal(find(&t), 0);
	/* Other features than those of the last one. */
	set_up(&t);
	t.at[5].watts = t.at[15].watts = t.at[25].watts = 2500;
	t.at[5].feature[0] = tw_feature_find("cpu_cycles");
	t.at[15].feature[t.at[15].features++] = tw_feature_find("cpu_cycles");
	assert_int_equal(find(&t), 1UL << 25);
	/* Too few. */
	set_up(&t);
	t.at[5].watts = 2500;
	t.w.count = 11;
	assert_int_equal(find(&t), 0);
}

static void glitches_are_in_no_choice(void **state)
{
	const struct tw_window_choice all = { 0 };
	struct window t;

	(void)state;
	set_up(&t);
	for (size_t i = 0; i < COUNT; i++)
		t.at[i].rows = 10;
	t.at[5].watts = 2500;
	find(&t);
	assert_int_equal(tw_window_rows(&t.w, all), 10 * (COUNT - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_of_a_law_has_none),
		cmocka_unit_test(one_or_two_segments_are_a_glitch),
		cmocka_unit_test(noise_is_no_glitch),
		cmocka_unit_test(many_glitches_are_another_law),
		cmocka_unit_test(without_memory_none_is_marked),
		cmocka_unit_test(a_change_of_the_law_is_none),
		cmocka_unit_test(work_that_stands_is_a_glitch),
		cmocka_unit_test(segments_without_power_are_none),
		cmocka_unit_test(glitches_are_in_no_choice),
	};

	return cmocka_run_group_tests_name("glitches", tests, NULL, NULL);
}
