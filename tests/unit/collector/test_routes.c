/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/client/http.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/model.h"
#include "model-db/model_files.h"
#include "tests/unit/running_server.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void without_models_every_path_still_answers(void **state)
{
	(void)state;
	running_answers("/healthz", NULL, 200, "{\"status\":\"ok\",\"models\":0}");
	running_answers("/livez", NULL, 200, "{\"status\":\"ok\",\"models\":0}");
	running_refuses("/readyz", NULL, 503, "no models");
	running_refuses("/model", "{" ABS "}", 503, "no models");
	running_refuses("/best-models", NULL, 503, "no models");
	running_load(); /* of a database that is not there */
	running_refuses("/model", "{" ABS "}", 503, "no models");
	running_refuses("/model", "[]", 400, "request: expected an object, got a list");
}

static void health_counts_the_models(void **state)
{
	(void)state;
	running_publish();
	running_load();
	running_answers("/healthz", NULL, 200, "{\"status\":\"ok\",\"models\":5}");
	running_answers("/readyz", NULL, 200, "{\"status\":\"ok\",\"models\":5}");
}

/* The names at the top of an object, in its order. */
static void keys_are(const char *body, const char *want)
{
	struct tw_http_answer a = running_ask("/model", body);
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

static void weights_have_the_form_of_each_generation(void **state)
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
	struct tw_http_answer a = running_ask("/model", "{" ABS "}");
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

static void a_request_that_cannot_be_served_has_a_reason(void **state)
{
	(void)state;
	running_refuses("/model", "{" ABS ",\"weight\":\"yes\"}", 400,
			"request.weight: expected");
	running_refuses("/model", "{" ABS ",\"filter\":\"mae\"}", 400, "filter 'mae'");
	running_refuses("/model", "{" ABS ",\"filter\":\"mae:0.5\"}", 404,
			"CounterOnly: filter 'mae'");
	running_refuses("/model", "{" ABS ",\"trainer_name\":\"Xgboost\"}", 404,
			"CounterOnly: no 'Xgboost' model");
	running_refuses("/model", "{" ABS ",\"pipeline_name\":\"nope\"}", 404,
			"no model in pipeline 'nope'");
	running_refuses("/model",
			"{" ABS ",\"node_type\":\"30\",\"loose_node_type\":false}", 404,
			"no model for node type 30");
	running_refuses("/model", "{" ABS ",\"source\":\"hmc\"}", 404, "hmc");
	running_refuses("/model", "{\"metrics\":[\"x\"],\"output_type\":\"DynPower\"}",
			404, "Basic: needs metric");
	running_refuses("/model", "", 400, "request: byte 0: cut short before a value");
	running_refuses("/best-models", "", 405, "does not take POST");
	running_refuses("/model", NULL, 405, "does not take GET");
}

static void a_model_that_cannot_be_read_makes_room_for_the_next(void **state)
{
	static const char best[] = "{" ABS "}";
	static const char only[] = "{" ABS ",\"trainer_name\":\"XgboostFitTrainer\"}";
	struct tw_http_answer a;
	struct tw_err err = { 0 };
	char *path;

	(void)state;
	assert_int_equal(tw_path_join(&path, &err, running.db,
				      "one/rapl-sysfs/AbsPower/CounterOnly",
				      "XgboostFitTrainer_0.zip", NULL),
			 0);
	assert_int_equal(tw_file_replace(path, "", 0, &err), 0);
	running_load();
	/* An empty file is refused at once; one that goes later, when it is asked for. */
	running_refuses("/model", only, 404, "CounterOnly: no 'XgboostFitTrainer' model");
	running_publish();
	running_load();
	assert_int_equal(remove(path), 0);
	/* The list does not wait for a request that finds it gone. */
	running_answers("/best-models?output-type=AbsPower&feature-group=CounterOnly",
			NULL, 200,
			"{\"AbsPower\":{\"CounterOnly\":\"SGDRegressorTrainer_0\"}}");
	a = running_ask("/model", best);
	assert_int_equal(a.status, 200);
	assert_int_equal(atomic_load(&running.service.catalog.given_up), 1);
	tw_http_answer_release(&a);
	running_refuses("/model", only, 404, "CounterOnly: its models cannot be read");
	assert_int_equal(atomic_load(&running.service.catalog.given_up), 1);
	keys_are("{" ABS ",\"weight\":true}", "model_name mae package dram ");
	free(path);
	running_publish();
	running_load();
}

static void best_models_are_listed_by_output_and_group(void **state)
{
	(void)state;
	running_answers("/best-models", NULL, 200,
			"{\"AbsPower\":{\"BPFOnly\":\"SGDRegressorTrainer_3\","
			"\"CounterOnly\":\"XgboostFitTrainer_0\"},"
			"\"DynPower\":{\"Basic\":\"SGDRegressorTrainer_0\"}}");
	running_answers(
		"/best-models?energy-source=acpi", NULL, 200,
		"{\"AbsPower\":{\"CounterOnly\":\"SGDRegressorTrainer_0\"},\"DynPower\":{"
		"}}");
	running_answers("/best-models?output-type=DynPower", NULL, 200,
			"{\"DynPower\":{\"Basic\":\"SGDRegressorTrainer_0\"}}");
	running_answers(
		"/best-models?feature-group=BPFOnly", NULL, 200,
		"{\"AbsPower\":{\"BPFOnly\":\"SGDRegressorTrainer_3\"},\"DynPower\":{}}");
	running_answers(
		"/best-models?node-type=3", NULL, 200,
		"{\"AbsPower\":{\"BPFOnly\":\"SGDRegressorTrainer_3\"},\"DynPower\":{}}");
	running_answers("/best-models?filter=mae:3&energy-source=&node-type=-1", NULL,
			200,
			"{\"AbsPower\":{\"CounterOnly\":\"XgboostFitTrainer_0\"},"
			"\"DynPower\":{\"Basic\":\"SGDRegressorTrainer_0\"}}");
	running_answers(
		"/best-models?filter=r2:0.5;features:a,bpf_cpu_time_ms,bpf_page_cache_"
		"hit,"
		"cache_miss,cpu_cycles,cpu_instructions",
		NULL, 200,
		"{\"AbsPower\":{},\"DynPower\":{\"Basic\":\"SGDRegressorTrainer_0\"}}");
}

static void a_wrong_argument_is_refused(void **state)
{
	(void)state;
	running_refuses("/best-models?energy-source=bogus", NULL, 400,
			"energy-source: no energy source is called 'bogus'");
	running_refuses("/best-models?output-type=Power", NULL, 400,
			"output-type: 'Power'");
	running_refuses("/best-models?feature-group=x", NULL, 400,
			"feature-group: no feature group");
	running_refuses("/best-models?node-type=x", NULL, 400, "node-type: 'x'");
	running_refuses("/best-models?filter=mae", NULL, 400, "filter 'mae'");
	running_refuses("/best-models?filter=bogus:1", NULL, 400,
			"filter: no model has a 'bogus'");
}

/* Weights are sent from an index that is replaced all the while. */
static void *ask_often(void *arg)
{
	atomic_int *left = arg;

	while (atomic_fetch_sub(left, 1) > 0) {
		struct tw_http_answer a =
			running_ask("/model", "{" ABS ",\"weight\":true}");
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
	for (size_t i = 0; i < TW_COUNT(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, ask_often, &left), 0);
	while (atomic_load(&left) > 0)
		running_load();
	for (size_t i = 0; i < TW_COUNT(thread); i++)
		pthread_join(thread[i], NULL);
}

static void metrics_count_requests_models_and_reloads(void **state)
{
	static const char text[] = "text/plain";

	(void)state;
	running_shows("/metrics", 200, text, "\ntw_models 5\n");
	running_shows("/metrics", 200, text, "tw_models_given_up_total ");
	running_shows(
		"/metrics", 200, text,
		"tw_model_mae_watts{pipeline=\"one\",source=\"acpi\",output=\"AbsPower\","
		"feature_group=\"CounterOnly\",trainer=\"SGDRegressorTrainer\",node_type="
		"\"0\"} 5\n");
	running_shows(
		"/metrics", 200, text,
		"tw_http_requests_total{method=\"GET\",route=\"/best-models\",status="
		"\"400\"} ");
	running_shows(
		"/metrics", 200, text,
		"tw_http_request_seconds_bucket{method=\"POST\",route=\"/model\",le=");
	running.service.weights_metrics = true;
	running_shows("/metrics", 200, text, "component=\"package\",feature=\"\"} 10\n");
	running.service.weights_metrics = false;
}

static void a_reload_is_left_to_the_main_thread(void **state)
{
	uint64_t count = 0;

	(void)state;
	running_answers(
		"/-/reload", "", 503,
		"{\"title\":\"Service Unavailable\",\"status\":503,\"detail\":\"cannot "
		"reload now\"}");
	running.service.reload_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	for (int i = 0; i < 2; i++) {
		struct tw_http_answer a = running_ask("/-/reload", "");

		assert_int_equal(a.status, 202);
		tw_http_answer_release(&a);
	}
	assert_int_equal(read(running.service.reload_fd, &count, sizeof(count)),
			 sizeof(count));
	assert_int_equal(count, 2);
	close(running.service.reload_fd);
	running.service.reload_fd = -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_models_every_path_still_answers),
		cmocka_unit_test(health_counts_the_models),
		cmocka_unit_test(weights_have_the_form_of_each_generation),
		cmocka_unit_test(the_zip_is_the_best_model),
		cmocka_unit_test(a_request_that_cannot_be_served_has_a_reason),
		cmocka_unit_test(a_model_that_cannot_be_read_makes_room_for_the_next),
		cmocka_unit_test(best_models_are_listed_by_output_and_group),
		cmocka_unit_test(a_wrong_argument_is_refused),
		cmocka_unit_test(metrics_count_requests_models_and_reloads),
		cmocka_unit_test(a_reload_is_left_to_the_main_thread),
		cmocka_unit_test(requests_do_not_notice_a_reload),
	};

	return cmocka_run_group_tests_name("routes", tests, running_start, running_stop);
}
