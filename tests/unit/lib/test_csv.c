/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/csv.h"
#include "lib/field/dataset.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/read_csv.h"

#include <string.h>

static void refuse(const char *text, enum tw_code code, const char *want)
{
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_csv_read(text, strlen(text), &d, &err), -1);
	assert_string_equal(err.text, want);
	assert_int_equal(err.code, code);
	assert_int_equal(d.rows, 0);
	assert_null(d.time_ms);
}

static void columns_are_read_by_name(void **state)
{
	struct tw_dataset d = { 0 };

	(void)state;
	read_csv("timestamp,cpu_cycles,package_power\n10,1.5e3,2\n13.5,-0.25,0\n", &d);
	assert_int_equal(d.rows, 2);
	assert_int_equal(d.cols, 2);
	assert_null(d.id);
	assert_int_equal(d.time_ms[1], 13500);
	assert_true(tw_dataset_find(&d, "cpu_cycles")[0] == 1500);
	assert_true(tw_dataset_find(&d, "cpu_cycles")[1] == -0.25);
	tw_dataset_release(&d);
}

static void a_mark_semicolons_and_decimal_commas_are_read(void **state)
{
	struct tw_dataset d = { 0 };

	(void)state;
	read_csv("\xef\xbb\xbftimestamp;id;x\r\n10;a,b;1,5\r\n13,5;\"c;d\";-2,5e3\r\n",
		 &d);
	assert_int_equal(d.rows, 2);
	assert_int_equal(d.time_ms[1], 13500);
	assert_string_equal(d.ids.at[0], "a,b");
	assert_string_equal(d.ids.at[1], "c;d");
	assert_true(tw_dataset_find(&d, "x")[0] == 1.5);
	assert_true(tw_dataset_find(&d, "x")[1] == -2500);
	tw_dataset_release(&d);
	refuse("timestamp;x\n1;1.234,5\n", TW_PARSE,
	       "line 2, column 'x': '1.234,5' is not a number");
	refuse("\xef\xbb\xbf", TW_PARSE, "line 1: no header");
}

static void rows_are_sorted_by_time_and_id(void **state)
{
	struct tw_dataset d = { 0 };
	const double *v;

	(void)state;
	read_csv("id,x,timestamp\nb,1,20\nc,2,10\na,3,20\n", &d);
	v = tw_dataset_find(&d, "x");
	assert_true(v[0] == 2 && v[1] == 3 && v[2] == 1);
	assert_string_equal(d.ids.at[d.id[0]], "c");
	assert_string_equal(d.ids.at[d.id[1]], "a");
	assert_string_equal(d.ids.at[0], "a");
	assert_int_equal(d.ids.count, 3);
	tw_dataset_release(&d);
}

static void an_index_without_a_name_is_skipped(void **state)
{
	struct tw_dataset d = { 0 };

	(void)state;
	read_csv(",timestamp,x\n0,10,1\nany text,11,2\n", &d);
	assert_int_equal(d.cols, 1);
	assert_true(tw_dataset_find(&d, "x")[1] == 2);
	tw_dataset_release(&d);
}

static void old_names_become_canonical_names(void **state)
{
	struct tw_dataset d = { 0 };

	(void)state;
	read_csv("timestamp,bpf_cpu_time_us,cpu_instr,cgroupfs_cpu_usage_us\n1,2,3,4\n",
		 &d);
	assert_true(tw_dataset_find(&d, "bpf_cpu_time_ms")[0] == 2);
	assert_true(tw_dataset_find(&d, "cpu_instructions")[0] == 3);
	assert_true(tw_dataset_find(&d, "cgroupfs_cpu_usage_us")[0] == 4);
	tw_dataset_release(&d);
}

static void quotes_line_ends_and_blank_lines_are_understood(void **state)
{
	struct tw_dataset d = { 0 };

	(void)state;
	read_csv(
		"\r\n\"timestamp\",id,\"a \"\"b\"\"\"\r\n1,\"x,\ny\",2\r\n\r\n\n2,,\"3\"",
		&d);
	assert_int_equal(d.rows, 2);
	assert_string_equal(d.ids.at[d.id[0]], "x,\ny");
	assert_string_equal(d.ids.at[d.id[1]], "");
	assert_true(tw_dataset_find(&d, "a \"b\"")[1] == 3);
	tw_dataset_release(&d);
}

static void a_header_alone_is_an_empty_table(void **state)
{
	struct tw_dataset d = { 0 };

	(void)state;
	read_csv("timestamp,x", &d);
	assert_int_equal(d.rows, 0);
	assert_int_equal(d.cols, 1);
	tw_dataset_release(&d);
}

static void bad_tables_are_rejected_with_line_and_column(void **state)
{
	(void)state;
	refuse("", TW_PARSE, "line 1: no header");
	refuse("a,b\n1,2\n", TW_PARSE, "line 1: no column 'timestamp'");
	refuse("timestamp,\n1,2\n", TW_INVALID, "line 1: column 2 has no name");
	refuse("timestamp,x,x\n", TW_INVALID, "line 1: column 'x' is repeated");
	refuse("timestamp,timestamp\n", TW_INVALID,
	       "line 1: column 'timestamp' is repeated");
	refuse("timestamp,bpf_cpu_time_us,bpf_cpu_time_ms\n", TW_INVALID,
	       "line 1: column 'bpf_cpu_time_ms' is repeated");
	refuse("timestamp,x\n1,2\n\n3\n", TW_PARSE, "line 4: 1 cells, the header has 2");
	refuse("timestamp,x\n1,2,\n", TW_PARSE, "line 2: 3 cells, the header has 2");
	refuse("timestamp,cpu_cycles\n1,2\n2,abc\n", TW_PARSE,
	       "line 3, column 'cpu_cycles': 'abc' is not a number");
	refuse("timestamp,x\n1,nan\n", TW_PARSE,
	       "line 2, column 'x': 'nan' is not a number");
	refuse("timestamp,x\n1,\n", TW_PARSE, "line 2, column 'x': '' is not a number");
	refuse("timestamp,x\n1,1e999\n", TW_PARSE,
	       "line 2, column 'x': '1e999' is not a number");
	refuse("timestamp,x\n2023-12-13,1\n", TW_PARSE,
	       "line 2, column 'timestamp': '2023-12-13' is not a time in seconds");
	refuse("timestamp,x\n-1,1\n", TW_PARSE,
	       "line 2, column 'timestamp': '-1' is not a time in seconds");
	refuse("timestamp,x\n1,\"2\n", TW_PARSE, "line 2: unterminated quote");
	refuse("timestamp,x\n1,\"2\"3\n", TW_PARSE, "line 2: text after a closing quote");
	refuse("timestamp,x\n1,2\"\n", TW_PARSE, "line 2: quote inside an unquoted cell");
	refuse("timestamp,x\n5,1\n4,1\n5,2\n", TW_INVALID,
	       "row 3 repeats row 1: time 5000 ms");
	refuse("timestamp,id,x\n5,a,1\n5,a,1\n", TW_INVALID,
	       "row 2 repeats row 1: time 5000 ms, id a");
}

static void tables_over_the_limits_are_rejected(void **state)
{
	struct tw_buf text = { 0 };

	(void)state;
	tw_buf_adds(&text, "timestamp");
	for (int i = 0; i < TW_CSV_COLS_MAX; i++)
		tw_buf_addf(&text, ",c%d", i);
	refuse(text.data, TW_INVALID, "line 1: more than 1024 columns");
	tw_buf_clear(&text);

	tw_buf_adds(&text, "timestamp\n");
	for (size_t i = 0; i <= TW_CSV_CELL_MAX; i++)
		tw_buf_adds(&text, "1");
	refuse(text.data, TW_INVALID, "line 2: cell of 65537 bytes, limit is 65536");
	tw_buf_clear(&text);
}

static void a_written_table_reads_back(void **state)
{
	static const char text[] = "timestamp,id,x,\"odd, \"\"name\"\"\"\n"
				   "1695361428,a/b,0.1,1e+300\n"
				   "1695361428.25,\"a,b\",-3,5e-324\n";
	struct tw_dataset d = { 0 }, again = { 0 };
	struct tw_buf out = { 0 };

	(void)state;
	read_csv(text, &d);
	tw_csv_write(&d, &out);
	assert_string_equal(out.data, text);
	tw_buf_clear(&out);
	tw_csv_write_rows(&d, 0, 1, &out);
	tw_csv_write_rows(&d, 1, 2, &out);
	assert_string_equal(out.data, text);
	read_csv(out.data, &again);
	for (size_t i = 0; i < d.cols; i++)
		assert_memory_equal(d.col[i].v, again.col[i].v, d.rows * sizeof(double));
	tw_buf_clear(&out);
	tw_dataset_release(&again);
	tw_dataset_release(&d);
}

static void every_failed_allocation_is_reported(void **state)
{
	static const char text[] = "timestamp,id,\"x\"\n1,a,2\n2,b,3\n";

	(void)state;
	for (int n = 1;; n++) {
		struct tw_dataset d = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_csv_read(text, sizeof(text) - 1, &d, &err);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 10);
			tw_dataset_release(&d);
			break;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_read_by_name),
		cmocka_unit_test(a_mark_semicolons_and_decimal_commas_are_read),
		cmocka_unit_test(rows_are_sorted_by_time_and_id),
		cmocka_unit_test(an_index_without_a_name_is_skipped),
		cmocka_unit_test(old_names_become_canonical_names),
		cmocka_unit_test(quotes_line_ends_and_blank_lines_are_understood),
		cmocka_unit_test(a_header_alone_is_an_empty_table),
		cmocka_unit_test(bad_tables_are_rejected_with_line_and_column),
		cmocka_unit_test(tables_over_the_limits_are_rejected),
		cmocka_unit_test(a_written_table_reads_back),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
