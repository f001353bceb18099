/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/client/http.h"
#include "lib/http/server/httpd.h"
#include "model-db/pipeline.h"
#include "tests/unit/running_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE "/api/v1/models/one/rapl-sysfs/AbsPower/CounterOnly/SGDRegressorTrainer_0"
#define JSON "application/json"
#define PROBLEM "application/problem+json"

static void the_api_lists_pipelines_node_types_and_models(void **state)
{
	(void)state;
	running_answers("/api/v1/pipelines", NULL, 200,
			"{\"pipelines\":[{\"name\":\"one\",\"models\":5,\"node_types\":2,"
			"\"sources\":{\"acpi\":{\"AbsPower\":1,\"DynPower\":0},"
			"\"rapl-sysfs\":{\"AbsPower\":3,\"DynPower\":1}},"
			"\"url\":\"/api/v1/pipelines/one\"}],\"total\":1,\"next\":null}");
	running_shows("/api/v1/pipelines/one", 200, JSON, "\"metadata\":{");
	running_answers(
		"/api/v1/node-types", NULL, 200,
		"{\"node_types\":[{\"pipeline\":\"one\",\"node_type\":0,\"attrs\":{},"
		"\"members\":1},{\"pipeline\":\"one\",\"node_type\":3,\"attrs\":{},"
		"\"members\":1}],\"total\":2,\"next\":null}");
	running_answers("/api/v1/node-types?pipeline=two", NULL, 200,
			"{\"node_types\":[],\"total\":0,\"next\":null}");
	running_shows("/api/v1/models", 200, JSON, "\"total\":5,\"next\":null}");
	running_shows("/api/v1/models?limit=2", 200, JSON, "\"total\":5,\"next\":2}");
	running_shows("/api/v1/models?limit=2&offset=4", 200, JSON,
		      "\"total\":5,\"next\":null}");
	running_shows("/api/v1/models?offset=9", 200, JSON,
		      "{\"models\":[],\"total\":5,\"next\":null}");
	running_shows("/api/v1/models?energy-source=acpi", 200, JSON, "\"total\":1,");
	running_shows("/api/v1/models?trainer=XgboostFitTrainer&pipeline=one", 200, JSON,
		      "\"model_name\":\"XgboostFitTrainer_0\"");
	running_shows("/api/v1/models?filter=mae:3&output-type=AbsPower&node-type=0", 200,
		      JSON, "\"total\":2,");
	running_shows("/api/v1/models?limit=0", 400, PROBLEM, "limit: '0'");
	running_shows("/api/v1/models?offset=x", 400, PROBLEM, "offset: 'x'");
	running_shows("/api/v1/models?feature-group=x", 400, PROBLEM,
		      "no feature group is called");
}

static void the_api_shows_all_fields_of_a_model(void **state)
{
	(void)state;
	running_shows(PLACE, 200, JSON, "\"metadata\":{\"format_version\":1,");
	running_shows(PLACE, 200, JSON, "\"url\":\"" PLACE "\"");
	running_shows(PLACE "/weights", 200, JSON, "\"package\":{\"All_Weights\"");
	running_shows(PLACE "/card", 200, "text/markdown", "# SGDRegressorTrainer_0");
	running_shows("/api/v1/pipelines/two", 404, PROBLEM,
		      "no pipeline is called 'two'");
	running_shows("/api/v1/models/two/acpi/AbsPower/BPFOnly/x_0", 404, PROBLEM,
		      "no pipeline is called 'two'");
	running_shows("/api/v1/models/one/sun/AbsPower/BPFOnly/x_0", 404, PROBLEM,
		      "no energy source is called 'sun'");
	running_shows("/api/v1/models/one/acpi/Power/BPFOnly/x_0", 404, PROBLEM,
		      "'Power' is neither AbsPower nor DynPower");
	running_shows("/api/v1/models/one/acpi/AbsPower/BPF/x_0/card", 404, PROBLEM,
		      "no feature group is called 'BPF'");
	running_shows("/api/v1/models/one/acpi/AbsPower/BPFOnly/x_0/zip", 404, PROBLEM,
		      "no model of that place is called 'x_0'");
	running_shows("/api/v1/models/one", 404, PROBLEM, "no such path");
	running_shows("/api/v1/models/one/acpi/AbsPower//x_0", 404, PROBLEM,
		      "no such path");
}

/* NULL: away with it. */
static void put_rows(const char *text)
{
	struct tw_err err = { 0 };
	char *path;

	assert_int_equal(tw_path_join(&path, &err, running.db,
				      "one/rapl-sysfs/AbsPower/CounterOnly",
				      "SGDRegressorTrainer_0" TW_PIPELINE_VALIDATION,
				      NULL),
			 0);
	if (text == NULL)
		assert_int_equal(remove(path), 0);
	else
		assert_int_equal(tw_file_replace(path, text, strlen(text), &err), 0);
	free(path);
}

#define ROWS                                                                             \
	"timestamp,fold,cpu_cycles,package_power,package_predicted,dram_power,dram_pred" \
	"icted\n"                                                                        \
	"1000,0,1,100,101,0,0\n4000,0,2,110,108,0,0\n7000,1,3,120,120,0,0\n"
#define PLOT PLACE "/plots/package/"

static void a_curve_is_of_the_training_range(void **state)
{
	(void)state;
	running_shows(PLACE "/curve", 200, JSON, "{\"load\":[0,0.03125,");
	running_shows(PLACE "/curve", 200, JSON,
		      "\"components\":{\"package\":{\"watts\":[");
	running_shows("/api/v1/models/one/rapl-sysfs/AbsPower/CounterOnly/None_0/curve",
		      404, PROBLEM, "no model of that place is called 'None_0'");
}

static void plots_are_drawn_from_the_rows_of_the_validation(void **state)
{
	static const char svg[] = "image/svg+xml";

	(void)state;
	running_answers(PLACE "/plots", NULL, 200, "{\"plots\":[],\"total\":0}");
	running_shows(
		PLOT "time", 404, PROBLEM,
		"model 'SGDRegressorTrainer_0' of pipeline 'one' has no rows of its "
		"validation, and so no plots");
	put_rows(ROWS);
	running_shows(PLACE "/plots", 200, JSON,
		      "{\"plots\":[{\"component\":\"package\",\"plot\":\"power-curve\","
		      "\"title\":"
		      "\"Power curve\",\"url\":\"" PLOT "power-curve\"},");
	running_shows(PLACE "/plots", 200, JSON, "\"total\":3}");
	running_shows(PLOT "power-curve", 200, svg,
		      "Power curve: package, SGDRegressorTrainer_0");
	running_shows(PLOT "residuals", 200, svg, "predicted less measured");
	running_shows(PLOT "time", 200, svg, "<svg");
	running_shows(PLACE "/plots/dram/time", 200, svg, "dram");
	running_shows(PLACE "/plots/core/time", 404, PROBLEM,
		      "the validation has no core");
	running_shows(PLACE "/plots/sun/time", 404, PROBLEM,
		      "no component is called 'sun'");
	running_shows(PLOT "pie", 404, PROBLEM, "no plot is called 'pie'");
	running_shows(PLACE "/card", 200, "text/markdown", "(plots/package/power-curve)");
}

static void a_plot_that_the_client_has_is_not_sent_again(void **state)
{
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };
	char url[256], etag[TW_HTTP_ETAG_MAX];
	struct tw_http_call c = { .url = url };

	(void)state;
	snprintf(url, sizeof(url), "http://%s" PLOT "time",
		 tw_httpd_address(running.httpd));
	assert_int_equal(tw_http_call(&c, &a, &err), 0);
	assert_true(a.etag[0] != 0);
	snprintf(etag, sizeof(etag), "%s", a.etag);
	assert_memory_equal(etag, "W/\"", 3);
	tw_http_answer_release(&a);
	c.etag = etag;
	assert_int_equal(tw_http_call(&c, &a, &err), 0);
	assert_int_equal(a.status, 304);
	assert_string_equal(a.etag, etag);
	tw_http_answer_release(&a);
	put_rows(ROWS "10000,1,4,130,131,0,0\n");
	assert_int_equal(tw_http_call(&c, &a, &err), 0);
	assert_int_equal(a.status, 200);
	tw_http_answer_release(&a);
}

static void a_list_that_the_client_has_is_not_sent_again(void **state)
{
	static const char *const paths[] = { "/api/v1/models", "/api/v1/pipelines",
					     "/best-models" };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(paths); i++) {
		struct tw_http_answer a = { 0 };
		struct tw_err err = { 0 };
		char url[256], etag[TW_HTTP_ETAG_MAX];
		struct tw_http_call c = { .url = url };

		snprintf(url, sizeof(url), "http://%s%s", tw_httpd_address(running.httpd),
			 paths[i]);
		assert_int_equal(tw_http_call(&c, &a, &err), 0);
		snprintf(etag, sizeof(etag), "%s", a.etag);
		tw_http_answer_release(&a);
		c.etag = etag;
		assert_int_equal(tw_http_call(&c, &a, &err), 0);
		assert_int_equal(a.status, 304);
		tw_http_answer_release(&a);
		c.etag = "W/\"0\"";
		assert_int_equal(tw_http_call(&c, &a, &err), 0);
		assert_int_equal(a.status, 200);
		tw_http_answer_release(&a);
	}
}

static void rows_that_are_broken_are_no_fault_of_the_model(void **state)
{
	(void)state;
	put_rows("timestamp,fold\n1000,x\n");
	running_shows(PLACE "/plots", 500, PROBLEM,
		      "the rows of the validation of model");
	running_shows(
		PLOT "time", 500, PROBLEM,
		"the rows of the validation of model 'SGDRegressorTrainer_0' of pipeline "
		"'one' cannot be read");
	running_shows(PLACE "/card", 200, "text/markdown", "# SGDRegressorTrainer_0");
	running_shows(PLACE "/weights", 200, JSON, "\"package\":{\"All_Weights\"");
	put_rows(NULL);
}

static void a_model_that_is_broken_is_no_more_shown(void **state)
{
	struct tw_err err = { 0 };
	char *path;

	(void)state;
	assert_int_equal(tw_path_join(&path, &err, running.db,
				      "one/rapl-sysfs/AbsPower/CounterOnly",
				      "SGDRegressorTrainer_0.zip", NULL),
			 0);
	assert_int_equal(remove(path), 0);
	running_shows(PLACE, 500, PROBLEM,
		      "model 'SGDRegressorTrainer_0' of pipeline 'one' cannot be read");
	free(path);
	running_publish();
	running_load();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_api_lists_pipelines_node_types_and_models),
		cmocka_unit_test(the_api_shows_all_fields_of_a_model),
		cmocka_unit_test(a_curve_is_of_the_training_range),
		cmocka_unit_test(plots_are_drawn_from_the_rows_of_the_validation),
		cmocka_unit_test(a_plot_that_the_client_has_is_not_sent_again),
		cmocka_unit_test(a_list_that_the_client_has_is_not_sent_again),
		cmocka_unit_test(rows_that_are_broken_are_no_fault_of_the_model),
		cmocka_unit_test(a_model_that_is_broken_is_no_more_shown),
	};

	return cmocka_run_group_tests_name("API", tests, running_start_loaded,
					   running_stop);
}
