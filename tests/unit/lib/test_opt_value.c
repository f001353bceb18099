/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/opt_value.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/tw_test.h"

#include <stddef.h>
#include <string.h>

/* A field of each type. */
union value {
	bool yes;
	uint32_t number;
	uint64_t wide;
	unsigned choice;
	char *text;
	struct tw_strs list;
};

static const char *const colours[] = { "red", "green", "blue", NULL };

/* A value of the option is written so, or refused with an error that begins so. */
struct written {
	struct tw_opt option;
	const char *text, *want; /* want "": it is not given */
	bool refused;
};

static void check(const struct written *w, size_t i)
{
	union value v = { 0 };
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	const int status = tw_opt_set(&w->option, w->text, &v, &err);

	if (status != (w->refused ? -1 : 0))
		fail_msg("case %zu: '%s': %d %s", i, w->text, status, err.text);
	if (w->refused) {
		if (strncmp(err.text, w->want, strlen(w->want)) != 0)
			fail_msg("case %zu: %s", i, err.text);
	} else {
		assert_true(tw_opt_value(&w->option, &v, &b) == (w->want[0] != '\0'));
		assert_string_equal(b.data != NULL ? b.data : "", w->want);
		tw_buf_clear(&b);
	}
	tw_opt_release(&w->option, &v);
}

static void values_are_read_and_written(void **state)
{
	static const struct tw_opt yes = { .type = TW_OPT_BOOL },
				   any = { .type = TW_OPT_U32 },
				   few = { .type = TW_OPT_U32, .min = 2, .max = 4 },
				   some = { .type = TW_OPT_U32, .min = 2 },
				   time = { .type = TW_OPT_DURATION_MS },
				   between = { .type = TW_OPT_DURATION_MS,
					       .min = 100,
					       .max = 3600000 },
				   least = { .type = TW_OPT_DURATION_MS, .min = 100 },
				   size = { .type = TW_OPT_SIZE_BYTES },
				   text = { .type = TW_OPT_TEXT },
				   colour = { .type = TW_OPT_CHOICE, .choices = colours },
				   list = { .type = TW_OPT_LIST },
				   paint = { .type = TW_OPT_LIST, .choices = colours },
				   texts = { .type = TW_OPT_TEXTS };
	const struct written cases[] = {
		{ yes, "yes", "yes", false },
		{ yes, "True", "yes", false },
		{ yes, "1", "yes", false },
		{ yes, "on", "yes", false },
		{ yes, "no", "no", false },
		{ yes, "FALSE", "no", false },
		{ yes, "0", "no", false },
		{ yes, "off", "no", false },
		{ yes, "maybe", "'maybe' is neither yes nor no", true },
		{ any, "0", "0", false },
		{ any, "4294967295", "4294967295", false },
		{ any, "4294967296", "", true },
		{ any, "-1", "", true },
		{ few, "1", "", true },
		{ few, "2", "2", false },
		{ few, "4", "4", false },
		{ few, "5", "", true },
		{ some, "1", "", true },
		{ some, "4000000000", "4000000000", false },
		{ time, "2", "2000ms", false },
		{ time, "1ms", "1ms", false },
		{ time, "90s", "90000ms", false },
		{ between, "99ms", "'99ms': want 100ms to 1h", true },
		{ between, "100ms", "100ms", false },
		{ between, "1h", "3600000ms", false },
		{ between, "3600001ms", "'3600001ms': want 100ms to 1h", true },
		{ least, "99ms", "'99ms': want 100ms or more", true },
		{ least, "1000h", "3600000000ms", false },
		{ size, "2KiB", "2048", false },
		{ text, "a b", "a b", false },
		{ colour, "green", "green", false },
		{ colour, "grey", "", true },
		{ list, "a,b", "a,b", false },
		{ list, "", "", false },
		{ paint, "red,blue", "red,blue", false },
		{ paint, "red,grey", "", true },
		{ texts, "a,b", "a,b", false },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++)
		check(&cases[i], i);
}

static void an_address_has_a_port(void **state)
{
	static const struct tw_opt listen = { .type = TW_OPT_LISTEN };
	static const char *const good[] = { "127.0.0.1:80", ":0", "host:65535",
					    "[::1]:80", "[x]:1" };
	static const char *const bad[] = { "",        "80",        "a:",        "a:65536",
					   "a:x",     "::1:80",    "[]:80",     "[::1:80",
					   "::1]:80", "[::1]x:80", "x[::1]:80", "a]:80",
					   "[a:80" };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(good); i++)
		check(&(struct written){ listen, good[i], good[i], false }, i);
	for (size_t i = 0; i < TW_COUNT(bad); i++)
		check(&(struct written){ listen, bad[i], "'", true }, i);
}

/* A text is replaced; a list is appended to. */
static void an_option_may_be_given_again(void **state)
{
	static const struct {
		enum tw_opt_type type;
		const char *want;
	} cases[] = {
		{ TW_OPT_TEXT, "b,c" },
		{ TW_OPT_LIST, "a,b,c" },
		{ TW_OPT_TEXTS, "a,b,c" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_opt o = { .type = cases[i].type };
		union value v = { 0 };
		struct tw_buf b = { 0 };
		struct tw_err err = { 0 };

		assert_false(tw_opt_value(&o, &v, &b));
		assert_int_equal(tw_opt_set(&o, "a", &v, &err), 0);
		assert_int_equal(tw_opt_set(&o, "b,c", &v, &err), 0);
		assert_true(tw_opt_value(&o, &v, &b));
		assert_string_equal(b.data, cases[i].want);
		assert_int_equal(tw_opt_is_list(&o), cases[i].type != TW_OPT_TEXT);
		if (cases[i].type == TW_OPT_LIST)
			assert_int_equal(v.list.count, 3);
		if (cases[i].type == TW_OPT_TEXTS)
			assert_int_equal(v.list.count, 2);
		tw_buf_clear(&b);
		tw_opt_release(&o, &v);
		assert_false(tw_opt_value(&o, &v, &b));
	}
}

static void a_range_is_of_a_duration(void **state)
{
	static const struct {
		enum tw_opt_type type;
		uint32_t min, max;
		const char *want;
	} cases[] = {
		{ TW_OPT_DURATION_MS, 0, 0, "" },
		{ TW_OPT_DURATION_MS, 100, 0, "100ms or more" },
		{ TW_OPT_DURATION_MS, 0, 600000, "at most 10m" },
		{ TW_OPT_DURATION_MS, 1500, 86400000, "1500ms to 24h" },
		{ TW_OPT_DURATION_MS, 90000, 90001, "90s to 90001ms" },
		{ TW_OPT_U32, 1, 2, "" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_opt o = { .type = cases[i].type,
					  .min = cases[i].min,
					  .max = cases[i].max };
		char out[TW_OPT_RANGE] = "x";

		assert_string_equal(tw_opt_range(&o, out), cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read_and_written),
		cmocka_unit_test(an_address_has_a_port),
		cmocka_unit_test(an_option_may_be_given_again),
		cmocka_unit_test(a_range_is_of_a_duration),
	};

	return cmocka_run_group_tests_name("opt_value", tests, NULL, NULL);
}
