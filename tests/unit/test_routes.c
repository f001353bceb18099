/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/err.h"
#include "lib/file.h"
#include "lib/fileset.h"
#include "lib/http.h"
#include "lib/httpd_stats.h"
#include "lib/zip.h"
#include "model-db/index.h"
#include "model-db/pipeline.h"
#include "server/routes.h"
#include "server/service.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* tw-server's routes over a database in a scratch directory. */
static struct tw_service service = TW_SERVICE_EMPTY;
static struct tw_httpd *httpd;
static char *dir, *db;

static void publish(const char *name, const struct sample *samples, size_t count)
{
	struct tw_model *m = calloc(count, sizeof(*m));
	json_t *metadata = json_pack("{s:s}", "name", name);
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };

	assert_true(m != NULL && metadata != NULL);
	for (size_t i = 0; i < count; i++) {
		sample_model(&samples[i], &m[i]);
		assert_int_equal(tw_pipeline_add_model(&files, &m[i], &err), 0);
	}
	assert_int_equal(tw_pipeline_add_summary(&files, metadata, m, count, &err), 0);
	assert_int_equal(tw_pipeline_publish(db, name, &files, &err), 0);
	for (size_t i = 0; i < count; i++)
		tw_model_release(&m[i]);
	free(m);
	json_decref(metadata);
	tw_fileset_clear(&files);
}

static void load(void)
{
	struct tw_index *index;
	struct tw_err err = { 0 };

	assert_int_equal(tw_index_load(db, NULL, NULL, &index, &err), 0);
	tw_models_take(&service.models, index);
}

static const struct sample samples[] = {
	{ .mae_w = 2 },
	{ .trainer = "XgboostFitTrainer", .predictor = "xgboost", .mae_w = 1 },
	{ .group = "BPFOnly", .node_type = 3, .mae_w = 4 },
	{ .group = "Basic", .output = TW_DYN_POWER, .metadata = "{\"r2\":0.9}" },
	{ .source = "acpi", .mae_w = 5 },
};

static int start(void **state)
{
	struct tw_httpd_config c = { .listen = "127.0.0.1:0", .app = &service };
	struct tw_err err = { 0 };

	(void)state;
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	unsetenv("ALL_PROXY");
	dir = scratch_new();
	assert_int_equal(tw_path_join(&db, &err, dir, "db", NULL), 0);
	c.routes = tw_server_routes(&c.route_count);
	assert_int_equal(tw_http_stats_new(c.routes, c.route_count, &service.http, &err),
			 0);
	c.stats = service.http;
	assert_int_equal(tw_http_init(&err), 0);
	assert_int_equal(tw_httpd_open(&c, &httpd, &err), 0);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	tw_httpd_close(httpd);
	tw_models_take(&service.models, NULL);
	tw_http_stats_free(service.http);
	free(db);
	scratch_free(dir);
	return 0;
}

/* GET if there is no body. */
static struct tw_http_answer ask(const char *path, const char *body)
{
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };
	char url[512];
	const struct tw_http_call c = { .url = url,
					.body = body,
					.body_len = body != NULL ? strlen(body) : 0 };

	snprintf(url, sizeof(url), "http://%s%s", tw_httpd_address(httpd), path);
	if (tw_http_call(&c, &a, &err) < 0)
		fail_msg("%s", err.text);
	return a;
}

static void answers(const char *path, const char *body, unsigned status, const char *want)
{
	struct tw_http_answer a = ask(path, body);

	if (a.status != status || strcmp(a.body, want) != 0)
		fail_msg("%s %s: %u %s", path, body != NULL ? body : "", a.status,
			 a.body);
	assert_string_equal(a.content_type, status == 200 ? "application/json"
							  : "application/problem+json");
	tw_http_answer_release(&a);
}

/* A problem whose detail has this in it. */
static void refuses(const char *path, const char *body, unsigned status,
		    const char *detail)
{
	struct tw_http_answer a = ask(path, body);
	json_t *v = json_loads(a.body, 0, NULL);
	const char *text = json_string_value(json_object_get(v, "detail"));

	if (a.status != status || text == NULL || strstr(text, detail) == NULL)
		fail_msg("%s %s: %u %s", path, body != NULL ? body : "", a.status,
			 a.body);
	assert_string_equal(a.content_type, "application/problem+json");
	assert_int_equal(json_integer_value(json_object_get(v, "status")), status);
	assert_true(json_is_string(json_object_get(v, "title")));
	json_decref(v);
	tw_http_answer_release(&a);
}

#define COUNTERS "\"metrics\":[\"cpu_instructions\",\"cache_miss\",\"cpu_cycles\"]"
#define ABS COUNTERS ",\"output_type\":\"AbsPower\""

static void without_models_every_path_still_answers(void **state)
{
	(void)state;
	answers("/healthz", NULL, 200, "{\"status\":\"ok\",\"models\":0}");
	answers("/livez", NULL, 200, "{\"status\":\"ok\",\"models\":0}");
	refuses("/readyz", NULL, 503, "no models");
	refuses("/model", "{" ABS "}", 503, "no models");
	refuses("/best-models", NULL, 503, "no models");
	load(); /* of a database that is not there */
	refuses("/model", "{" ABS "}", 503, "no models");
	refuses("/model", "[]", 400, "request: expected an object, got a list");
}

static void health_counts_the_models(void **state)
{
	(void)state;
	publish("one", samples, COUNT(samples));
	load();
	answers("/healthz", NULL, 200, "{\"status\":\"ok\",\"models\":5}");
	answers("/readyz", NULL, 200, "{\"status\":\"ok\",\"models\":5}");
}

/* The names at the top of an object, in its order. */
static void keys_are(const char *body, const char *want)
{
	struct tw_http_answer a = ask("/model", body);
	json_t *v = json_loads(a.body, 0, NULL);
	char keys[256] = "";
	const char *key;
	json_t *member;

	assert_int_equal(a.status, 200);
	assert_string_equal(a.content_type, "application/json");
	json_object_foreach(v, key, member)
		snprintf(keys + strlen(keys), sizeof(keys) - strlen(keys), "%s ", key);
	assert_string_equal(keys, want);
	json_decref(v);
	tw_http_answer_release(&a);
}

static void weights_are_what_each_generation_takes(void **state)
{
	(void)state;
	keys_are("{" ABS ",\"weight\":true}", "model_name mae package dram ");
	keys_are("{" ABS ",\"weight\":true,\"node_type\":0,\"machine_spec\":{}}",
		 "model_name mae package dram ");
	keys_are("{" ABS ",\"weight\":true,\"node_type\":1}", "package dram ");
	keys_are("{" COUNTERS ",\"output_type\":\"AbsComponentModelWeight\"}",
		 "pkg dram ");
	keys_are("{" COUNTERS ",\"output_type\":\"AbsModelWeight\"}", "All_Weights ");
	keys_are("{" ABS ",\"weight\":true,\"source\":\"acpi\"}",
		 "model_name mae platform ");
}

static void the_zip_is_the_best_model(void **state)
{
	struct tw_http_answer a = ask("/model", "{" ABS "}");
	struct tw_fileset files = { 0 };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(a.status, 200);
	assert_string_equal(a.content_type, "application/zip");
	assert_int_equal(tw_zip_read(a.body, a.len, &tw_zip_model_limits, &files, &err),
			 0);
	assert_int_equal(tw_model_from_files(&files, &m, &err), 0);
	assert_string_equal(m.info.name, "XgboostFitTrainer_0");
	tw_model_release(&m);
	tw_fileset_clear(&files);
	tw_http_answer_release(&a);
}

static void what_cannot_be_served_says_why(void **state)
{
	(void)state;
	refuses("/model", "{" ABS ",\"weight\":\"false\"}", 400,
		"request.weight: expected");
	refuses("/model", "{" ABS ",\"filter\":\"mae\"}", 400, "filter 'mae'");
	refuses("/model", "{" ABS ",\"filter\":\"mae:0.5\"}", 404,
		"CounterOnly: filter 'mae'");
	refuses("/model", "{" ABS ",\"trainer_name\":\"Xgboost\"}", 404,
		"CounterOnly: none of trainer 'Xgboost'");
	refuses("/model", "{" ABS ",\"pipeline_name\":\"nope\"}", 404,
		"none in pipeline 'nope'");
	refuses("/model", "{" ABS ",\"node_type\":\"30\",\"loose_node_type\":false}", 404,
		"none for node type 30");
	refuses("/model", "{" ABS ",\"source\":\"hmc\"}", 404, "hmc");
	refuses("/model", "{\"metrics\":[\"x\"],\"output_type\":\"DynPower\"}", 404,
		"Basic: needs metric");
	refuses("/model", "", 400, "request: byte 0: cut short before a value");
	refuses("/best-models", "", 405, "does not take POST");
	refuses("/model", NULL, 405, "does not take GET");
}

static void a_model_that_cannot_be_read_makes_room_for_the_next(void **state)
{
	static const char best[] = "{" ABS "}";
	static const char only[] = "{" ABS ",\"trainer_name\":\"XgboostFitTrainer\"}";
	struct tw_http_answer a;
	struct tw_err err = { 0 };
	char *path;

	(void)state;
	assert_int_equal(tw_path_join(&path, &err, db,
				      "one/rapl-sysfs/AbsPower/CounterOnly",
				      "XgboostFitTrainer_0.zip", NULL),
			 0);
	assert_int_equal(tw_file_replace(path, "", 0, &err), 0);
	load();
	/* An empty file is refused at once; one that goes later, when it is asked for. */
	refuses("/model", only, 404, "CounterOnly: none of trainer 'XgboostFitTrainer'");
	publish("one", samples, COUNT(samples));
	load();
	assert_int_equal(remove(path), 0);
	a = ask("/model", best);
	assert_int_equal(a.status, 200);
	assert_int_equal(atomic_load(&service.models.given_up), 1);
	tw_http_answer_release(&a);
	refuses("/model", only, 404, "CounterOnly: its models cannot be read");
	assert_int_equal(atomic_load(&service.models.given_up), 1);
	keys_are("{" ABS ",\"weight\":true}", "model_name mae package dram ");
	free(path);
	publish("one", samples, COUNT(samples));
	load();
}

static void best_models_are_listed_by_output_and_group(void **state)
{
	(void)state;
	answers("/best-models", NULL, 200,
		"{\"AbsPower\":{\"BPFOnly\":\"SGDRegressorTrainer_3\","
		"\"CounterOnly\":\"XgboostFitTrainer_0\"},"
		"\"DynPower\":{\"Basic\":\"SGDRegressorTrainer_0\"}}");
	answers("/best-models?energy-source=acpi", NULL, 200,
		"{\"AbsPower\":{\"CounterOnly\":\"SGDRegressorTrainer_0\"},\"DynPower\":{"
		"}}");
	answers("/best-models?output-type=DynPower", NULL, 200,
		"{\"DynPower\":{\"Basic\":\"SGDRegressorTrainer_0\"}}");
	answers("/best-models?feature-group=BPFOnly", NULL, 200,
		"{\"AbsPower\":{\"BPFOnly\":\"SGDRegressorTrainer_3\"},\"DynPower\":{}}");
	answers("/best-models?node-type=3", NULL, 200,
		"{\"AbsPower\":{\"BPFOnly\":\"SGDRegressorTrainer_3\"},\"DynPower\":{}}");
	answers("/best-models?filter=mae:3&energy-source=&node-type=-1", NULL, 200,
		"{\"AbsPower\":{\"CounterOnly\":\"XgboostFitTrainer_0\"},"
		"\"DynPower\":{\"Basic\":\"SGDRegressorTrainer_0\"}}");
	answers("/best-models?filter=r2:0.5;features:a,bpf_cpu_time_ms,bpf_page_cache_"
		"hit,"
		"cache_miss,cpu_cycles,cpu_instructions",
		NULL, 200,
		"{\"AbsPower\":{},\"DynPower\":{\"Basic\":\"SGDRegressorTrainer_0\"}}");
}

static void a_wrong_argument_is_refused(void **state)
{
	(void)state;
	refuses("/best-models?energy-source=bogus", NULL, 400,
		"energy-source: no energy source is called 'bogus'");
	refuses("/best-models?output-type=Power", NULL, 400, "output-type: 'Power'");
	refuses("/best-models?feature-group=x", NULL, 400,
		"feature-group: no feature group");
	refuses("/best-models?node-type=x", NULL, 400, "node-type: 'x'");
	refuses("/best-models?filter=mae", NULL, 400, "filter 'mae'");
	refuses("/best-models?filter=bogus:1", NULL, 400,
		"filter: no model has a 'bogus'");
}

/* Weights are sent from an index that is replaced all the while. */
static void *ask_often(void *arg)
{
	atomic_int *left = arg;

	while (atomic_fetch_sub(left, 1) > 0) {
		struct tw_http_answer a = ask("/model", "{" ABS ",\"weight\":true}");
		json_t *v = json_loads(a.body, 0, NULL);

		assert_int_equal(a.status, 200);
		assert_non_null(json_object_get(v, "package"));
		json_decref(v);
		tw_http_answer_release(&a);
	}
	return NULL;
}

static void requests_do_not_notice_a_reload(void **state)
{
	pthread_t thread[4];
	atomic_int left = 400;

	(void)state;
	for (size_t i = 0; i < COUNT(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, ask_often, &left), 0);
	while (atomic_load(&left) > 0)
		load();
	for (size_t i = 0; i < COUNT(thread); i++)
		pthread_join(thread[i], NULL);
}

/* Text of an answer to GET, which must contain what is wanted. */
static void shows(const char *path, unsigned status, const char *type, const char *want)
{
	struct tw_http_answer a = ask(path, NULL);

	if (a.status != status || strstr(a.body, want) == NULL)
		fail_msg("%s: %u %s", path, a.status, a.body);
	assert_string_equal(a.content_type, type);
	tw_http_answer_release(&a);
}

#define PLACE "/api/v1/models/one/rapl-sysfs/AbsPower/CounterOnly/SGDRegressorTrainer_0"
#define JSON "application/json"
#define PROBLEM "application/problem+json"

static void the_api_lists_pipelines_node_types_and_models(void **state)
{
	(void)state;
	answers("/api/v1/pipelines", NULL, 200,
		"{\"pipelines\":[{\"name\":\"one\",\"models\":5,\"node_types\":2,"
		"\"sources\":{\"acpi\":{\"AbsPower\":1,\"DynPower\":0},"
		"\"rapl-sysfs\":{\"AbsPower\":3,\"DynPower\":1}},"
		"\"url\":\"/api/v1/pipelines/one\"}],\"total\":1,\"next\":null}");
	shows("/api/v1/pipelines/one", 200, JSON, "\"metadata\":{");
	answers("/api/v1/node-types", NULL, 200,
		"{\"node_types\":[{\"pipeline\":\"one\",\"node_type\":0,\"attrs\":{},"
		"\"members\":1},{\"pipeline\":\"one\",\"node_type\":3,\"attrs\":{},"
		"\"members\":1}],\"total\":2,\"next\":null}");
	answers("/api/v1/node-types?pipeline=two", NULL, 200,
		"{\"node_types\":[],\"total\":0,\"next\":null}");
	shows("/api/v1/models", 200, JSON, "\"total\":5,\"next\":null}");
	shows("/api/v1/models?limit=2", 200, JSON, "\"total\":5,\"next\":2}");
	shows("/api/v1/models?limit=2&offset=4", 200, JSON, "\"total\":5,\"next\":null}");
	shows("/api/v1/models?offset=9", 200, JSON,
	      "{\"models\":[],\"total\":5,\"next\":null}");
	shows("/api/v1/models?energy-source=acpi", 200, JSON, "\"total\":1,");
	shows("/api/v1/models?trainer=XgboostFitTrainer&pipeline=one", 200, JSON,
	      "\"model_name\":\"XgboostFitTrainer_0\"");
	shows("/api/v1/models?filter=mae:3&output-type=AbsPower&node-type=0", 200, JSON,
	      "\"total\":2,");
	shows("/api/v1/models?limit=0", 400, PROBLEM, "limit: '0'");
	shows("/api/v1/models?offset=x", 400, PROBLEM, "offset: 'x'");
	shows("/api/v1/models?feature-group=x", 400, PROBLEM,
	      "no feature group is called");
}

static void the_api_shows_what_there_is_of_a_model(void **state)
{
	(void)state;
	shows(PLACE, 200, JSON, "\"metadata\":{\"format_version\":1,");
	shows(PLACE, 200, JSON, "\"url\":\"" PLACE "\"");
	shows(PLACE "/weights", 200, JSON, "\"package\":{\"All_Weights\"");
	shows(PLACE "/card", 200, "text/markdown", "# SGDRegressorTrainer_0");
	shows("/api/v1/pipelines/two", 404, PROBLEM, "no pipeline is called 'two'");
	shows("/api/v1/models/two/acpi/AbsPower/BPFOnly/x_0", 404, PROBLEM,
	      "no pipeline is called 'two'");
	shows("/api/v1/models/one/sun/AbsPower/BPFOnly/x_0", 404, PROBLEM,
	      "no energy source is called 'sun'");
	shows("/api/v1/models/one/acpi/Power/BPFOnly/x_0", 404, PROBLEM,
	      "'Power' is neither AbsPower nor DynPower");
	shows("/api/v1/models/one/acpi/AbsPower/BPF/x_0/card", 404, PROBLEM,
	      "no feature group is called 'BPF'");
	shows("/api/v1/models/one/acpi/AbsPower/BPFOnly/x_0/zip", 404, PROBLEM,
	      "no model of that place is called 'x_0'");
	shows("/api/v1/models/one", 404, PROBLEM, "no such path");
	shows("/api/v1/models/one/acpi/AbsPower//x_0", 404, PROBLEM, "no such path");
}

/* NULL: away with it. */
static void put_rows(const char *text)
{
	struct tw_err err = { 0 };
	char *path;

	assert_int_equal(
		tw_path_join(&path, &err, db, "one/rapl-sysfs/AbsPower/CounterOnly",
			     "SGDRegressorTrainer_0" TW_PIPELINE_VALIDATION, NULL),
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

static void plots_are_drawn_from_the_rows_of_the_validation(void **state)
{
	static const char svg[] = "image/svg+xml";

	(void)state;
	answers(PLACE "/plots", NULL, 200, "{\"plots\":[],\"total\":0}");
	shows(PLOT "time", 404, PROBLEM,
	      "model 'SGDRegressorTrainer_0' of pipeline 'one' has no rows of its "
	      "validation, and so no plots");
	put_rows(ROWS);
	shows(PLACE "/plots", 200, JSON,
	      "{\"plots\":[{\"component\":\"package\",\"plot\":\"power-curve\",\"title\":"
	      "\"Power curve\",\"url\":\"" PLOT "power-curve\"},");
	shows(PLACE "/plots", 200, JSON, "\"total\":3}");
	shows(PLOT "power-curve", 200, svg,
	      "Power curve: package, SGDRegressorTrainer_0");
	shows(PLOT "residuals", 200, svg, "predicted less measured");
	shows(PLOT "time", 200, svg, "<svg");
	shows(PLACE "/plots/dram/time", 200, svg, "dram");
	shows(PLACE "/plots/core/time", 404, PROBLEM, "the validation has no core");
	shows(PLACE "/plots/sun/time", 404, PROBLEM, "no component is called 'sun'");
	shows(PLOT "pie", 404, PROBLEM, "no plot is called 'pie'");
	shows(PLACE "/card", 200, "text/markdown", "(plots/package/power-curve)");
}

static void a_plot_that_the_client_has_is_not_sent_again(void **state)
{
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };
	char url[256], etag[TW_HTTP_ETAG_MAX];
	struct tw_http_call c = { .url = url };

	(void)state;
	snprintf(url, sizeof(url), "http://%s" PLOT "time", tw_httpd_address(httpd));
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

static void rows_that_are_broken_are_no_fault_of_the_model(void **state)
{
	(void)state;
	put_rows("timestamp,fold\n1000,x\n");
	shows(PLACE "/plots", 500, PROBLEM, "the rows of the validation of model");
	shows(PLOT "time", 500, PROBLEM,
	      "the rows of the validation of model 'SGDRegressorTrainer_0' of pipeline "
	      "'one' cannot be read");
	shows(PLACE "/card", 200, "text/markdown", "# SGDRegressorTrainer_0");
	shows(PLACE "/weights", 200, JSON, "\"package\":{\"All_Weights\"");
	put_rows(NULL);
}

static void a_model_that_is_broken_is_no_more_shown(void **state)
{
	struct tw_err err = { 0 };
	char *path;

	(void)state;
	assert_int_equal(tw_path_join(&path, &err, db,
				      "one/rapl-sysfs/AbsPower/CounterOnly",
				      "SGDRegressorTrainer_0.zip", NULL),
			 0);
	assert_int_equal(remove(path), 0);
	shows(PLACE, 500, PROBLEM,
	      "model 'SGDRegressorTrainer_0' of pipeline 'one' cannot be read");
	free(path);
	publish("one", samples, COUNT(samples));
	load();
}

static void metrics_tell_of_requests_models_and_reloads(void **state)
{
	static const char text[] = "text/plain";

	(void)state;
	shows("/metrics", 200, text, "\ntw_models 5\n");
	shows("/metrics", 200, text, "tw_models_given_up_total ");
	shows("/metrics", 200, text,
	      "tw_model_mae_watts{pipeline=\"one\",source=\"acpi\",output=\"AbsPower\","
	      "feature_group=\"CounterOnly\",trainer=\"SGDRegressorTrainer\",node_type="
	      "\"0\"} 5\n");
	shows("/metrics", 200, text,
	      "tw_http_requests_total{method=\"GET\",route=\"/best-models\",status="
	      "\"400\"} ");
	shows("/metrics", 200, text,
	      "tw_http_request_seconds_bucket{method=\"POST\",route=\"/model\",le=");
	service.weights_metrics = true;
	shows("/metrics", 200, text, "component=\"package\",feature=\"\"} 10\n");
	service.weights_metrics = false;
}

static void a_reload_is_left_to_the_main_thread(void **state)
{
	uint64_t count = 0;

	(void)state;
	answers("/-/reload", "", 503,
		"{\"title\":\"Service Unavailable\",\"status\":503,\"detail\":\"cannot "
		"reload now\"}");
	service.reload_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	for (int i = 0; i < 2; i++) {
		struct tw_http_answer a = ask("/-/reload", "");

		assert_int_equal(a.status, 202);
		tw_http_answer_release(&a);
	}
	assert_int_equal(read(service.reload_fd, &count, sizeof(count)), sizeof(count));
	assert_int_equal(count, 2);
	close(service.reload_fd);
	service.reload_fd = -1;
}

/* By path, then by method. */
static int order(const struct tw_http_route *a, const struct tw_http_route *b)
{
	const int d = strcmp(a->path, b->path);

	return d != 0 ? d : strcmp(a->method, b->method);
}

static void routes_are_sorted_and_complete(void **state)
{
	const struct tw_http_route *const *routes;
	size_t count;

	(void)state;
	routes = tw_server_routes(&count);
	assert_int_equal(count, 25);
	for (size_t i = 0; i < count; i++) {
		assert_true(routes[i]->method != NULL && routes[i]->handle != NULL);
		assert_int_equal(routes[i]->path[0], '/');
		if (i > 0 && order(routes[i - 1], routes[i]) >= 0)
			fail_msg("%s, %s", routes[i - 1]->path, routes[i]->path);
	}
}

/* The parameters of a path are those of its description. */
static void check_parameters(const char *path, const json_t *operation)
{
	const json_t *list = json_object_get(operation, "parameters"), *v;
	size_t described = 0, i, wanted = 0;

	json_array_foreach((json_t *)(uintptr_t)list, i, v) {
		const char *name = json_string_value(json_object_get(v, "name"));
		char text[64];

		if (strcmp(json_string_value(json_object_get(v, "in")), "path") != 0)
			continue;
		snprintf(text, sizeof(text), "{%s}", name);
		if (strstr(path, text) == NULL)
			fail_msg("%s: no %s", path, text);
		described++;
	}
	for (const char *p = path; (p = strchr(p, '{')) != NULL; p++)
		wanted++;
	assert_int_equal(described, wanted);
}

static void the_openapi_description_is_of_these_routes(void **state)
{
	const struct tw_http_route *const *routes;
	struct tw_http_answer a = ask("/openapi.json", NULL);
	json_t *doc = json_loads(a.body, JSON_REJECT_DUPLICATES, NULL), *paths;
	size_t count, operations = 0;
	const char *name;
	json_t *v;

	(void)state;
	assert_non_null(doc);
	assert_string_equal(json_string_value(json_object_get(doc, "openapi")), "3.1.0");
	paths = json_object_get(doc, "paths");
	routes = tw_server_routes(&count);
	json_object_foreach(paths, name, v)
		operations += json_object_size(v);
	assert_int_equal(operations, count);
	for (size_t i = 0; i < count; i++) {
		const json_t *path = json_object_get(paths, routes[i]->path);
		char method[8] = "";
		const json_t *operation;

		for (size_t k = 0; routes[i]->method[k] != '\0'; k++)
			method[k] = (char)tolower(routes[i]->method[k]);
		operation = json_object_get(path, method);
		if (operation == NULL)
			fail_msg("%s %s", routes[i]->method, routes[i]->path);
		assert_true(json_object_size(json_object_get(operation, "responses")) >
			    0);
		check_parameters(routes[i]->path, operation);
	}
	json_decref(doc);
	tw_http_answer_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_models_every_path_still_answers),
		cmocka_unit_test(health_counts_the_models),
		cmocka_unit_test(weights_are_what_each_generation_takes),
		cmocka_unit_test(the_zip_is_the_best_model),
		cmocka_unit_test(what_cannot_be_served_says_why),
		cmocka_unit_test(a_model_that_cannot_be_read_makes_room_for_the_next),
		cmocka_unit_test(best_models_are_listed_by_output_and_group),
		cmocka_unit_test(a_wrong_argument_is_refused),
		cmocka_unit_test(the_api_lists_pipelines_node_types_and_models),
		cmocka_unit_test(the_api_shows_what_there_is_of_a_model),
		cmocka_unit_test(plots_are_drawn_from_the_rows_of_the_validation),
		cmocka_unit_test(a_plot_that_the_client_has_is_not_sent_again),
		cmocka_unit_test(rows_that_are_broken_are_no_fault_of_the_model),
		cmocka_unit_test(a_model_that_is_broken_is_no_more_shown),
		cmocka_unit_test(metrics_tell_of_requests_models_and_reloads),
		cmocka_unit_test(a_reload_is_left_to_the_main_thread),
		cmocka_unit_test(the_openapi_description_is_of_these_routes),
		cmocka_unit_test(requests_do_not_notice_a_reload),
		cmocka_unit_test(routes_are_sorted_and_complete),
	};

	return cmocka_run_group_tests_name("routes", tests, start, stop);
}
