/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/prom_cases.h"
#include "tests/unit/shared.h"
#include "trainer/extract/extract.h"
#include "trainer/response/prom.h"
#include "trainer/response/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char small[] =
	"{\"kepler_container_cpu_cycles_total\":["
	"{\"metric\":{\"container_id\":\"abc\",\"scheme\":\"http\"},"
	"\"values\":[[10,\"1\"],[13.5,\"2.5e3\"]]},"
	"{\"metric\":{\"container_id\":\"def\"},\"values\":[[10,\"0\"],[13.5,\"7\"]]}],"
	"\"other_total\":[{\"metric\":{},\"values\":[[1,\"NaN\"]]}],"
	"\"kepler_node_platform_joules_total\":[]}";

static struct tw_prom *parse(const char *text)
{
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	if (tw_prom_parse(text, strlen(text), &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static void schema_metrics_are_kept_with_the_labels_that_schemas_use(void **state)
{
	struct tw_prom *p = parse(small);
	const struct tw_series *s;
	size_t count;

	(void)state;
	s = tw_prom_series(p, "kepler_container_cpu_cycles_total", &count);
	assert_int_equal(count, 2);
	assert_string_equal(tw_series_label(&s[0], "container_id"), "abc");
	assert_null(tw_series_label(&s[0], "scheme"));
	assert_int_equal(s[0].time_ms.count, 2);
	assert_int_equal(s[0].value.count, 2);
	assert_true(tw_packed_last(&s[0].time_ms) == 13500);
	assert_true(tw_packed_last(&s[0].value) == 2500.0);
	assert_null(tw_prom_series(p, "other_total", &count));
	assert_int_equal(count, 0);
	assert_null(tw_prom_series(p, "kepler_node_platform_joules_total", &count));
	tw_prom_free(p);
}

/* As `curl` writes an answer of the API: of each metric, the same series. */
static void a_raw_answer_of_the_api_is_a_response(void **state)
{
	struct tw_prom *p = parse(
		"{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":["
		"{\"metric\":{\"__name__\":\"other_total\"},\"values\":[[1,\"5\"]]},"
		"{\"metric\":{\"__name__\":\"kepler_container_cpu_cycles_total\","
		"\"container_id\":\"abc\",\"scheme\":\"http\"},\"values\":[[10,\"1\"]]},"
		"{\"metric\":{\"container_id\":\"def\",\"__name__\":"
		"\"kepler_container_cpu_cycles_total\"},\"values\":[[10,\"7\"]]},"
		"{\"metric\":{},\"values\":[[10,\"8\"]]}]},\"warnings\":[]}");
	const struct tw_series *s;
	struct tw_err err = { 0 };
	size_t count;

	(void)state;
	s = tw_prom_series(p, "kepler_container_cpu_cycles_total", &count);
	assert_int_equal(count, 2);
	assert_string_equal(tw_series_label(&s[0], "container_id"), "abc");
	assert_string_equal(tw_series_label(&s[1], "container_id"), "def");
	assert_int_equal(s[0].labels, 1);
	assert_true(tw_packed_last(&s[1].value) == 7);
	assert_null(tw_prom_series(p, "other_total", &count));
	tw_prom_free(p);
	for (size_t i = 0; i < 2; i++) {
		static const char *const texts[] = {
			"{\"status\":\"error\",\"error\":\"query timed out\"}",
			"{\"data\":{\"result\":[{\"metric\":{},\"values\":7}]}}"
		};
		static const char *const want[] = { "error 'query timed out'",
						    "expected a list of samples" };

		err = (struct tw_err){ 0 };
		assert_int_equal(tw_prom_parse(texts[i], strlen(texts[i]), &p, &err), -1);
		if (strstr(err.text, want[i]) == NULL)
			fail_msg("%s", err.text);
	}
}

static void equal_texts_are_kept_once(void **state)
{
	struct tw_prom *p = parse(small);
	const struct tw_series *s;
	size_t count;

	(void)state;
	s = tw_prom_series(p, "kepler_container_cpu_cycles_total", &count);
	assert_ptr_equal(s[0].label[0].name, s[1].label[0].name);
	assert_ptr_not_equal(s[0].label[0].value, s[1].label[0].value);
	tw_prom_free(p);
}

/* The first series of a response: no memory is allocated yet. */
static void a_series_may_have_no_labels(void **state)
{
	struct tw_prom *p = parse("{\"kepler_container_cpu_cycles_total\":["
				  "{\"metric\":{},\"values\":[[10,\"1\"]]}]}");
	const struct tw_series *s;
	size_t count;

	(void)state;
	s = tw_prom_series(p, "kepler_container_cpu_cycles_total", &count);
	assert_int_equal(count, 1);
	assert_int_equal(s->labels, 0);
	assert_int_equal(s->value.count, 1);
	tw_prom_free(p);
}

static void a_series_is_described_by_its_labels(void **state)
{
	static const struct tw_label labels[] = {
		{ "container_id", "0123456789abcdef" },
		{ "instance", "node-a" },
		{ "mode", "idle" },
	};
	const struct tw_series s = { .label = labels, .labels = 3 };
	char text[64], short_text[20];

	(void)state;
	tw_series_describe(&s, text, sizeof(text));
	assert_string_equal(text, "container_id=0123456789ab mode=idle");
	tw_series_describe(&s, short_text, sizeof(short_text));
	assert_string_equal(short_text, "container_id=012345");
}

static void assert_same_numbers(const struct tw_packed *a, const struct tw_packed *b)
{
	struct tw_unpack x = tw_unpack_begin(a), y = tw_unpack_begin(b);

	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++)
		assert_true(tw_unpack_next(&x) == tw_unpack_next(&y));
}

static void a_file_is_read_in_pieces_like_a_text(void **state)
{
	const struct tw_schema *legacy =
		tw_schema_of_metric("kepler_container_cpu_cycles_total");
	char path[512], *text = NULL;
	struct tw_prom *a = NULL, *b = NULL;
	struct tw_err err = { 0 };
	size_t len, n, m;

	(void)state;
	shared_path(path, sizeof(path), "data/prometheus/workload-0.6.json");
	assert_int_equal(tw_prom_read(path, &a, &err), 0);
	assert_int_equal(tw_file_read(path, 64 << 20, &text, &len, &err), 0);
	assert_int_equal(tw_prom_parse(text, len, &b, &err), 0);
	free(text);
	for (size_t i = 0; i < legacy->metric_count; i++) {
		const char *metric = legacy->metrics[i].name;
		const struct tw_series *s = tw_prom_series(a, metric, &n);
		const struct tw_series *t = tw_prom_series(b, metric, &m);

		assert_int_equal(n, m);
		for (size_t k = 0; k < n; k++) {
			assert_same_numbers(&s[k].time_ms, &t[k].time_ms);
			assert_same_numbers(&s[k].value, &t[k].value);
		}
	}
	tw_prom_free(a);
	tw_prom_free(b);
}

static void a_missing_file_is_named(void **state)
{
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_prom_read("no/such.json", &p, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text,
			    "cannot open 'no/such.json': No such file or directory");
	assert_null(p);
}

/* The response as a member of a larger document, as POST /train has it. */
struct nested {
	struct tw_prom_builder *builder;
	bool inside;
	int behind; /* events after the response */
};

static int take_nested(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct nested *n = arg;

	if (n->inside && !tw_prom_builder_done(n->builder))
		return tw_prom_builder_event(n->builder, e, err);
	if (n->inside)
		n->behind++;
	if (e->type == TW_JSAX_KEY)
		n->inside = true;
	return 0;
}

static void a_builder_reads_a_response_within_a_larger_document(void **state)
{
	const struct tw_jsax_limits limits = { .depth = 16, .text_bytes = 1024 };
	struct tw_jsax *parser = NULL;
	struct nested n = { 0 };
	struct tw_err err = { 0 };
	struct tw_buf text = { 0 };
	struct tw_prom *p;
	size_t used, count;

	(void)state;
	tw_buf_addf(&text, "{\"prom_response\":%s,\"name\":1}", small);
	assert_int_equal(tw_prom_builder_new(&n.builder, &err), 0);
	assert_int_equal(tw_jsax_new(&limits, take_nested, &n, &parser, &err), 0);
	assert_int_equal(tw_jsax_feed(parser, text.data, text.len, &used, &err), 0);
	assert_int_equal(tw_jsax_end(parser, &err), 0);
	assert_true(tw_prom_builder_done(n.builder));
	assert_int_equal(n.behind, 3);
	p = tw_prom_builder_detach(n.builder);
	assert_non_null(tw_prom_series(p, "kepler_container_cpu_cycles_total", &count));
	tw_prom_free(p);
	tw_prom_builder_free(n.builder);
	tw_jsax_free(parser);
	tw_buf_clear(&text);
}

static void every_failed_allocation_is_reported(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_prom *p = NULL;
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_prom_parse(small, sizeof(small) - 1, &p, &err);
		if (!fail_alloc_told(rc, &err)) {
			tw_prom_free(p);
			assert_true(n > 10);
			break;
		}
		assert_null(p);
	}
}

static void every_case_gives_its_table_or_its_error(void **state)
{
	const struct tw_extract_args args = {
		.source = tw_energy_source_find("acpi"),
		.group = tw_feature_group_find("BPFOnly"),
		.level = TW_ROWS_CONTAINER,
	};

	(void)state;
	assert_true(run_prom_cases("tests/cases/prom", &args) > 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			schema_metrics_are_kept_with_the_labels_that_schemas_use),
		cmocka_unit_test(a_raw_answer_of_the_api_is_a_response),
		cmocka_unit_test(equal_texts_are_kept_once),
		cmocka_unit_test(a_series_may_have_no_labels),
		cmocka_unit_test(a_series_is_described_by_its_labels),
		cmocka_unit_test(a_file_is_read_in_pieces_like_a_text),
		cmocka_unit_test(a_missing_file_is_named),
		cmocka_unit_test(a_builder_reads_a_response_within_a_larger_document),
		cmocka_unit_test(every_failed_allocation_is_reported),
		cmocka_unit_test(every_case_gives_its_table_or_its_error),
	};

	return cmocka_run_group_tests_name("prom", tests, NULL, NULL);
}
