/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/client/http.h"
#include "lib/http/server/httpd.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "tests/unit/scratch.h"
#include "trainer/service/train_service.h"

#include <gsl/gsl_errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLIENTS 6

/* A service on a free port, with a model database of its own. */
struct running {
	char *dir;
	struct tw_train_service *service;
	struct tw_httpd *httpd;
	char url[128];
};

static void start(struct running *r, unsigned queue)
{
	struct tw_trainings_config config = { .threads = 1, .seed = 1, .queue = queue };
	struct tw_httpd_config httpd = {
		.listen = "127.0.0.1:0",
		.routes = tw_train_service_routes,
		.route_count = tw_train_service_route_count,
		.thread_per_connection = true,
		.body_max = 1 << 20,
	};
	struct tw_err err = { 0 };

	r->dir = scratch_new();
	config.model_db = r->dir;
	assert_int_equal(tw_train_service_new(&config, NULL, &r->service, &err), 0);
	httpd.app = r->service;
	if (tw_httpd_open(&httpd, &r->httpd, &err) < 0)
		fail_msg("%s", err.text);
	snprintf(r->url, sizeof(r->url), "http://%s/train", tw_httpd_address(r->httpd));
}

static void stop(struct running *r)
{
	tw_httpd_close(r->httpd);
	tw_train_service_free(r->service);
	scratch_free(r->dir);
}

/* A request for linear models of the simulated machine. */
static char *make_request(const char *name, size_t *len)
{
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };
	char *response, *text;
	size_t response_len;

	if (tw_file_read("tests/data/prom/simulated-0.7.json", 1 << 20, &response,
			 &response_len, &err) < 0)
		fail_msg("%s", err.text);
	tw_buf_addf(&b,
		    "{\"name\":\"%s\",\"energy_source\":\"rapl-sysfs\",\"trainer\":{"
		    "\"abs_trainers\":[\"LinearRegressionTrainer\"],\"dyn_trainers\":[],"
		    "\"isolator\":\"MinIdleIsolator\"},\"prom_response\":",
		    name);
	tw_buf_add(&b, response, response_len);
	tw_buf_adds(&b, "}");
	free(response);
	text = tw_buf_detach(&b, len);
	assert_non_null(text);
	return text;
}

static void post(const struct running *r, const char *body, size_t len,
		 struct tw_http_answer *out)
{
	const struct tw_http_call call = {
		.url = r->url, .body = body, .body_len = len, .timeout_ms = 60000
	};
	struct tw_err err = { 0 };

	if (tw_http_call(&call, out, &err) < 0)
		fail_msg("%s", err.text);
}

static bool published(const struct running *r, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s/metadata.json", r->dir, name);
	return access(path, F_OK) == 0;
}

static void a_pipeline_is_answered_and_published(void **state)
{
	struct running r = { 0 };
	struct tw_http_answer a = { 0 };
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };
	size_t len;
	char *body = make_request("one", &len);

	(void)state;
	start(&r, 1);
	post(&r, body, len, &a);
	assert_int_equal(a.status, 200);
	assert_string_equal(a.content_type, "application/zip");
	if (tw_zip_read(a.body, a.len, &tw_zip_pipeline_limits, &files, &err) < 0)
		fail_msg("%s", err.text);
	assert_non_null(tw_fileset_find(&files, "metadata.json"));
	assert_non_null(tw_fileset_find(
		&files, "rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer_0.zip"));
	assert_true(published(&r, "one"));
	tw_fileset_clear(&files);
	tw_http_answer_release(&a);
	free(body);
	stop(&r);
}

static void a_rejected_request_publishes_nothing(void **state)
{
	static const char none[] = "{\"name\":\"two\",\"trainer\":{\"abs_trainers\":"
				   "[\"LinearRegressionTrainer\"]},\"prom_response\":{}}";
	struct running r = { 0 };
	struct tw_http_answer path = { 0 }, cut = { 0 }, data = { 0 };
	size_t len, good_len;
	char *bad = make_request("../x", &len), *good = make_request("two", &good_len);

	(void)state;
	start(&r, 1);
	post(&r, bad, len, &path);
	assert_int_equal(path.status, 400);
	assert_string_equal(path.content_type, "application/problem+json");
	assert_non_null(strstr(path.body, "pipeline name '../x'"));
	post(&r, good, good_len - 1, &cut);
	assert_int_equal(cut.status, 400);
	assert_non_null(strstr(cut.body, "cut short"));
	/* That data is missing is no 404: the path is right. */
	post(&r, none, strlen(none), &data);
	assert_int_equal(data.status, 400);
	assert_non_null(strstr(data.body, "nothing to train on"));
	assert_false(published(&r, "two"));
	tw_http_answer_release(&path);
	tw_http_answer_release(&cut);
	tw_http_answer_release(&data);
	free(bad);
	free(good);
	stop(&r);
}

struct client {
	const struct running *r;
	const char *body;
	size_t len;
	unsigned status;
};

static void *ask(void *arg)
{
	struct client *c = arg;
	struct tw_http_answer a = { 0 };

	post(c->r, c->body, c->len, &a);
	c->status = a.status;
	tw_http_answer_release(&a);
	return NULL;
}

static void concurrent_requests_are_trained_or_told_to_retry(void **state)
{
	struct running r = { 0 };
	struct client client[CLIENTS];
	pthread_t thread[CLIENTS];
	size_t len, trained = 0;
	char *body = make_request("many", &len);

	(void)state;
	start(&r, 1);
	for (int i = 0; i < CLIENTS; i++) {
		client[i] = (struct client){ &r, body, len, 0 };
		assert_int_equal(pthread_create(&thread[i], NULL, ask, &client[i]), 0);
	}
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(thread[i], NULL);
		assert_true(client[i].status == 200 || client[i].status == 503);
		trained += client[i].status == 200;
	}
	/* One trained and one waited, at least. */
	assert_true(trained >= 2);
	assert_true(published(&r, "many"));
	free(body);
	stop(&r);
}

static void a_service_that_stops_ends_one_training_and_begins_no_other(void **state)
{
	struct running r = { 0 };
	struct tw_http_answer late = { 0 };
	struct client client[CLIENTS];
	pthread_t thread[CLIENTS];
	size_t len, late_len;
	char *body = make_request("early", &len),
	     *other = make_request("late", &late_len);

	(void)state;
	start(&r, CLIENTS);
	for (int i = 0; i < CLIENTS; i++) {
		client[i] = (struct client){ &r, body, len, 0 };
		assert_int_equal(pthread_create(&thread[i], NULL, ask, &client[i]), 0);
	}
	tw_train_service_stop(r.service);
	/* Nobody is left waiting for a turn. */
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(thread[i], NULL);
		assert_true(client[i].status == 200 || client[i].status == 503);
	}
	post(&r, other, late_len, &late);
	assert_int_equal(late.status, 503);
	assert_non_null(strstr(late.body, "the program stops"));
	assert_false(published(&r, "late"));
	tw_http_answer_release(&late);
	free(other);
	free(body);
	stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pipeline_is_answered_and_published),
		cmocka_unit_test(a_rejected_request_publishes_nothing),
		cmocka_unit_test(concurrent_requests_are_trained_or_told_to_retry),
		cmocka_unit_test(
			a_service_that_stops_ends_one_training_and_begins_no_other),
	};
	struct tw_err err = { 0 };

	gsl_set_error_handler_off();
	if (tw_http_init(&err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	return cmocka_run_group_tests_name("trainer_service", tests, NULL, NULL);
}
