/* SPDX-License-Identifier: Apache-2.0 */
/* The file of the prior: one value of a good file is changed, and read. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "model-db/prior/prior.h"
#include "model-db/prior/prior_file.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_OF_TESTS "tests/data/machines/prior.json"
#define VIEW "views.0."
#define MEMBER VIEW "members.0."
#define TARGET MEMBER "targets.0."
#define BELOW "want a number above 0"
#define NO_WATTS "want watts above 0"
#define VARIANCE "a variance is below 0"

/* A place, the JSON value that is put there, and a part of the refusal; NULL: none. */
static const struct {
	const char *place, *value, *why;
} cases[] = {
	{ "prior", "3", NULL },
	{ "prior", "4", "prior" },
	/* Numbers of a machine: 8, 7 categories, 11 of watts. */
	{ "machines.0", "[1,2]", "machines[0]: want 26 entries" },
	{ "machines.47", "7", "machines[47]: want 26 entries" },
	{ "machines.0.0", "0", "machines[0][0]: " BELOW },
	{ "machines.3.7", "-1", "machines[3][7]: " BELOW },
	{ "machines.0.7", "\"x\"", BELOW },
	{ "machines.0.7", "null", NULL },
	{ "machines.0.0", "1e9", NULL },
	{ "machines.0.0", "1.1e9", BELOW },
	{ "machines.0.8", "-1", NULL },
	{ "machines.0.8", "-2", "machines[0]: no category 0 of that number" },
	{ "machines.0.8", "1", "machines[0]: no category 0 of that number" },
	{ "machines.2.14", "24", "machines[2]: no category 6 of that number" },
	{ "machines.0.14", "23", NULL },
	{ "machines.0.14", "1.5", "no category 6" },
	{ "machines.0.14", "null", "no category 6" },
	{ "machines.0.15", "null", "machines[0][15]: " NO_WATTS },
	{ "machines.0.16", "null", NULL },
	{ "machines.0.24", "null", NULL },
	{ "machines.1.25", "null", "machines[1][25]: " NO_WATTS },
	{ "machines.0.16", "0", "machines[0][16]: " NO_WATTS },
	{ "machines.0.19", "-1", "machines[0][19]: " NO_WATTS },
	{ "machines.0.19", "\"1\"", NO_WATTS },
	{ "machines.0.25", "1e6", NULL },
	{ "machines.0.25", "1.1e6", NO_WATTS },
	{ "machines.4.25", "1", "machines[4]: full power is not above idle power" },
	{ "machines", "{}", "want a list of at most 4096" },
	{ "machines", "[]", "48 weights of 0 machines" },
	/* The mean may be below 0, a variance not. */
	{ TARGET "parts.0", "-1", NULL },
	{ TARGET "parts.1", "-0.001", VARIANCE },
	{ TARGET "parts.2", "-0.001", VARIANCE },
	{ TARGET "parts.3", "-0.001", VARIANCE },
	{ TARGET "parts.4", "-0.001", VARIANCE },
	{ TARGET "parts.1", "0", NULL },
	{ TARGET "parts.2", "0", NULL },
	{ TARGET "parts.3", "0", NULL },
	{ TARGET "parts.4", "0", NULL },
	{ "views.4.members.0.targets.3.parts.4", "-1", VARIANCE },
	{ TARGET "parts.5", "1", "parts" },
	{ TARGET "parts.0", "1.1e9", "parts" },
	{ TARGET "length.7", "1e-10", "length" },
	{ TARGET "length.0", "1.1e9", "length" },
	{ TARGET "length.8", "1", "length" },
	{ TARGET "category.0", "-1", "category" },
	{ TARGET "category.6", "0", NULL },
	{ TARGET "weight.0", "-1e9", NULL },
	{ TARGET "weight.0", "1.1e9", "weight" },
	{ TARGET "weight", "[1]", "view 'host': 1 weights of 48 machines" },
	{ MEMBER "scale", "2", NULL },
	{ MEMBER "scale", "3", "scale" },
	{ MEMBER "mean.0", "-1.1e9", "mean" },
	{ MEMBER "sd.0", "1e-10", "sd" },
	{ MEMBER "low.0", "-1.1e9", "low" },
	{ MEMBER "high.7", "1.1e9", "high" },
	{ MEMBER "shape_mean.0", "-10", NULL },
	{ MEMBER "shape_mean.8", "10.1", "shape_mean" },
	{ MEMBER "shape.0", "10", NULL },
	{ MEMBER "shape.17", "10.1", "shape" },
	{ MEMBER "shape.0", "-10.1", "shape" },
	{ "after", "[]", "after: 0 entries of 12 generations" },
	{ "after.0", "0", "after[0]: 0 is not before it" },
	{ "after.0", "-2", "after" },
	{ VIEW "beside", "0", NULL },
	{ VIEW "beside", "1", "view 'host': no view 1 with the same needs and unit" },
	{ VIEW "beside", "5", "view 'host': no view 5" },
	{ VIEW "beside", "8", "beside" },
	{ VIEW "beside", "-2", "beside" },
	{ VIEW "needs", "255", NULL },
	{ VIEW "needs", "256", "needs" },
	{ VIEW "numbers", "255", NULL },
	{ VIEW "numbers", "256", "numbers" },
	{ VIEW "categories", "127", NULL },
	{ VIEW "categories", "128", "categories" },
	{ VIEW "unit", "2", NULL },
	{ VIEW "unit", "3", "unit" },
	{ VIEW "factor.0", "0.1", NULL },
	{ VIEW "factor.0", "0.09", "factor" },
	{ VIEW "factor.10", "10.1", "factor" },
	{ VIEW "width.0", "-1", "width" },
	{ VIEW "error.10", "100.1", "error" },
	{ VIEW "error.10", "100", NULL },
	{ VIEW "later_width.0", "-1", "later_width" },
	{ VIEW "later_width.0", "0", NULL },
	{ VIEW "width.0", "0", NULL },
	{ VIEW "error.0", "0", NULL },
	{ VIEW "later_error.0", "0", NULL },
	{ VIEW "later_error.0", "100.1", "later_error" },
	{ VIEW "members", "[]", "members" },
	{ "nearest_error.0", "-1", "nearest_error" },
	{ "nearest_error.20", "100.1", "nearest_error" },
};

/* Put a value where the place says; an index behind the last one adds. */
static void put(json_t *root, const char *place, json_t *value)
{
	char path[64], *save = NULL, *key;
	json_t *at = root;

	snprintf(path, sizeof(path), "%s", place);
	key = strtok_r(path, ".", &save);
	for (char *next; (next = strtok_r(NULL, ".", &save)) != NULL; key = next) {
		at = json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10))
				       : json_object_get(at, key);
		assert_non_null(at);
	}
	if (!json_is_array(at))
		assert_int_equal(json_object_set_new(at, key, value), 0);
	else if (strtoul(key, NULL, 10) == json_array_size(at))
		assert_int_equal(json_array_append_new(at, value), 0);
	else
		assert_int_equal(json_array_set_new(at, strtoul(key, NULL, 10), value),
				 0);
}

static int read_with(const char *place, json_t *value, struct tw_prior *p,
		     struct tw_err *err)
{
	json_t *root = json_load_file(FILE_OF_TESTS, 0, NULL);
	char *text;
	int rc;

	assert_non_null(root);
	put(root, place, value);
	text = json_dumps(root, JSON_COMPACT);
	rc = tw_prior_read(text, strlen(text), p, err);
	free(text);
	json_decref(root);
	return rc;
}

static void values_have_limits(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_prior p = { 0 };
		struct tw_err err = { 0 };
		json_t *value = json_loads(cases[i].value, JSON_DECODE_ANY, NULL);
		const int rc = read_with(cases[i].place, value, &p, &err);

		if (cases[i].why == NULL && rc != 0)
			fail_msg("%s: %s: %s", cases[i].place, cases[i].value, err.text);
		if (cases[i].why != NULL &&
		    (rc != -1 || strstr(err.text, cases[i].why) == NULL))
			fail_msg("%s: %s: '%s', want '%s'", cases[i].place,
				 cases[i].value, err.text, cases[i].why);
		assert_true((rc == 0) == (p.row != NULL));
		tw_prior_release(&p);
	}
}

/* A list of n equal values is refused for its length, or for the first value. */
static void lists_have_limits(void **state)
{
	static const struct {
		const char *place, *value;
		size_t count;
		const char *why;
	} lists[] = {
		{ "machines", "7", 4096, "machines[0]: want 26 entries" },
		{ "machines", "7", 4097, "machines: want a list of at most 4096" },
		{ "categories.2", "\"x\"", 4097,
		  "categories[2]: want at most 4096 names" },
		{ "categories.2", "\"x\"", 4096, NULL },
		{ "categories.1", "\"x\"", 513, "categories[1]: want at most 512 names" },
		{ "after", "-1", 13, "after: 13 entries of 12 generations" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(lists); i++) {
		struct tw_prior p = { 0 };
		struct tw_err err = { 0 };
		json_t *list = json_array();
		int rc;

		for (size_t k = 0; k < lists[i].count; k++)
			json_array_append_new(
				list, json_loads(lists[i].value, JSON_DECODE_ANY, NULL));
		rc = read_with(lists[i].place, list, &p, &err);
		if (lists[i].why == NULL ? rc != 0
					 : strstr(err.text, lists[i].why) == NULL)
			fail_msg("%s: '%s'", lists[i].place, err.text);
		tw_prior_release(&p);
	}
}

static void names_have_room_for_their_end(void **state)
{
	static const char *const places[] = { "categories.6.3", "categories.0.0" };
	static const char *const named[] = { "categories[6][3]", "categories[0][0]" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const size_t len = TW_PRIOR_TEXT - 1 + i % 2;
		char name[TW_PRIOR_TEXT + 1] = "", why[64];
		struct tw_prior p = { 0 };
		struct tw_err err = { 0 };

		memset(name, 'n', len);
		snprintf(why, sizeof(why), "%s: longer than %d bytes", named[i / 2],
			 TW_PRIOR_TEXT - 1);
		assert_int_equal(read_with(places[i / 2], json_string(name), &p, &err),
				 len < TW_PRIOR_TEXT ? 0 : -1);
		if (len == TW_PRIOR_TEXT && strstr(err.text, why) == NULL)
			fail_msg("%s", err.text);
		tw_prior_release(&p);
	}
}

/* Readings of a machine are not numbers of the file: unknown, and of no distance. */
static void what_the_file_lacks_is_unknown(void **state)
{
	struct tw_prior p = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(read_with("machines.0.16", json_null(), &p, &err), 0);
	assert_int_equal(p.rows, 48);
	assert_true(isnan(p.row_w[0][1]) && p.row_w[0][2] > 0);
	for (size_t n = TW_PRIOR_FACTS; n < TW_PRIOR_NUMBERS; n++) {
		assert_true(isnan(p.row[0].number[n]) && isnan(p.row[47].number[n]));
		for (size_t v = 0; v < p.views; v++)
			assert_true(p.view[v].member[0].target[3].kernel.length[n] == 1);
	}
	assert_true(p.row[0].number[TW_PRIOR_FACTS - 1] > 0);
	tw_prior_release(&p);
}

/* A file is named where it is wrong, and has a limit. */
static void a_file_is_named_in_its_refusal(void **state)
{
	char *dir = scratch_path(*state, "machines"), *text;
	struct tw_prior p = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_prior_load(*state, &p, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	tw_err_clear(&err);
	tree_write(*state, "machines/prior.json", "{}");
	assert_int_equal(tw_prior_load(*state, &p, &err), -1);
	if (strstr(err.text, dir) == NULL)
		fail_msg("%s", err.text);
	tw_err_clear(&err);
	/* Of its path, its bytes and its document. */
	for (int n = 1; n <= 3; n++) {
		fail_alloc_at(n);
		assert_int_equal(tw_prior_load(*state, &p, &err), -1);
		assert_true(fail_alloc_hit());
		assert_int_equal(err.code, TW_NOMEM);
		tw_err_clear(&err);
	}
	text = calloc(1, TW_PRIOR_BYTES_MAX + 1);
	memset(text, ' ', TW_PRIOR_BYTES_MAX + 1);
	assert_int_equal(tw_prior_read(text, TW_PRIOR_BYTES_MAX + 1, &p, &err), -1);
	assert_non_null(strstr(err.text, "bytes, limit is"));
	tw_err_clear(&err);
	assert_int_equal(tw_prior_read(text, TW_PRIOR_BYTES_MAX, &p, &err), -1);
	assert_null(strstr(err.text, "bytes, limit is"));
	free(text);
	free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_have_limits),
		cmocka_unit_test(lists_have_limits),
		cmocka_unit_test(names_have_room_for_their_end),
		cmocka_unit_test(what_the_file_lacks_is_unknown),
		cmocka_unit_test_setup_teardown(a_file_is_named_in_its_refusal,
						scratch_set_up, scratch_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
