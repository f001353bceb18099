/* SPDX-License-Identifier: Apache-2.0 */
/* Which version of a rollout a replica takes. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "server/fleet/rollout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URL "http://u:p@h/models/ec2.rollout.json?token=1"

static const struct tw_strs no_labels = { 0 };

static void the_place_of_a_replica_is_its_number_or_its_hash(void **state)
{
	static const struct {
		const char *name;
		unsigned place;
	} cases[] = {
		{ "1/4", 0 }, { "2/4", 25 }, { "4/4", 75 }, { "1/1", 0 }, { "3/3", 66 }
	};
	static const char *const wrong[] = { "0/4", "5/4",   "a/4",    "1/",
					     "1/0", "1/4/4", "1/99999" };
	struct tw_replica r, again;
	struct tw_err err = { 0 };
	unsigned places = 0;

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		assert_int_equal(tw_replica_init(cases[i].name, &no_labels, &r, &err), 0);
		assert_int_equal(r.place, cases[i].place);
	}
	for (size_t i = 0; i < TW_COUNT(wrong); i++) {
		err = (struct tw_err){ 0 };
		assert_int_equal(tw_replica_init(wrong[i], &no_labels, &r, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		assert_non_null(strstr(err.text, "--replica"));
	}
	/* Places of names are spread: about 250 of 1000 are below 25. */
	for (int i = 0; i < 1000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "tw-server-%d", i);
		assert_int_equal(tw_replica_init(name, &no_labels, &r, &err), 0);
		assert_true(r.place < 100);
		places += r.place < 25;
	}
	assert_in_range(places, 200, 300);
	assert_int_equal(tw_replica_init(NULL, &no_labels, &r, &err), 0);
	assert_int_equal(tw_replica_init("", &no_labels, &again, &err), 0);
	assert_int_equal(r.place, again.place);
}

static void choose(const char *text, const char *from, const char *name,
		   const struct tw_strs *labels, const char *wanted, bool next)
{
	struct tw_replica r;
	struct tw_err err = { 0 };
	char *got = NULL;
	bool is_next;

	assert_int_equal(tw_replica_init(name, labels, &r, &err), 0);
	if (tw_rollout_choose(text, strlen(text), from, &r, &got, &is_next, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	assert_string_equal(got, wanted);
	assert_int_equal(is_next, next);
	free(got);
}

static void the_percentage_and_the_labels_choose_the_version(void **state)
{
	static const char half[] =
		"{\"stable\":\"1.zip\",\"next\":\"2.zip\",\"percent\":50}";
	static const char zone[] =
		"{\"stable\":\"1.zip\",\"next\":\"2.zip\",\"percent\":100,"
		"\"labels\":{\"zone\":\"a\",\"tier\":\"x\"}}";
	struct tw_strs labels = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	choose("{\"stable\":\"1.zip\"}", URL, "1/4", &no_labels,
	       "http://u:p@h/models/1.zip", false);
	choose(half, URL, "2/4", &no_labels, "http://u:p@h/models/2.zip", true);
	choose(half, URL, "3/4", &no_labels, "http://u:p@h/models/1.zip", false);
	choose(half, "/srv/ec2.rollout.json", "1/4", &no_labels, "/srv/2.zip", true);
	choose("{\"stable\":\"1\",\"next\":\"https://o/2.zip\",\"percent\":100}", URL,
	       "4/4", &no_labels, "https://o/2.zip", true);
	choose("{\"stable\":\"1\",\"next\":\"2\",\"percent\":0}", URL, "1/4", &no_labels,
	       "http://u:p@h/models/1", false);
	choose("{\"stable\":\"/a/1\"}", "/srv/ec2.rollout.json", "1/4", &no_labels,
	       "/a/1", false);
	choose(zone, URL, "1/4", &no_labels, "http://u:p@h/models/1.zip", false);
	assert_int_equal(tw_strs_split(&labels, "zone=a", &err), 0);
	choose(zone, URL, "1/4", &labels, "http://u:p@h/models/1.zip", false);
	assert_int_equal(tw_strs_adds(&labels, "tier=x", &err), 0);
	choose(zone, URL, "1/4", &labels, "http://u:p@h/models/2.zip", true);
	tw_strs_clear(&labels);
}

static void a_wrong_rollout_is_refused_with_its_key(void **state)
{
	static const struct {
		const char *text, *word;
	} cases[] = {
		{ "[]", "object" },
		{ "{", "rollout" },
		{ "{}", "stable" },
		{ "{\"stable\":\"\"}", "name" },
		{ "{\"stable\":\"/etc/passwd\"}", "path" },
		{ "{\"stable\":\"1\",\"next\":\"2\"}", "percent" },
		{ "{\"stable\":\"1\",\"next\":\"2\",\"percent\":101}", "percent" },
		{ "{\"stable\":\"1\",\"next\":\"2\",\"percents\":1}", "percents" },
		{ "{\"stable\":\"1\",\"next\":\"2\",\"percent\":1,\"labels\":{\"a\":1}}",
		  "labels.a" },
	};
	struct tw_replica r = { .place = 0, .labels = &no_labels };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_err err = { 0 };
		char *got = NULL;
		bool next;

		assert_int_equal(tw_rollout_choose(cases[i].text, strlen(cases[i].text),
						   URL, &r, &got, &next, &err),
				 -1);
		assert_null(got);
		if (strstr(err.text, cases[i].word) == NULL)
			fail_msg("%s: %s", cases[i].text, err.text);
	}
}

static void labels_of_a_replica_are_keys_and_values(void **state)
{
	struct tw_strs labels = { 0 };
	struct tw_err err = { 0 };
	struct tw_replica r;

	(void)state;
	assert_int_equal(tw_strs_split(&labels, "zone=a,b", &err), 0);
	assert_int_equal(tw_replica_init("x", &labels, &r, &err), -1);
	assert_non_null(strstr(err.text, "'b'"));
	tw_strs_clear(&labels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_place_of_a_replica_is_its_number_or_its_hash),
		cmocka_unit_test(the_percentage_and_the_labels_choose_the_version),
		cmocka_unit_test(a_wrong_rollout_is_refused_with_its_key),
		cmocka_unit_test(labels_of_a_replica_are_keys_and_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
