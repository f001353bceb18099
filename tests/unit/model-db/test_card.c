/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Model cards, the rows of a validation, and plots of them.
 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "model-db/report/card.h"
#include "model-db/report/plot.h"
#include "model-db/report/svg.h"
#include "model-db/validation.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sample_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char metadata[] =
	"{\"package_mae\":1.25,\"package_mape\":4.5,\"package_mape_left_out\":0.25,"
	"\"package_r2\":null,\"validation_folds\":5,\"package_workload_mae\":2.5,"
	"\"package_interval_coverage\":0.951,\"package_interval_coverage_folds\":[0.97,0."
	"9,"
	"0.96],\"package_interval_score\":20.5,\"package_interval_score_constant\":30,"
	"\"package_expected_error_auc\":null,"
	"\"workload_folds\":3,\"data_rows\":40,\"data_origin\":\"a|b<c>.json\"}";

static void make_model(struct tw_model *m)
{
	sample_model(&(struct sample){ .metadata = metadata, .mae_w = 2.5 }, m);
}

static char *make_markdown(const struct tw_model *m)
{
	struct tw_card_plot plot = { .title = "Power curve", .href = strdup("p.svg") };
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_card_markdown(m, &plot, 1, &b, &err), 0);
	free(plot.href);
	return tw_buf_detach(&b, NULL);
}

static void assert_has(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' is not in:\n%s", part, text);
}

static void a_card_lists_each_component_by_each_scheme(void **state)
{
	struct tw_model m = { 0 };
	char *card;

	(void)state;
	make_model(&m);
	card = make_markdown(&m);
	assert_has(card, "# SGDRegressorTrainer_0\n");
	assert_has(card, "MAE 2.50 W");
	assert_has(card, "### Blocks of time\n\n5 parts,");
	assert_has(card, "| package | 1.25 | - | - | - | - | - | 4.5 | - | 25.0 |\n");
	assert_has(card, "## Intervals of 95 %\n");
	assert_has(card, "| package | 95.1 | 90.0 | 20.50 | 30.00 | - |\n"
			 "| dram | - | - | - | - | - |\n");
	assert_has(card, "### One workload left out\n\n3 parts,");
	assert_has(card, "| package | 2.50 |");
	assert_null(strstr(card, "Shuffled"));
	assert_has(card, "![Power curve](p.svg)");
	free(card);
	tw_model_release(&m);
}

static void text_of_a_model_is_escaped_in_markdown(void **state)
{
	struct tw_model m = { 0 };
	char *card;

	(void)state;
	make_model(&m);
	card = make_markdown(&m);
	assert_has(card, "| from | a\\|b\\<c\\>.json |");
	free(card);
	tw_model_release(&m);
}

static void a_card_has_the_quality_of_each_recording(void **state)
{
	static const char with_quality[] =
		"{\"package_mae\":1.25,\"data_rows\":40,\"data_quality\":[{\"span_s\":"
		"120,"
		"\"cpu_time_rows_s\":66,\"cpu_time_node_s\":100,\"energy_rows_j\":5,"
		"\"energy_meter_j\":null,\"warnings\":[\"never | rested\",7]},3]}";
	struct tw_model m = { 0 };
	char *card;

	(void)state;
	sample_model(&(struct sample){ .metadata = with_quality, .mae_w = 2.5 }, &m);
	card = make_markdown(&m);
	assert_has(card, "### Data quality\n\n| | |\n|---|---|\n| span (s) | 120 |\n");
	assert_has(card, "| CPU time of the rows (% of the node's) | 66.0 |");
	assert_null(strstr(card, "energy of the rows"));
	assert_has(card, "* never \\| rested\n");
	free(card);
	tw_model_release(&m);
}

static json_t *read_json_card(const struct tw_model *m)
{
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	json_t *card = NULL;

	tw_card_json(m, &b);
	assert_false(tw_buf_failed(&b));
	assert_int_equal(tw_json_parse(b.data, b.len, "card", &card, &err), 0);
	tw_buf_clear(&b);
	return card;
}

static void a_card_as_json_has_all_fields_of_the_model(void **state)
{
	const json_t *package, *errors;
	struct tw_model m = { 0 };
	json_t *card;

	(void)state;
	make_model(&m);
	card = read_json_card(&m);
	assert_non_null(card);
	assert_string_equal(json_string_value(json_object_get(card, "energy_source")),
			    "rapl-sysfs");
	package = json_object_get(json_object_get(card, "components"), "package");
	errors = json_object_get(package, "errors");
	assert_true(json_real_value(json_object_get(json_object_get(errors, "blocked"),
						    "mae")) == 1.25);
	assert_true(json_real_value(json_object_get(json_object_get(errors, "workload"),
						    "mae")) == 2.5);
	assert_null(json_object_get(errors, "shuffled"));
	assert_int_equal(json_array_size(json_object_get(package, "features")), 3);
	json_decref(card);
	tw_model_release(&m);
}

/* ---- the validation ---- */

static void make_rows(struct tw_dataset *d, size_t rows)
{
	double *fold, *load, *measured, *predicted;
	struct tw_err err = { 0 };

	assert_int_equal(tw_dataset_init(d, rows, false, &err), 0);
	assert_int_equal(tw_dataset_add(d, "fold", &fold, &err), 0);
	assert_int_equal(tw_dataset_add(d, "cpu_cycles", &load, &err), 0);
	assert_int_equal(tw_dataset_add(d, "package_power", &measured, &err), 0);
	assert_int_equal(tw_dataset_add(d, "package_predicted", &predicted, &err), 0);
	for (size_t r = 0; r < rows; r++) {
		d->time_ms[r] = 1700000000000 + 3000 * (int64_t)r;
		fold[r] = (double)(5 * r / rows);
		load[r] = 1e9 + 123456789.0 * (double)r;
		measured[r] = 20.00049 + (double)r;
		predicted[r] = 21 + (double)r;
	}
}

static void write_rows(size_t rows, struct tw_buf *out)
{
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	make_rows(&d, rows);
	assert_int_equal(tw_validation_write(&d, out, &err), 0);
	assert_false(tw_buf_failed(out));
	tw_dataset_release(&d);
}

static void rows_beyond_the_limit_are_thinned_evenly(void **state)
{
	static const size_t rows[] = { 3, 400, 401, 5000 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct tw_dataset d = { 0 };
		struct tw_buf b = { 0 };
		struct tw_err err = { 0 };

		write_rows(rows[i], &b);
		if (tw_validation_read(b.data, b.len, &d, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(d.rows, rows[i] < 400 ? rows[i] : 400);
		assert_int_equal(d.time_ms[0], 1700000000000);
		assert_true(tw_dataset_find(&d, "package_power")[0] == 20.0);
		assert_true(d.time_ms[d.rows - 1] >=
			    1700000000000 + 3000 * (int64_t)(rows[i] * 99 / 100 - 1));
		assert_string_equal(tw_validation_load_of(&d, TW_PACKAGE)->name,
				    "cpu_cycles");
		tw_dataset_release(&d);
		tw_buf_clear(&b);
	}
}

static void csv_without_validation_columns_is_refused(void **state)
{
	static const char half[] = "timestamp,package_power\n1,2\n";
	struct tw_err no_pair = { 0 }, no_csv = { 0 }, absent = { 0 };
	struct tw_dataset d = { 0 };

	(void)state;
	assert_int_equal(tw_validation_read(half, strlen(half), &d, &no_pair), -1);
	assert_string_equal(no_pair.text, "no component has both power and prediction");
	assert_int_equal(tw_validation_read("x", 1, &d, &no_csv), -1);
	assert_int_equal(tw_validation_load("/nonexistent/m_0.zip", &d, &absent), -1);
	assert_int_equal(absent.code, TW_NOTFOUND);
	assert_has(absent.text, "/nonexistent/m_0.validation.csv");
	assert_int_equal(d.cols, 0);
}

/* ---- plots ---- */

static void each_plot_is_one_small_picture(void **state)
{
	struct tw_dataset d = { 0 };

	(void)state;
	make_rows(&d, 300);
	for (size_t i = 0; i < tw_plot_count(); i++) {
		const struct tw_plot *p = tw_plot_at(i);
		struct tw_buf b = { 0 }, again = { 0 };
		struct tw_err err = { 0 };

		assert_ptr_equal(tw_plot_find(p->name), p);
		assert_int_equal(tw_plot_draw(p, &d, TW_PACKAGE, "A<b>_0", &b, &err), 0);
		assert_int_equal(tw_plot_draw(p, &d, TW_PACKAGE, "A<b>_0", &again, &err),
				 0);
		assert_string_equal(b.data, again.data);
		assert_true(b.len < 12000);
		assert_memory_equal(b.data, "<svg ", 5);
		assert_string_equal(b.data + b.len - 7, "</svg>\n");
		assert_has(b.data, "package, A&lt;b&gt;_0");
		assert_null(strstr(b.data, "nan"));
		assert_null(strstr(b.data, "inf"));
		assert_int_equal(tw_plot_draw(p, &d, TW_DRAM, "m", &again, &err), -1);
		assert_int_equal(err.code, TW_NOTFOUND);
		tw_buf_clear(&b);
		tw_buf_clear(&again);
	}
	assert_null(tw_plot_find("nope"));
	tw_dataset_release(&d);
}

/* 0 to 10 on an axis of 555 pixels from 70 on: 5 is at 347.5. */
static void a_dot_has_the_coordinates_of_its_value(void **state)
{
	static const double x[] = { 0, 5, 10, NAN }, y[] = { 0, 50, 100, 1 };
	const struct tw_svg_series s = { "s", "#000", false, x, y, 4 };
	struct tw_buf b = { 0 };

	(void)state;
	tw_svg_chart(&(struct tw_svg_chart){ .title = "t",
					     .x_label = "x",
					     .y_label = "y",
					     .series = &s,
					     .count = 1 },
		     &b);
	assert_has(b.data, "M70 345h0M347.5 197.5h0M625 50h0\"");
	assert_has(b.data, ">100</text>");
	tw_buf_clear(&b);
}

/* One value, none, huge ones, negative ones: always a picture with numbers in it. */
static void constant_and_undefined_values_are_drawn(void **state)
{
	static const double odd[][2] = { { 0, 0 },           { 5, 5 },
					 { -1e300, 1e300 },  { -3, -2 },
					 { 1e-300, 2e-300 }, { NAN, NAN },
					 { 1e9, 1e9 + 1 } };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(odd); i++) {
		const struct tw_svg_series s = { "s", "#000", true, odd[i], odd[i], 2 };
		struct tw_buf b = { 0 };

		tw_svg_chart(&(struct tw_svg_chart){ .title = "t",
						     .x_label = "x",
						     .y_label = "y",
						     .series = &s,
						     .count = 1,
						     .zero_y = true },
			     &b);
		assert_false(tw_buf_failed(&b));
		assert_null(strstr(b.data, "nan"));
		assert_null(strstr(b.data, "inf"));
		assert_true(b.len < 8000);
		tw_buf_clear(&b);
	}
}

static void every_failed_allocation_is_reported(void **state)
{
	struct tw_dataset d = { 0 };
	struct tw_model m = { 0 };

	(void)state;
	make_model(&m);
	make_rows(&d, 20);
	for (int n = 1;; n++) {
		struct tw_buf card = { 0 }, rows = { 0 }, plot = { 0 };
		struct tw_err err = { 0 };
		json_t *json;
		bool ok;

		fail_alloc_at(n);
		ok = tw_card_markdown(&m, NULL, 0, &card, &err) == 0;
		ok = ok && tw_validation_write(&d, &rows, &err) == 0 &&
		     !tw_buf_failed(&rows);
		ok = ok &&
		     tw_plot_draw(tw_plot_find("time"), &d, TW_PACKAGE, "m", &plot,
				  &err) == 0 &&
		     !tw_buf_failed(&plot);
		tw_buf_clear(&card);
		tw_buf_clear(&rows);
		tw_buf_clear(&plot);
		if (!fail_alloc_hit()) {
			assert_true(ok && n > 20);
			break;
		}
		assert_false(ok);
		json = read_json_card(&m);
		assert_non_null(json);
		json_decref(json);
	}
	tw_dataset_release(&d);
	tw_model_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_card_lists_each_component_by_each_scheme),
		cmocka_unit_test(text_of_a_model_is_escaped_in_markdown),
		cmocka_unit_test(a_card_has_the_quality_of_each_recording),
		cmocka_unit_test(a_card_as_json_has_all_fields_of_the_model),
		cmocka_unit_test(rows_beyond_the_limit_are_thinned_evenly),
		cmocka_unit_test(csv_without_validation_columns_is_refused),
		cmocka_unit_test(each_plot_is_one_small_picture),
		cmocka_unit_test(a_dot_has_the_coordinates_of_its_value),
		cmocka_unit_test(constant_and_undefined_values_are_drawn),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("card", tests, NULL, NULL);
}
