/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "estimator/request.h"
#include "estimator/request_rows.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As Kepler sends it. */
static const char kepler[] =
	"{\"metrics\":[\"cpu_cycles\",\"cache_miss\"],\"values\":[[1.5,2],[0,-3e2],[7,8]]"
	","
	"\"output_type\":\"AbsPower\",\"source\":\"intel_rapl\",\"system_features\":"
	"[\"cpu_architecture\"],\"system_values\":[\"Sandy "
	"Bridge\"],\"trainer_name\":\"\","
	"\"filter\":\"\"}";

struct outcome {
	struct tw_request_parser *parser;
	size_t used;
	bool done;
	int rc;
	struct tw_err err;
};

/* In pieces of this many bytes. */
static void feed(struct outcome *o, const char *text, size_t len, size_t piece)
{
	*o = (struct outcome){ 0 };
	assert_int_equal(tw_request_parser_new(&o->parser, &o->err), 0);
	while (o->used < len && !o->done && o->rc == 0) {
		size_t n = len - o->used < piece ? len - o->used : piece, used = 0;

		o->rc = tw_request_parser_feed(o->parser, text + o->used, n, &used,
					       &o->done, &o->err);
		assert_true(used <= n);
		assert_true(used == n || o->done || o->rc < 0);
		o->used += used;
	}
}

/* As above; the request, which is whole. */
static const struct tw_request *take(struct outcome *o, const char *text, size_t piece)
{
	feed(o, text, strlen(text), piece);
	assert_int_equal(o->rc, 0);
	assert_true(o->done);
	return tw_request_parser_request(o->parser);
}

static void each_old_output_type_has_its_form_of_answer(void **state)
{
	static const struct {
		const char *more; /* of the request */
		enum tw_output output;
		enum tw_reply_form form;
	} cases[] = {
		{ "\"output_type\":\"AbsPower\"", TW_ABS_POWER, TW_REPLY_CURRENT },
		{ "\"output_type\":\"DynPower\"", TW_DYN_POWER, TW_REPLY_CURRENT },
		{ "\"output_type\":\"AbsPower\",\"model_name\":\"\"", TW_ABS_POWER,
		  TW_REPLY_TOTAL },
		{ "\"output_type\":\"DynPower\",\"model_name\":\"\"", TW_DYN_POWER,
		  TW_REPLY_TOTAL },
		{ "\"output_type\":\"AbsPower\",\"model_name\":\"\",\"source\":\"acpi\"",
		  TW_ABS_POWER, TW_REPLY_CURRENT },
		{ "\"output_type\":\"AbsPower\",\"model_name\":\"\",\"version\":2",
		  TW_ABS_POWER, TW_REPLY_CURRENT },
		{ "\"output_type\":\"AbsComponentPower\"", TW_ABS_POWER,
		  TW_REPLY_COMPONENTS },
		{ "\"output_type\":\"DynComponentPower\",\"model_name\":\"\"",
		  TW_DYN_POWER, TW_REPLY_COMPONENTS },
		{ "\"output_type\":\"AbsComponentModelWeight\"", TW_ABS_POWER,
		  TW_REPLY_COMPONENTS },
		{ "\"output_type\":\"DynComponentModelWeight\"", TW_DYN_POWER,
		  TW_REPLY_COMPONENTS },
		{ "\"output_type\":\"AbsModelWeight\"", TW_ABS_POWER, TW_REPLY_TOTAL },
		{ "\"output_type\":\"DynModelWeight\"", TW_DYN_POWER, TW_REPLY_TOTAL },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_request *r;
		struct outcome o;
		char text[256];

		snprintf(text, sizeof(text), "{\"metrics\":[\"a\"],\"values\":[[1]],%s}",
			 cases[i].more);
		r = take(&o, text, 7);
		assert_int_equal(r->output, cases[i].output);
		assert_int_equal(r->form, cases[i].form);
		tw_request_parser_free(o.parser);
	}
}

static void a_request_of_kepler_is_parsed_from_pieces_of_any_size(void **state)
{
	(void)state;
	for (size_t piece = 1; piece <= sizeof(kepler); piece += piece < 8 ? 1 : 50) {
		const struct tw_request *r;
		struct outcome o;

		r = take(&o, kepler, piece);
		assert_int_equal(o.used, sizeof(kepler) - 1);
		assert_int_equal(r->metrics.count, 2);
		assert_string_equal(r->metrics.at[0], "cpu_cycles");
		assert_int_equal(r->rows, 3);
		assert_true(r->x[0] == 1.5 && r->x[3] == -300 && r->x[5] == 8);
		assert_int_equal(r->output, TW_ABS_POWER);
		assert_string_equal(r->source->name, "rapl-sysfs");
		assert_null(r->trainer);
		assert_null(r->filter);
		tw_request_parser_free(o.parser);
	}
}

static void old_feature_names_become_current_names(void **state)
{
	static const char text[] =
		"{\"metrics\":[\"cpu_instr\",\"irq_block\",\"block_irq\",\"cpu_time\"],"
		"\"values\":[[1,2,3,4]],\"output_type\":\"DynPower\"}";
	static const char *const want[] = { "cpu_instructions", "bpf_block_irq",
					    "block_irq", "cpu_time" };
	const struct tw_request *r;
	struct outcome o;

	(void)state;
	r = take(&o, text, sizeof(text));
	assert_int_equal(r->metrics.count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(r->metrics.at[i], want[i]);
	assert_true(r->x[0] == 1 && r->x[1] == 2);
	tw_request_parser_free(o.parser);
}

/* Kepler lists cpu_ref_cycles with the counters that it has not opened yet. */
static void a_list_of_reference_cycles_proves_no_counters(void **state)
{
	static const struct {
		const char *counter, *cpu_time;
		bool unproven;
	} cases[] = { { "cpu_ref_cycles", "bpf_cpu_time_us", true },
		      { "cpu_ref_cycles", "bpf_cpu_time_ms", true },
		      { "cache_miss", "bpf_cpu_time_us", false },
		      { "cache_miss", "bpf_cpu_time_ms", false } };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_request *r;
		struct outcome o;
		char text[160];

		snprintf(text, sizeof(text),
			 "{\"metrics\":[\"cpu_cycles\",\"%s\",\"%s\"],"
			 "\"values\":[[1,2,3]],\"output_type\":\"AbsPower\"}",
			 cases[i].counter, cases[i].cpu_time);
		r = take(&o, text, strlen(text));
		assert_string_equal(r->metrics.at[2], "bpf_cpu_time_ms");
		assert_true(r->x[2] == 3);
		assert_int_equal(r->counters_unproven, cases[i].unproven);
		tw_request_parser_free(o.parser);
	}
}

static void keys_come_in_any_order_and_unknown_keys_are_skipped(void **state)
{
	static const char text[] =
		"{\"x\":{\"values\":[1,{\"metrics\":null}]},\"values\":[[null,4]],\"y\":["
		"[[]]],"
		"\"trainer_name\":\"T\",\"output_type\":\"DynPower\",\"filter\":\"mae:"
		"10\","
		"\"metrics\":[\"a\",\"b\"],\"source\":\"acpi\",\"z\":\"}\"}";
	const struct tw_request *r;
	struct outcome o;

	(void)state;
	r = take(&o, text, sizeof(text));
	assert_int_equal(r->output, TW_DYN_POWER);
	assert_string_equal(r->source->name, "acpi");
	assert_string_equal(r->trainer, "T");
	assert_string_equal(r->filter, "mae:10");
	assert_int_equal(r->rows, 1);
	assert_true(isnan(r->x[0]) && r->x[1] == 4);
	tw_request_parser_free(o.parser);
}

static void a_request_of_version_2_may_name_components(void **state)
{
	static const char text[] =
		"{\"components\":[\"dram\",\"package\"],\"metrics\":[\"a\"],"
		"\"values\":[[1]],\"output_type\":\"AbsPower\"%s}";
	static const struct {
		const char *more;
		unsigned version, components;
	} cases[] = {
		{ "", 1, 0 },
		{ ",\"version\":null", 1, 0 },
		{ ",\"version\":1", 1, 0 },
		{ ",\"version\":2", 2, 1u << TW_PACKAGE | 1u << TW_DRAM },
		{ ",\"version\":2.0e0", 2, 1u << TW_PACKAGE | 1u << TW_DRAM },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		const struct tw_request *r;
		struct tw_buf b = { 0 };
		struct outcome o;

		tw_buf_addf(&b, text, cases[i].more);
		r = take(&o, b.data, 7);
		assert_int_equal(r->version, cases[i].version);
		assert_int_equal(r->components, cases[i].components);
		tw_request_parser_free(o.parser);
		tw_buf_clear(&b);
	}
}

static void unknown_versions_and_components_are_refused(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "{\"version\":3", "version: 3, expected 1 to 2" },
		{ "{\"version\":1.5", "version: 1.5, expected 1 to 2" },
		{ "{\"version\":\"2\"", "version: expected a number, got a string" },
		{ "{\"version\":[2]", "version: expected a number, got an array" },
		{ "{\"components\":{}", "components: expected an array, got an object" },
		{ "{\"components\":[[]]",
		  "components[0]: expected a string, got an array" },
		{ "{\"components\":[\"core\",\"cor\"]",
		  "components[1]: 'cor' is not known" },
		{ "{\"components\":[\"core\\u0000\"]",
		  "components[0]: 'core' is not known" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_buf b = { 0 };
		struct outcome o;

		tw_buf_adds(&b, cases[i].text);
		tw_buf_adds(&b, ",\"x\":1}");
		feed(&o, b.data, b.len, 1000);
		assert_int_equal(o.rc, -1);
		assert_string_equal(o.err.text, cases[i].error);
		tw_request_parser_free(o.parser);
		tw_buf_clear(&b);
	}
}

static void numeric_system_features_become_columns(void **state)
{
	static const char text[] =
		"{\"metrics\":[\"a\"],\"values\":[[1],[2]],\"output_type\":\"AbsPower\","
		"\"system_features\":[\"name\",\"a\",\"hz\",\"none\",\"n\"],"
		"\"system_values\":[\"x\",9,\"2.5e9\",null,3]}";
	const struct tw_request *r;
	struct outcome o;

	(void)state;
	r = take(&o, text, sizeof(text));
	assert_int_equal(r->metrics.count, 3);
	assert_string_equal(r->metrics.at[1], "hz");
	assert_string_equal(r->metrics.at[2], "n");
	assert_true(r->x[0] == 1 && r->x[1] == 2);
	assert_int_equal(r->systems, 2);
	assert_true(r->system[0] == 2.5e9 && r->system[1] == 3);
	tw_request_parser_free(o.parser);
}

static void system_features_are_categories_too(void **state)
{
	static const char text[] =
		"{\"metrics\":[\"a\"],\"values\":[[1]],\"output_type\":\"AbsPower\","
		"\"system_features\":[\"cpu_architecture\",\"n\",\"none\"],"
		"\"system_values\":[\"Sandy Bridge\",2.5,null]}";
	const struct tw_categories *c;
	struct outcome o;

	(void)state;
	c = &take(&o, text, sizeof(text))->categories;
	assert_int_equal(c->count, 3);
	assert_string_equal(c->names[0], "cpu_architecture");
	assert_string_equal(c->values[0], "Sandy Bridge");
	assert_string_equal(c->values[1], "2.5");
	assert_string_equal(c->values[2], "");
	tw_request_parser_free(o.parser);
}

#define ROWS(rows, more)                                                            \
	"{\"version\":2,\"metrics\":[\"a\"],\"values\":[" rows "],\"output_type\":" \
	"\"AbsPower\"" more "}"

static void series_and_times_have_one_entry_or_one_for_each_row(void **state)
{
	static const char *const texts[] = {
		ROWS("[1],[2]", ",\"series\":[\"x\",\"y\"],\"time_ms\":7"),
		ROWS("[1],[2]", ",\"time_ms\":[7,7],\"series\":[\"x\",\"x\"]"),
		ROWS("[1],[2]", ",\"time_ms\":[7,8],\"series\":\"x\""),
		ROWS("[1],[2]", ",\"time_ms\":[7,8]"),
	};
	static const size_t names[] = { 2, 2, 1, 0 };
	static const int64_t second[] = { 7, 7, 8, 8 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(texts); i++) {
		const struct tw_request *r;
		struct outcome o;

		r = take(&o, texts[i], 3);
		assert_int_equal(r->series->count, names[i]);
		assert_int_equal(r->time_ms[0], 7);
		assert_int_equal(r->time_ms[1], second[i]);
		tw_request_parser_free(o.parser);
	}
}

static void version_1_ignores_series(void **state)
{
	static const char text[] =
		"{\"metrics\":[\"a\"],\"values\":[[1]],\"output_type\":\"AbsPower\","
		"\"series\":\"x\",\"time_ms\":[1,2,3]}";
	struct outcome o;

	(void)state;
	assert_null(take(&o, text, sizeof(text))->time_ms);
	tw_request_parser_free(o.parser);
}

static void system_features_are_appended_to_every_row(void **state)
{
	enum { ROWS = 8000, FEATURES = TW_REQUEST_METRICS_MAX - 1 };
	struct tw_request_rows rows = { 0 };
	struct tw_buf b = { 0 };
	const struct tw_request *r;
	struct tw_err err = { 0 };
	struct outcome o;

	(void)state;
	tw_buf_adds(&b,
		    "{\"metrics\":[\"a\"],\"output_type\":\"AbsPower\",\"values\":[[0]");
	for (int i = 1; i < ROWS; i++)
		tw_buf_addf(&b, ",[%d]", i);
	tw_buf_adds(&b, "],\"system_features\":[\"f0\"");
	for (int i = 1; i < FEATURES; i++)
		tw_buf_addf(&b, ",\"f%d\"", i);
	tw_buf_adds(&b, "],\"system_values\":[10000");
	for (int i = 1; i < FEATURES; i++)
		tw_buf_addf(&b, ",%d", 10000 + i);
	tw_buf_adds(&b, "]}");
	r = take(&o, b.data, b.len);
	assert_int_equal(r->metrics.count, TW_REQUEST_METRICS_MAX);
	assert_int_equal(r->rows, ROWS);
	assert_int_equal(
		tw_request_rows_begin(&rows, r, 0, &(struct tw_series_scope){ 0 }, &err),
		0);
	for (size_t i = 0; i < ROWS; i += 50) {
		struct tw_rows some;

		assert_int_equal(tw_request_rows_get(&rows, i, 50, &some, &err), 0);
		assert_int_equal(some.rows, 50);
		for (size_t k = 0; k < 50; k++) {
			const double *row = some.x + k * some.stride;

			assert_true(row[0] == (double)(i + k));
			for (size_t f = 0; f < FEATURES; f++)
				assert_true(row[f + 1] == (double)(10000 + f));
		}
	}
	tw_request_rows_release(&rows);
	tw_request_parser_free(o.parser);
	tw_buf_clear(&b);
}

/* "}" in a string, blanks at the edges: both were wrong in the old estimator. */
static void a_request_ends_where_its_json_ends(void **state)
{
	static const char text[] =
		" \n {\"filter\":\"}}\",\"metrics\":[\"a\"],\"values\":[[1]],"
		"\"output_type\":\"AbsPower\"}  {\"metrics\":";
	const char *second = strstr(text, "  {");

	(void)state;
	for (size_t piece = 1; piece < sizeof(text); piece += 3) {
		struct outcome o;

		assert_string_equal(take(&o, text, piece)->filter, "}}");
		assert_int_equal(o.used, second - text);
		assert_false(tw_request_parser_started(o.parser));
		assert_int_equal(tw_request_parser_feed(o.parser, second, strlen(second),
							&o.used, &o.done, &o.err),
				 0);
		assert_true(o.done);
		assert_int_equal(o.used, 0);

		/* And the next one is begun. */
		tw_request_parser_reset(o.parser);
		o.done = false;
		assert_int_equal(tw_request_parser_feed(o.parser, second, strlen(second),
							&o.used, &o.done, &o.err),
				 0);
		assert_false(o.done);
		assert_true(tw_request_parser_started(o.parser));
		tw_request_parser_free(o.parser);
	}
}

static void nothing_of_a_request_is_left_for_the_next(void **state)
{
	static const char full[] =
		"{\"metrics\":[\"a\"],\"values\":[[1]],\"output_type\":\"DynPower\","
		"\"source\":\"acpi\",\"filter\":\"mae:1\",\"trainer_name\":\"T\","
		"\"system_features\":[\"cpu_frequency\"],\"system_values\":[\"7\"]}";
	static const char least[] = "{\"metrics\":[\"b\",\"c\"],\"values\":[[2,3]],"
				    "\"output_type\":\"AbsPower\"}";
	const struct tw_request *r;
	struct outcome o;

	(void)state;
	r = take(&o, full, 9);
	assert_string_equal(r->filter, "mae:1");
	assert_int_equal(r->metrics.count, 2);
	tw_request_parser_reset(o.parser);
	assert_int_equal(tw_request_parser_feed(o.parser, least, strlen(least), &o.used,
						&o.done, &o.err),
			 0);
	assert_true(o.done);
	r = tw_request_parser_request(o.parser);
	assert_null(r->filter);
	assert_int_equal(r->output, TW_ABS_POWER);
	assert_int_equal(r->metrics.count, 2);
	assert_string_equal(r->metrics.at[0], "b");
	assert_string_equal(r->metrics.at[1], "c");
	tw_request_parser_free(o.parser);
}

static void refuse(const char *text, size_t len, enum tw_code code, const char *why)
{
	struct outcome o;

	feed(&o, text, len, 7);
	assert_int_equal(o.rc, -1);
	if (strstr(o.err.text, why) == NULL)
		fail_msg("'%s' is not in '%s'", why, o.err.text);
	assert_int_equal(o.err.code, code);
	tw_request_parser_free(o.parser);
}

#define REFUSE(text, code, why) refuse(text, sizeof(text) - 1, code, why)
#define OUTPUT "\"output_type\":\"AbsPower\""

static void errors_of_invalid_requests_name_the_place(void **state)
{
	(void)state;
	REFUSE("[]", TW_PARSE, "request: expected an object, got an array");
	REFUSE("17 ", TW_PARSE, "request: expected an object, got a number");
	REFUSE("{]", TW_PARSE, "byte 1: expected a key or '}'");
	REFUSE("{}", TW_INVALID, "metrics: missing or empty");
	REFUSE("{\"metrics\":\"a\"}", TW_PARSE,
	       "metrics: expected an array, got a string");
	REFUSE("{\"metrics\":[\"a\",5]}", TW_PARSE,
	       "metrics[1]: expected a string, got a number");
	REFUSE("{\"metrics\":[\"a\",\"\"]}", TW_INVALID, "metrics[1]: 0 bytes");
	REFUSE("{\"metrics\":[\"a\\u0000b\"]}", TW_INVALID,
	       "metrics[0]: text contains a NUL byte");
	REFUSE("{\"metrics\":[\"a\"]," OUTPUT "}", TW_INVALID,
	       "values: missing or without rows");
	REFUSE("{\"metrics\":[\"a\"],\"values\":[]," OUTPUT "}", TW_INVALID,
	       "values: missing or without rows");
	REFUSE("{\"values\":null}", TW_PARSE, "values: expected an array, got null");
	REFUSE("{\"values\":[[1],2]}", TW_PARSE,
	       "values[1]: expected an array, got a number");
	REFUSE("{\"values\":[[1,2],[3,4],[5,6],[7,8,\"x\"]]}", TW_PARSE,
	       "values[3][2]: expected a number, got a string");
	REFUSE("{\"values\":[[1,[2]]]}", TW_PARSE,
	       "values[0][1]: expected a number, got an array");
	REFUSE("{\"values\":[[1,2],[3]]}", TW_INVALID,
	       "values[1]: 1 values, values[0] has 2");
	REFUSE("{\"values\":[[1,2]],\"metrics\":[\"a\"]," OUTPUT "}", TW_INVALID,
	       "values[0]: 2 values for 1 metrics");
	REFUSE("{\"values\":[[NaN]]}", TW_PARSE, "byte 12: expected");
	REFUSE("{\"values\":[[1e999]]}", TW_PARSE, "byte 12: not a number, or too large");
	REFUSE("{\"values\":[[1]],\"metrics\":[\"a\"]}", TW_INVALID,
	       "output_type: missing");
	REFUSE("{\"values\":[[1]],\"metrics\":[\"a\"],\"output_type\":\"Power\"}",
	       TW_INVALID, "output_type: 'Power' is not known");
	REFUSE("{\"output_type\":1}", TW_PARSE,
	       "output_type: expected a string, got a number");
	REFUSE("{\"values\":[[1]],\"metrics\":[\"a\"]," OUTPUT ",\"source\":\"a/b\"}",
	       TW_INVALID, "source: energy source 'a/b': want 1 to 63 letters");
	REFUSE("{\"values\":[[1]],\"values\":[[1]]}", TW_INVALID, "values: given twice");
	REFUSE("{\"metrics\":[\"a\"],\"values\":[[1]]," OUTPUT
	       ",\"system_features\":[\"b\"]}",
	       TW_INVALID, "system_values: 0 for 1 system_features");
	REFUSE("{\"system_values\":[{}]}", TW_PARSE,
	       "system_values[0]: expected a number or a string, got an object");
	REFUSE("{\"a\":\"\xff\"}", TW_PARSE, "byte 6");
	REFUSE("{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
	       "[",
	       TW_PARSE, "nested deeper than 32");
}

static void requests_beyond_a_limit_are_refused(void **state)
{
	struct tw_buf b = { 0 };

	(void)state;
	tw_buf_adds(&b, "{\"values\":[[1]");
	for (size_t i = 0; i < TW_REQUEST_ROWS_MAX; i++)
		tw_buf_adds(&b, ",[1]");
	refuse(b.data, b.len, TW_INVALID, "values: more than 100000 rows");
	tw_buf_clear(&b);

	tw_buf_adds(&b, "{\"values\":[[1");
	for (size_t i = 0; i < TW_REQUEST_METRICS_MAX; i++)
		tw_buf_adds(&b, ",1");
	tw_buf_adds(&b, "]");
	refuse(b.data, b.len, TW_INVALID, "values[0]: more than 256 values");
	tw_buf_clear(&b);

	tw_buf_adds(&b, "{\"metrics\":[\"x\"");
	for (size_t i = 0; i < TW_REQUEST_METRICS_MAX; i++)
		tw_buf_addf(&b, ",\"m%zu\"", i);
	refuse(b.data, b.len, TW_INVALID, "metrics: more than 256");
	tw_buf_clear(&b);

	tw_buf_adds(&b, "{\"metrics\":[\"");
	for (size_t i = 0; i <= TW_FEATURE_NAME_MAX; i++)
		tw_buf_adds(&b, "m");
	tw_buf_adds(&b, "\"]");
	refuse(b.data, b.len, TW_INVALID, "metrics[0]: ");
	tw_buf_clear(&b);

	tw_buf_adds(&b, "{\"a\":[");
	while (b.len <= TW_REQUEST_BYTES_MAX)
		tw_buf_adds(&b,
			    "                                                      1,");
	refuse(b.data, b.len, TW_INVALID, "longer than 16777216 bytes");
	tw_buf_clear(&b);
}

static void a_request_as_long_as_the_limit_is_taken(void **state)
{
	struct tw_buf b = { 0 };
	struct outcome o;

	(void)state;
	tw_buf_adds(&b,
		    "{\"metrics\":[\"a\"],\"values\":[[1]],\"output_type\":\"AbsPower\"");
	while (b.len < TW_REQUEST_BYTES_MAX - 1)
		tw_buf_add(&b, " ", 1);
	tw_buf_adds(&b, "}");
	feed(&o, b.data, b.len, 65536);
	assert_int_equal(o.rc, 0);
	assert_true(o.done);
	tw_request_parser_free(o.parser);
	tw_buf_clear(&b);
}

static void running_out_of_memory_is_reported(void **state)
{
	(void)state;
	for (int n = 1;; n++) {
		struct tw_request_parser *p = NULL;
		struct tw_err err = { 0 };
		size_t used;
		bool done = false;
		int rc;

		fail_alloc_at(n);
		rc = tw_request_parser_new(&p, &err);
		if (rc == 0)
			rc = tw_request_parser_feed(p, kepler, sizeof(kepler) - 1, &used,
						    &done, &err);
		tw_request_parser_free(p);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(done);
			break;
		}
	}
}

static void invalid_series_are_refused(void **state)
{
	(void)state;
	REFUSE(ROWS("[1],[2]", ",\"series\":\"x\""), TW_INVALID,
	       "time_ms: missing, but series is given");
	REFUSE(ROWS("[1],[2]", ",\"series\":\"x\",\"time_ms\":5"), TW_INVALID,
	       "time_ms: 1 for 2 rows of a series");
	REFUSE(ROWS("[1],[2]", ",\"time_ms\":5"), TW_INVALID,
	       "time_ms: 1 for 2 rows of a series");
	REFUSE(ROWS("[1],[2]", ",\"time_ms\":[5,5]"), TW_INVALID,
	       "time_ms[1]: not after the time before it");
	REFUSE(ROWS("[1],[2]", ",\"time_ms\":[5,6,7]"), TW_INVALID,
	       "time_ms: 3 for 2 rows");
	REFUSE(ROWS("[1],[2]", ",\"time_ms\":5,\"series\":[\"a\",\"b\",\"c\"]"),
	       TW_INVALID, "series: 3 for 2 rows");
	REFUSE(ROWS("[1]", ",\"time_ms\":[-1]"), TW_INVALID,
	       "time_ms[0]: -1 is not an integer number of ms");
	REFUSE(ROWS("[1]", ",\"time_ms\":[0.5]"), TW_INVALID,
	       "time_ms[0]: 0.5 is not an integer number of ms");
	REFUSE(ROWS("[1]", ",\"time_ms\":1e300"), TW_INVALID,
	       "time_ms[0]: 1e+300 is not an integer number of ms");
	REFUSE(ROWS("[1]", ",\"time_ms\":\"5\""), TW_PARSE,
	       "time_ms[0]: expected a number, got a string");
	REFUSE(ROWS("[1]", ",\"time_ms\":[[5]]"), TW_PARSE,
	       "time_ms[0]: expected a number, got an array");
	REFUSE(ROWS("[1]", ",\"series\":5"), TW_PARSE,
	       "series[0]: expected a string, got a number");
	REFUSE(ROWS("[1]", ",\"series\":[\"\"]"), TW_INVALID,
	       "series[0]: 0 bytes, expected 1 to 256");
	REFUSE(ROWS("[1]", ",\"series\":{\"a\":1}"), TW_PARSE,
	       "series[0]: expected a string, got an object");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_old_output_type_has_its_form_of_answer),
		cmocka_unit_test(a_request_of_kepler_is_parsed_from_pieces_of_any_size),
		cmocka_unit_test(old_feature_names_become_current_names),
		cmocka_unit_test(a_list_of_reference_cycles_proves_no_counters),
		cmocka_unit_test(keys_come_in_any_order_and_unknown_keys_are_skipped),
		cmocka_unit_test(a_request_of_version_2_may_name_components),
		cmocka_unit_test(unknown_versions_and_components_are_refused),
		cmocka_unit_test(numeric_system_features_become_columns),
		cmocka_unit_test(system_features_are_appended_to_every_row),
		cmocka_unit_test(system_features_are_categories_too),
		cmocka_unit_test(series_and_times_have_one_entry_or_one_for_each_row),
		cmocka_unit_test(version_1_ignores_series),
		cmocka_unit_test(invalid_series_are_refused),
		cmocka_unit_test(a_request_ends_where_its_json_ends),
		cmocka_unit_test(nothing_of_a_request_is_left_for_the_next),
		cmocka_unit_test(errors_of_invalid_requests_name_the_place),
		cmocka_unit_test(requests_beyond_a_limit_are_refused),
		cmocka_unit_test(a_request_as_long_as_the_limit_is_taken),
		cmocka_unit_test(running_out_of_memory_is_reported),
	};

	return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
