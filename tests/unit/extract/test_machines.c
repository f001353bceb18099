/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/extract/extract.h"
#include "trainer/response/machines.h"
#include "trainer/response/prom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CYCLES "kepler_container_cpu_cycles_total"

/* A response of one metric, with a series for each list of labels. */
static struct tw_prom *make(const char *const *labels, size_t count)
{
	struct tw_buf b = { 0 };
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	tw_buf_adds(&b, "{\"" CYCLES "\":[");
	for (size_t i = 0; i < count; i++)
		tw_buf_addf(&b, "%s{\"metric\":{%s},\"values\":[[1,\"%zu\"]]}",
			    i > 0 ? "," : "", labels[i], i);
	tw_buf_adds(&b, "]}");
	if (tw_prom_parse(b.data, b.len, &p, &err) < 0)
		fail_msg("%s", err.text);
	tw_buf_clear(&b);
	return p;
}

#define MAKE(...)                                  \
	make((const char *const[]){ __VA_ARGS__ }, \
	     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

/* names: sorted, separated by blanks. Frees p. */
static void expect_names(struct tw_prom *p, const char *names)
{
	struct tw_machines m = { 0 };
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };

	if (tw_machines_find(p, NULL, TW_PARTS_OF_SEVERAL, &m, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < m.count; i++)
		tw_buf_addf(&b, "%s%s", i > 0 ? " " : "", m.name[i]);
	assert_string_equal(b.data != NULL ? b.data : "", names);
	tw_buf_clear(&b);
	tw_machines_release(&m);
	tw_prom_free(p);
}

static void expect_failure(struct tw_prom *p, const char *text)
{
	struct tw_machines m = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_machines_find(p, NULL, TW_PARTS_OF_SEVERAL, &m, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, text);
	assert_int_equal(m.count, 0);
	tw_prom_free(p);
}

static void names_are_sorted_without_duplicates(void **state)
{
	(void)state;
	expect_names(
		MAKE("\"instance\":\"b\"", "\"instance\":\"a\"", "\"instance\":\"b\""),
		"a b");
	expect_names(MAKE("\"container_id\":\"c\""), "");
	expect_names(MAKE(""), "");
}

static void a_later_label_is_an_alias_of_the_machine_it_occurs_with(void **state)
{
	(void)state;
	/* Kepler: usage has only instance; energy also has the node's name. */
	expect_names(MAKE("\"instance\":\"10.0.0.1:9102\"",
			  "\"instance\":\"10.0.0.1:9102\",\"exported_instance\":\"a\""),
		     "a");
	/* Alias of an alias. */
	expect_names(MAKE("\"instance\":\"i\"",
			  "\"instance\":\"i\",\"exported_instance\":\"e\"",
			  "\"exported_instance\":\"e\",\"node_name\":\"n\"",
			  "\"instance\":\"i\",\"node_name\":\"n\""),
		     "n");
	/* One exporter for all machines: its own instance is ignored. */
	expect_names(MAKE("\"instance\":\"f\",\"exported_instance\":\"a\"",
			  "\"instance\":\"f\",\"exported_instance\":\"b\""),
		     "a b");
	/* The same text in another label is another machine. */
	expect_names(
		MAKE("\"instance\":\"a\",\"node_name\":\"b\"", "\"node_name\":\"a\""),
		"a b");
}

static void a_series_of_two_machines_or_without_one_is_rejected(void **state)
{
	(void)state;
	expect_failure(MAKE("\"instance\":\"f\",\"exported_instance\":\"a\"",
			    "\"instance\":\"f\",\"exported_instance\":\"b\"",
			    "\"instance\":\"f\""),
		       CYCLES ": instance 'f' is of machine 'a' and of 'b'");
	expect_failure(MAKE("\"instance\":\"a\"", "\"instance\":\"b\"",
			    "\"container_id\":\"c\""),
		       "response holds machines 'a' and 'b', and a series of " CYCLES
		       " without a machine label");
}

static void series_of_guests_belong_to_no_machine(void **state)
{
	(void)state;
	expect_names(MAKE("\"instance\":\"host\"", "\"instance\":\"vm\",\"job\":\"vm\"",
			  "\"job\":\"vm\""),
		     "host");
	/* By another name, where the old programs' key says so; and then by that alone.
	 */
	assert_int_equal(setenv("VM_JOB_NAME", "guests", 1), 0);
	expect_names(MAKE("\"instance\":\"host\"",
			  "\"instance\":\"x\",\"job\":\"guests\"", "\"job\":\"guests\""),
		     "host");
	expect_names(MAKE("\"instance\":\"host\"", "\"instance\":\"x\",\"job\":\"vm\"",
			  "\"instance\":\"host\""),
		     "host x");
	assert_int_equal(unsetenv("VM_JOB_NAME"), 0);
}

static struct tw_prom *two_machines(void)
{
	return MAKE("\"instance\":\"a\"", "\"instance\":\"b\"",
		    "\"instance\":\"v\",\"job\":\"vm\"",
		    "\"instance\":\"b\",\"container_id\":\"c\"");
}

static void one_machine_is_selected_with_the_series_of_guests(void **state)
{
	struct tw_prom *p = two_machines();
	struct tw_machines m = { 0 };
	const struct tw_series *s;
	struct tw_err err = { 0 };
	size_t count;

	(void)state;
	assert_int_equal(tw_machines_find(p, "b", TW_PARTS_NONE, &m, &err), 0);
	assert_int_equal(m.count, 1);
	assert_true(m.several);
	assert_string_equal(m.name[0], "b");
	s = tw_prom_series(m.part[0], CYCLES, &count);
	assert_int_equal(count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(tw_packed_first(&s[i].value) == (double)(i + 1));
	tw_machines_release(&m);

	assert_int_equal(tw_machines_find(p, "c", TW_PARTS_NONE, &m, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text, "response has no machine 'c': it has 'a', 'b'");
	assert_null(m.part);
	tw_prom_free(p);
}

static void each_machine_of_several_has_a_part_without_guests(void **state)
{
	static const size_t series[] = { 1, 2 };
	struct tw_prom *p = two_machines();
	struct tw_machines m = { 0 };
	struct tw_err err = { 0 };
	size_t count;

	(void)state;
	assert_int_equal(tw_machines_find(p, NULL, TW_PARTS_OF_SEVERAL, &m, &err), 0);
	assert_int_equal(m.count, 2);
	for (size_t i = 0; i < 2; i++) {
		tw_prom_series(tw_machines_part(&m, i, p), CYCLES, &count);
		assert_int_equal(count, series[i]);
	}
	tw_machines_release(&m);
	assert_int_equal(tw_machines_find(p, NULL, TW_PARTS_NONE, &m, &err), 0);
	assert_ptr_equal(tw_machines_part(&m, 1, p), p);
	tw_machines_release(&m);
	tw_prom_free(p);

	/* The one machine's part is the response; with TW_PARTS_OF_EACH without guests.
	 */
	p = MAKE("\"instance\":\"a\"", "\"instance\":\"v\",\"job\":\"vm\"");
	assert_int_equal(tw_machines_find(p, NULL, TW_PARTS_OF_SEVERAL, &m, &err), 0);
	assert_ptr_equal(tw_machines_part(&m, 0, p), p);
	tw_machines_release(&m);
	assert_int_equal(tw_machines_find(p, NULL, TW_PARTS_OF_EACH, &m, &err), 0);
	tw_prom_series(tw_machines_part(&m, 0, p), CYCLES, &count);
	assert_int_equal(count, 1);
	tw_machines_release(&m);
	tw_prom_free(p);
}

static int find_both(const struct tw_prom *p, struct tw_err *err)
{
	struct tw_machines m = { 0 };
	int rc = tw_machines_find(p, "a", TW_PARTS_NONE, &m, err);

	tw_machines_release(&m);
	if (rc < 0)
		return -1;
	rc = tw_machines_find(p, NULL, TW_PARTS_OF_SEVERAL, &m, err);
	tw_machines_release(&m);
	return rc;
}

static void every_failed_allocation_is_reported(void **state)
{
	struct tw_prom *p = MAKE("\"instance\":\"a\",\"node_name\":\"a\"",
				 "\"instance\":\"b\",\"node_name\":\"b\"");

	(void)state;
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = find_both(p, &err);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 4);
			break;
		}
	}
	tw_prom_free(p);
}

/* Energy and use by Kepler 0.10 at two instances; the second pair of times is `from`. */
static struct tw_prom *make_ports(const char *first, const char *second, int from)
{
	char text[2048];
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	snprintf(text, sizeof(text),
		 "{\"kepler_process_cpu_seconds_total\":["
		 "{\"metric\":{\"pid\":\"1\",\"instance\":\"%s\"},\"values\":"
		 "[[100,\"0\"],[110,\"5\"]]},"
		 "{\"metric\":{\"pid\":\"1\",\"instance\":\"%s\"},\"values\":"
		 "[[%d,\"0\"],[%d,\"5\"]]}],"
		 "\"kepler_node_cpu_joules_total\":["
		 "{\"metric\":{\"zone\":\"package\",\"instance\":\"%s\"},\"values\":"
		 "[[100,\"0\"],[110,\"400\"]]},"
		 "{\"metric\":{\"zone\":\"package\",\"instance\":\"%s\"},\"values\":"
		 "[[%d,\"0\"],[%d,\"300\"]]}]}",
		 first, second, from, from + 10, first, second, from, from + 10);
	if (tw_prom_parse(text, strlen(text), &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static void ports_of_a_host_are_one_machine_unless_their_samples_overlap(void **state)
{
	static const struct {
		const char *first, *second;
		int from;
		size_t count;
	} cases[] = {
		{ "h:9102", "h:9103", 120, 1 },   { "h:9103", "h:9102", 120, 1 },
		{ "h:9102", "h:9103", 110, 2 },   { "h:9102", "h:9103", 90, 2 },
		{ "h:9102", "g:9102", 120, 2 },   { "h", "h:9102", 120, 2 },
		{ "[::1]:1", "[::1]:2", 120, 1 }, { "fe80::1:1", "fe80::1:2", 120, 2 },
		{ "h:x", "h:y", 120, 2 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_prom *p =
			make_ports(cases[i].first, cases[i].second, cases[i].from);
		struct tw_machines m = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(tw_machines_find(p, NULL, TW_PARTS_OF_SEVERAL, &m, &err),
				 0);
		if (m.count != cases[i].count)
			fail_msg("'%s' and '%s' from %d are %zu machines", cases[i].first,
				 cases[i].second, cases[i].from, m.count);
		tw_machines_release(&m);
		tw_prom_free(p);
	}
}

/* Energy that it used while neither port was read is not known. */
static void an_exporter_restarted_on_another_port_is_one_machine(void **state)
{
	struct tw_prom *p = make_ports("h:9102", "h:9103", 120);
	struct tw_extract_args args = { .source = tw_energy_source_find("rapl-sysfs"),
					.group = tw_feature_group_find("BPFOnly") };
	struct tw_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct tw_dataset d = { 0 };

		args.machine = i == 1 ? "h:9102" : NULL;
		if (tw_extract(p, &args, &d, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(d.rows, 2);
		assert_true(tw_dataset_find(&d, "package_power")[0] == 40);
		assert_true(tw_dataset_find(&d, "package_power")[1] == 30);
		tw_dataset_release(&d);
	}
	tw_prom_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			ports_of_a_host_are_one_machine_unless_their_samples_overlap),
		cmocka_unit_test(an_exporter_restarted_on_another_port_is_one_machine),
		cmocka_unit_test(names_are_sorted_without_duplicates),
		cmocka_unit_test(a_later_label_is_an_alias_of_the_machine_it_occurs_with),
		cmocka_unit_test(a_series_of_two_machines_or_without_one_is_rejected),
		cmocka_unit_test(series_of_guests_belong_to_no_machine),
		cmocka_unit_test(one_machine_is_selected_with_the_series_of_guests),
		cmocka_unit_test(each_machine_of_several_has_a_part_without_guests),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("machines", tests, NULL, NULL);
}
