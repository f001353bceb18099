/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/http/server/accept.h"
#include "lib/http/server/expo.h"
#include "tests/unit/fail_alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct tw_expo_family requests = { .name = "tw_requests_total",
						.type = TW_EXPO_COUNTER,
						.help = "Requests \"so far\"." };
static const struct tw_expo_family power = { .name = "tw_power_watts",
					     .type = TW_EXPO_GAUGE,
					     .unit = "watts",
					     .help = "Power.\nNow, in C:\\" };
static const struct tw_expo_family seconds = { .name = "tw_request_seconds",
					       .type = TW_EXPO_HISTOGRAM,
					       .unit = "seconds",
					       .help = "Time." };
static const struct tw_expo_family model = { .name = "tw_model_info",
					     .type = TW_EXPO_INFO,
					     .help = "Model." };

static void write_all(struct tw_expo *e)
{
	static const struct tw_expo_label route[] = { { "route", "/model" },
						      { "status", "200" } };
	static const struct tw_expo_label odd[] = { { "name",
						      "a\"b\\c\nd\xff\xc3\xa9" } };
	static const double bound[] = { 0.001, 1 };
	static const uint64_t count_of[] = { 2, 0, 3 };

	tw_expo_family(e, &requests);
	tw_expo_count(e, route, 2, UINT64_MAX);
	tw_expo_family(e, &power);
	tw_expo_sample(e, NULL, 0, 12.5);
	tw_expo_sample(e, odd, 1, NAN);
	tw_expo_sample(e, odd, 0, -INFINITY);
	tw_expo_family(e, &seconds);
	tw_expo_histogram(e, route, 1, bound, TW_COUNT(bound), count_of, 0.25);
	tw_expo_histogram(e, NULL, 0, NULL, 0, count_of, INFINITY);
	tw_expo_family(e, &model);
	tw_expo_sample(e, odd, 1, 1);
	tw_expo_end(e);
}

static void the_text_format_is_prometheus_0_0_4(void **state)
{
	struct tw_buf b = { 0 };
	struct tw_expo e = { .out = &b, .format = TW_EXPO_TEXT };

	(void)state;
	write_all(&e);
	assert_string_equal(
		b.data,
		"# HELP tw_requests_total Requests \"so far\".\n"
		"# TYPE tw_requests_total counter\n"
		"tw_requests_total{route=\"/model\",status=\"200\"} "
		"18446744073709551615\n"
		"# HELP tw_power_watts Power.\\nNow, in C:\\\\\n"
		"# TYPE tw_power_watts gauge\n"
		"tw_power_watts 12.5\n"
		"tw_power_watts{name=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\xc3\xa9\"} NaN\n"
		"tw_power_watts -Inf\n"
		"# HELP tw_request_seconds Time.\n"
		"# TYPE tw_request_seconds histogram\n"
		"tw_request_seconds_bucket{route=\"/model\",le=\"0.001\"} 2\n"
		"tw_request_seconds_bucket{route=\"/model\",le=\"1.0\"} 2\n"
		"tw_request_seconds_bucket{route=\"/model\",le=\"+Inf\"} 5\n"
		"tw_request_seconds_sum{route=\"/model\"} 0.25\n"
		"tw_request_seconds_count{route=\"/model\"} 5\n"
		"tw_request_seconds_bucket{le=\"+Inf\"} 2\n"
		"tw_request_seconds_sum +Inf\n"
		"tw_request_seconds_count 2\n"
		"# HELP tw_model_info Model.\n"
		"# TYPE tw_model_info gauge\n"
		"tw_model_info{name=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\xc3\xa9\"} 1\n");
	tw_buf_clear(&b);
}

static void control_characters_of_labels_become_text(void **state)
{
	const struct tw_expo_label label = { "name", "\x1b[2J\x7f\t\xc2\x9b\xc2\xa0\n" };
	struct tw_buf b = { 0 };

	(void)state;
	tw_expo_add_labels(&b, &label, 1);
	assert_string_equal(b.data,
			    "name=\"\\\\x1b[2J\\\\x7f\\\\x09\\\\x9b\xc2\xa0\\n\"");
	tw_buf_clear(&b);
}

static void openmetrics_names_families_without_the_suffix(void **state)
{
	struct tw_buf b = { 0 };
	struct tw_expo e = { .out = &b, .format = TW_EXPO_OPENMETRICS };
	static const char *const want[] = {
		("# HELP tw_requests Requests \\\"so far\\\".\n"
		 "# TYPE tw_requests counter\n"
		 "tw_requests_total{route=\"/model\""),
		"# TYPE tw_power_watts gauge\n# UNIT tw_power_watts watts\n",
		("# TYPE tw_request_seconds histogram\n"
		 "# UNIT tw_request_seconds seconds\n"),
		"# TYPE tw_model info\ntw_model_info{",
	};

	(void)state;
	write_all(&e);
	for (size_t i = 0; i < TW_COUNT(want); i++)
		if (strstr(b.data, want[i]) == NULL)
			fail_msg("'%s' is not in\n%s", want[i], b.data);
	assert_string_equal(b.data + b.len - 6, "# EOF\n");
	tw_buf_clear(&b);
}

static void the_format_has_the_largest_weight(void **state)
{
	static const struct {
		const char *accept;
		enum tw_expo_format want;
	} cases[] = {
		{ NULL, TW_EXPO_TEXT },
		{ "", TW_EXPO_TEXT },
		{ "*/*", TW_EXPO_TEXT },
		{ "text/html", TW_EXPO_TEXT },
		{ "application/openmetrics-text", TW_EXPO_OPENMETRICS },
		/* Prometheus 2.40 */
		{ "application/openmetrics-text;version=1.0.0,application/"
		  "openmetrics-text;version=0.0.1;q=0.75,text/"
		  "plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  TW_EXPO_OPENMETRICS },
		{ "application/openmetrics-text;version=0.0.1,text/plain;q=0.5",
		  TW_EXPO_TEXT },
		{ "application/openmetrics-text;q=0.4, text/plain;q=0.5", TW_EXPO_TEXT },
		{ "APPLICATION/OpenMetrics-Text ; version=\"1.0.0\" ; Q=0.5",
		  TW_EXPO_OPENMETRICS },
		{ "application/openmetrics-text;q=0", TW_EXPO_TEXT },
		{ "application/openmetrics-text;q=2", TW_EXPO_TEXT },
		{ ";;,,;q=,/,openmetrics-text", TW_EXPO_TEXT },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++)
		if (tw_expo_wanted(cases[i].accept) != cases[i].want)
			fail_msg("'%s'", cases[i].accept);
	assert_string_equal(tw_expo_content_type(TW_EXPO_TEXT),
			    "text/plain; version=0.0.4; charset=utf-8");
}

static void a_coding_has_the_weight_of_its_header(void **state)
{
	static const struct {
		const char *accept;
		double want;
	} cases[] = {
		{ NULL, 0 },
		{ "", 0 },
		{ "gzip", 1 },
		{ "deflate, gzip;q=0.5", 0.5 },
		{ "*", 1 },
		{ "*, gzip;q=0", 0 },
		{ "gzip;q=0, *", 0 },
		{ "identity", 0 },
		{ "x-gzip", 0 },
		{ "GZIP", 1 },
		{ "gzip;q=nonsense", 0 },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++)
		if (fabs(tw_accept_coding(cases[i].accept, "gzip") - cases[i].want) >
		    1e-9)
			fail_msg("'%s'", cases[i].accept);
}

struct object {
	uint64_t count;
	uint32_t small;
	int64_t since_ms;
	double watts;
	bool up;
};

#define ROW(name, type, unit, member, per) \
	TW_EXPO_ROW("tw_*_" name, type, unit, "Of *.", struct object, member, per)

static const struct tw_expo_row rows[] = {
	ROW("rows_total", TW_EXPO_COUNTER, NULL, count, 1),
	ROW("cpu_seconds_total", TW_EXPO_COUNTER, "seconds", count, 1e9),
	ROW("small", TW_EXPO_GAUGE, NULL, small, 1),
	ROW("since_seconds", TW_EXPO_GAUGE, "seconds", since_ms, 1e3),
	ROW("watts", TW_EXPO_GAUGE, "watts", watts, 1),
	ROW("up", TW_EXPO_GAUGE, NULL, up, 1),
};
static const struct tw_expo_level levels[] = { { "pod", "a pod" }, { "vm", "a VM" } };

/* Write the samples, without HELP and TYPE, of rows of a level. */
static void write_rows(struct tw_buf *b, const struct object *o)
{
	const struct tw_labels l = { .at = { { "id", "7" } }, .count = 1 };
	struct tw_buf text = { 0 };
	struct tw_expo e = { .out = &text };

	for (size_t i = 0; i < TW_COUNT(rows); i++) {
		tw_expo_family_of(&e, &rows[i].family, &levels[1]);
		text.len = 0;
		tw_expo_number(&e, &rows[i], &l, o);
		tw_buf_add(b, text.data, text.len);
	}
	tw_buf_clear(&text);
}

static void a_row_has_a_number_of_an_object(void **state)
{
	const struct object o = { UINT64_MAX, 5, -1500, 2.5, true },
			    unknown = { .watts = NAN };
	struct tw_buf b = { 0 };

	(void)state;
	write_rows(&b, &o);
	assert_string_equal(b.data, "tw_vm_rows_total{id=\"7\"} 18446744073709551615\n"
				    "tw_vm_cpu_seconds_total{id=\"7\"} "
				    "18446744073.709553\n"
				    "tw_vm_small{id=\"7\"} 5\n"
				    "tw_vm_since_seconds{id=\"7\"} -1.5\n"
				    "tw_vm_watts{id=\"7\"} 2.5\n"
				    "tw_vm_up{id=\"7\"} 1\n");
	b.len = 0;
	write_rows(&b, &unknown);
	assert_null(strstr(b.data, "watts"));
	tw_buf_clear(&b);
}

static void families_without_a_level_keep_their_asterisk(void **state)
{
	static const struct object o = { .count = 3 };
	struct tw_buf b = { 0 };
	struct tw_expo e = { .out = &b };

	(void)state;
	tw_expo_numbers(&e, rows, 1, &o);
	assert_string_equal(b.data, "# HELP tw_*_rows_total Of *.\n"
				    "# TYPE tw_*_rows_total counter\n"
				    "tw_*_rows_total 3\n");
	tw_buf_clear(&b);
}

static void a_long_name_is_cut(void **state)
{
	char name[TW_EXPO_NAME + 100] = "", help[TW_EXPO_HELP + 100] = "";
	const struct tw_expo_family f = { name, TW_EXPO_GAUGE, NULL, help };
	struct tw_buf b = { 0 };
	struct tw_expo e = { .out = &b };

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	memset(help, '*', sizeof(help) - 1);
	tw_expo_family_of(&e, &f, &levels[0]);
	assert_int_equal(e.name_len, TW_EXPO_NAME);
	assert_int_equal(b.len, 2 * (strlen("# HELP  ") + TW_EXPO_NAME) + TW_EXPO_HELP +
					strlen("gauge\n") + 1);
	tw_buf_clear(&b);
}

static void families_are_listed_for_each_level(void **state)
{
	static const struct tw_expo_family single[] = { { "tw_x_info", TW_EXPO_INFO, NULL,
							  "X." } };
	static const struct tw_expo_table tables[] = {
		TW_EXPO_TABLE(single),
		{ .first = &rows[1].family,
		  .count = 1,
		  .size = sizeof(rows[0]),
		  .level = levels,
		  .levels = 2 },
		{ .first = NULL },
	};
	struct tw_buf b = { 0 };

	(void)state;
	tw_expo_list(&b, tables);
	assert_string_equal(b.data,
			    "tw_x_info\tinfo\t-\tX.\n"
			    "tw_pod_cpu_seconds_total\tcounter\tseconds\tOf a pod.\n"
			    "tw_vm_cpu_seconds_total\tcounter\tseconds\tOf a VM.\n");
	tw_buf_clear(&b);
}

static void labels_have_a_limit(void **state)
{
	struct tw_labels l = { .count = 0 };

	(void)state;
	for (int i = 0; i < TW_LABELS_MAX + 2; i++)
		tw_labels_add(&l, "name", NULL);
	assert_int_equal(l.count, TW_LABELS_MAX);
	assert_string_equal(l.at[0].value, "");
}

static void a_failed_allocation_marks_the_buffer(void **state)
{
	int failures = 0;

	(void)state;
	for (int n = 1;; n++, failures++) {
		struct tw_buf b = { 0 };
		struct tw_expo e = { .out = &b, .format = TW_EXPO_OPENMETRICS };

		fail_alloc_at(n);
		write_all(&e);
		if (!fail_alloc_hit()) {
			assert_false(tw_buf_failed(&b));
			tw_buf_clear(&b);
			break;
		}
		assert_true(tw_buf_failed(&b));
		tw_buf_clear(&b);
	}
	assert_true(failures > 1);
}

/* Decimal text without trailing zeros. */
static void fixed_numbers_are_exact(void **state)
{
	static const struct {
		tw_u128 value;
		unsigned decimals;
		const char *text;
	} cases[] = {
		{ 0, 0, "0" },
		{ 0, 9, "0" },
		{ 7, 0, "7" },
		{ 100, 0, "100" },
		{ 1, 9, "0.000000001" },
		{ 100, 9, "0.0000001" },
		{ 1500000, 6, "1.5" },
		{ 123000000, 6, "123" },
		{ 90000001, 6, "90.000001" },
		{ UINT64_MAX, 0, "18446744073709551615" },
		{ UINT64_MAX, 9, "18446744073.709551615" },
		{ UINT64_MAX, 18, "18.446744073709551615" },
		{ (tw_u128)UINT64_MAX + 1, 12, "18446744.073709551616" },
		{ (tw_u128)UINT64_MAX * 10, 12, "184467440.73709551615" },
		{ ~(tw_u128)0, 18, "340282366920938463463.374607431768211455" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_buf b = { 0 };
		struct tw_expo e = { .out = &b };
		char want[64];

		tw_expo_family(&e, &power);
		b.len = 0;
		tw_expo_fixed(&e, NULL, 0, cases[i].value, cases[i].decimals);
		snprintf(want, sizeof(want), "tw_power_watts %s\n", cases[i].text);
		assert_string_equal(b.data, want);
		tw_buf_clear(&b);
	}
}

static void formatted_labels_serve_many_samples(void **state)
{
	static const struct tw_expo_label labels[] = {
		{ "name", "a\"b\\c\nd\xff\xc3\xa9" }, { "pid", "7" }
	};
	struct tw_buf text = { 0 }, b = { 0 };
	struct tw_expo e = { .out = &b };
	struct tw_expo_text parts[3] = { { "", 0 },
					 { NULL, 0 },
					 { "zone=\"core\"", 11 } };

	(void)state;
	tw_expo_add_labels(&text, labels, 2);
	parts[1] = (struct tw_expo_text){ text.data, text.len };
	tw_expo_family(&e, &power);
	b.len = 0;
	tw_expo_fixed(&e, parts, 1, 1, 0);
	tw_expo_fixed(&e, parts, 2, 2, 0);
	tw_expo_fixed(&e, parts, 3, 3, 0);
	assert_string_equal(b.data,
			    "tw_power_watts 1\n"
			    "tw_power_watts{name=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\xc3\xa9\","
			    "pid=\"7\"} 2\n"
			    "tw_power_watts{name=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\xc3\xa9\","
			    "pid=\"7\",zone=\"core\"} 3\n");
	tw_buf_clear(&text);
	tw_buf_clear(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_numbers_are_exact),
		cmocka_unit_test(formatted_labels_serve_many_samples),
		cmocka_unit_test(the_text_format_is_prometheus_0_0_4),
		cmocka_unit_test(control_characters_of_labels_become_text),
		cmocka_unit_test(openmetrics_names_families_without_the_suffix),
		cmocka_unit_test(the_format_has_the_largest_weight),
		cmocka_unit_test(a_coding_has_the_weight_of_its_header),
		cmocka_unit_test(a_failed_allocation_marks_the_buffer),
		cmocka_unit_test(a_row_has_a_number_of_an_object),
		cmocka_unit_test(families_without_a_level_keep_their_asterisk),
		cmocka_unit_test(a_long_name_is_cut),
		cmocka_unit_test(families_are_listed_for_each_level),
		cmocka_unit_test(labels_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
