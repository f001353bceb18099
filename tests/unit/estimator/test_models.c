/* SPDX-License-Identifier: Apache-2.0 */
/* Where the estimator's models come from: a model server of this test, and a database. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/models.h"
#include "estimator/predict/power_model.h"
#include "estimator/request.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/client/http.h"
#include "lib/http/server/httpd.h"
#include "lib/json/json.h"
#include "lib/program/log.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/model_files.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 20000

/* What the server answers, and the last request it got. */
struct server {
	pthread_mutex_t lock;
	struct tw_httpd *httpd;
	char url[64];
	unsigned status;
	char *body;
	size_t len;
	char *asked;
	unsigned calls;
	bool strict; /* as kepler-model-server: 500 to a key that it does not know */
};

struct fixture {
	char *top, *db;
	struct server server;
	struct tw_models_config config;
	struct tw_models *models;
	struct tw_request request;
};

static void handle(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	struct server *s = app;
	char *copy = NULL;

	pthread_mutex_lock(&s->lock);
	free(s->asked);
	s->asked = strdup(q->body != NULL ? q->body : "");
	s->calls++;
	r->status =
		s->strict && strstr(s->asked, "model_classes") != NULL ? 500 : s->status;
	r->content_type = "application/zip";
	copy = malloc(s->len + 1);
	if (copy != NULL && s->len > 0)
		memcpy(copy, s->body, s->len);
	tw_http_reply_take(r, copy, copy != NULL ? s->len : 0);
	pthread_mutex_unlock(&s->lock);
}

static const struct tw_http_route routes[] = {
	{ "POST", "/model", .handle = handle },
	{ "GET", "/init.zip", .handle = handle },
	{ "POST", "/other", .handle = handle },
	{ "POST", "/below/model", .handle = handle },
};

static void open_server(struct server *s, const char *listen)
{
	const struct tw_httpd_config c = { .listen = listen,
					   .routes = routes,
					   .route_count = 4,
					   .app = s,
					   .threads = 1 };
	struct tw_err err = { 0 };

	if (tw_httpd_open(&c, &s->httpd, &err) < 0)
		fail_msg("%s", err.text);
	snprintf(s->url, sizeof(s->url), "http://%s", tw_httpd_address(s->httpd));
}

static void answer(struct server *s, unsigned status, char *body, size_t len)
{
	pthread_mutex_lock(&s->lock);
	free(s->body);
	s->status = status;
	s->body = body;
	s->len = len;
	pthread_mutex_unlock(&s->lock);
}

static void answer_model(struct server *s, const struct sample *sample)
{
	struct tw_fileset files = { 0 };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };
	char *data = NULL;
	size_t len;

	sample_model(sample, &m);
	assert_int_equal(tw_model_to_files(&m, &files, &err), 0);
	assert_int_equal(tw_zip_write(&files, &data, &len, &err), 0);
	answer(s, 200, data, len);
	tw_fileset_clear(&files);
	tw_model_release(&m);
}

static void publish(const struct fixture *f, const struct sample *sample)
{
	sample_publish(f->db, "p", sample, 1);
}

static void set_up(struct fixture *f)
{
	struct tw_err err = { 0 };

	*f = (struct fixture){ .top = scratch_new() };
	pthread_mutex_init(&f->server.lock, NULL);
	assert_int_equal(tw_path_join(&f->db, &err, f->top, "db", NULL), 0);
	assert_int_equal(tw_dir_make(f->db, &err), 0);
	open_server(&f->server, "127.0.0.1:0");
	answer(&f->server, 404, NULL, 0);
	assert_int_equal(tw_strs_split(&f->request.metrics,
				       "cpu_cycles,cache_miss,cpu_instructions", &err),
			 0);
	f->config.server_url = f->server.url;
	f->request.output = TW_ABS_POWER;
	f->request.source = tw_energy_source_find("rapl-sysfs");
}

/* In this process: lib/ask/fetch.h has tests of its own. */
static int call_here(void *arg, const struct tw_http_call *c, struct tw_http_answer *out,
		     struct tw_err *err)
{
	(void)arg;
	return tw_http_call(c, out, err);
}

static void start(struct fixture *f)
{
	struct tw_err err = { 0 };

	f->config.model_db = f->db;
	f->config.http.call = call_here;
	f->config.sys = f->top;
	if (tw_models_open(&f->config, &f->models, &err) < 0)
		fail_msg("%s", err.text);
}

static void tear_down(struct fixture *f)
{
	tw_models_close(f->models);
	tw_httpd_close(f->server.httpd);
	free(f->server.body);
	free(f->server.asked);
	pthread_mutex_destroy(&f->server.lock);
	tw_strs_clear(&f->request.metrics);
	free(f->db);
	scratch_free(f->top);
}

/* Until it is the model of that name that is served; "": until there is none. */
static void expect_model(struct fixture *f, const char *name)
{
	for (int i = 0; i < PATIENCE_MS / 10; i++) {
		struct tw_served *served = NULL;
		struct tw_err why = { 0 };
		struct pollfd p = { .fd = tw_models_fd(f->models), .events = POLLIN };
		enum tw_models_state state =
			tw_models_find(f->models, &f->request, &served, &why);
		bool right = state == TW_MODELS_NONE && name[0] == '\0';
		uint64_t count;

		if (state == TW_MODELS_READY) {
			right = strcmp(tw_power_model_info(served->model)->name, name) ==
				0;
			tw_models_release(f->models, served);
		}
		if (right)
			return;
		if (poll(&p, 1, 10) > 0)
			assert_int_equal(read(p.fd, &count, sizeof(count)),
					 sizeof(count));
	}
	fail_msg("'%s' is not served", name);
}

static void a_model_of_the_server_precedes_one_of_the_database(void **state)
{
	struct fixture f;
	struct tw_err err = { 0 };
	json_t *asked = NULL;
	const char *text = NULL;

	(void)state;
	set_up(&f);
	publish(&f, &(struct sample){ .trainer = "OfDatabase" });
	answer_model(&f.server, &(struct sample){ .trainer = "OfServer" });
	start(&f);
	expect_model(&f, "OfServer_0");

	assert_int_equal(tw_json_parse(f.server.asked, strlen(f.server.asked), "asked",
				       &asked, &err),
			 0);
	assert_int_equal(tw_json_text(asked, "asked", "output_type", false, &text, &err),
			 0);
	assert_string_equal(text, "AbsPower");
	assert_int_equal(tw_json_text(asked, "asked", "source", false, &text, &err), 0);
	assert_string_equal(text, "rapl-sysfs");
	assert_int_equal(json_array_size(json_object_get(asked, "metrics")), 3);
	assert_true(json_is_false(json_object_get(asked, "weight")));
	json_decref(asked);
	tear_down(&f);
}

static void a_server_may_be_below_a_path(void **state)
{
	struct fixture f;
	char url[128];

	(void)state;
	set_up(&f);
	answer_model(&f.server, &(struct sample){ .trainer = "Below" });
	snprintf(url, sizeof(url), "%s/below/", f.server.url);
	f.config.server_url = url;
	start(&f);
	expect_model(&f, "Below_0");
	tear_down(&f);
}

static void the_database_serves_if_the_server_has_no_model(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	publish(&f, &(struct sample){ .trainer = "OfDatabase" });
	start(&f);
	expect_model(&f, "OfDatabase_0");
	tear_down(&f);
}

/* Kepler's requests have version 1, and its default name means any linear model. */
static void a_default_trainer_is_served_by_any_linear_model(void **state)
{
	struct fixture f;

	(void)state;
	for (int from_server = 0; from_server < 2; from_server++) {
		const struct sample other = { .trainer = "LinearRegressionTrainer" };

		set_up(&f);
		if (from_server)
			answer_model(&f.server, &other);
		else
			publish(&f, &other);
		f.request.trainer = "SGDRegressorTrainer";
		f.request.version = 1;
		start(&f);
		expect_model(&f, "LinearRegressionTrainer_0");
		if (from_server)
			assert_non_null(
				strstr(f.server.asked, "\"model_classes\":[\"linear\"]"));
		f.request.version = 2;
		expect_model(&f, "");
		tear_down(&f);
	}
}

static void a_server_that_fails_is_asked_without_model_classes(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f);
	f.server.strict = true;
	answer_model(&f.server, &(struct sample){ .trainer = "OfServer" });
	start(&f);
	expect_model(&f, "OfServer_0");
	assert_null(strstr(f.server.asked, "model_classes"));
	assert_non_null(strstr(f.server.asked, "\"weight\":false"));
	assert_int_equal(f.server.calls, 2);
	tear_down(&f);
}

static void invalid_models_of_the_server_are_rejected(void **state)
{
	static const struct sample wrong[] = {
		{ .trainer = "Wrong", .output = TW_DYN_POWER },
		{ .trainer = "Wrong", .source = "acpi" },
		{ .trainer = "Wrong", .group = "BPFOnly" },
		{ .trainer = "Wrong", .predictor = "scikit" },
	};

	(void)state;
	for (size_t i = 0; i <= TW_COUNT(wrong); i++) {
		struct fixture f;

		set_up(&f);
		if (i < TW_COUNT(wrong))
			answer_model(&f.server, &wrong[i]);
		else
			answer(&f.server, 200, strdup("rubbish"), 7);
		start(&f);
		expect_model(&f, "");
		assert_true(f.server.calls > 0);
		tear_down(&f);
	}
}

/* Without its server the old estimator ended at the first request. */
static void an_unreachable_server_is_asked_again(void **state)
{
	struct fixture f;
	char address[64];

	(void)state;
	set_up(&f);
	snprintf(address, sizeof(address), "%s", tw_httpd_address(f.server.httpd));
	tw_httpd_close(f.server.httpd);
	start(&f);
	expect_model(&f, "");
	answer_model(&f.server, &(struct sample){ .trainer = "OfServer" });
	open_server(&f.server, address);
	expect_model(&f, "OfServer_0");
	tear_down(&f);
}

static void stop(struct fixture *f)
{
	tw_models_close(f->models);
	f->models = NULL;
}

static void a_bad_answer_to_a_refresh_changes_nothing(void **state)
{
	struct fixture f;
	unsigned calls;

	(void)state;
	set_up(&f);
	f.config.refresh_ms = 10;
	answer_model(&f.server, &(struct sample){ .trainer = "First" });
	start(&f);
	expect_model(&f, "First_0");
	answer_model(&f.server, &(struct sample){ .trainer = "Second" });
	expect_model(&f, "Second_0");
	answer(&f.server, 200, strdup("rubbish"), 7);
	pthread_mutex_lock(&f.server.lock);
	calls = f.server.calls;
	pthread_mutex_unlock(&f.server.lock);
	for (bool asked = false; !asked;) {
		pthread_mutex_lock(&f.server.lock);
		asked = f.server.calls > calls;
		pthread_mutex_unlock(&f.server.lock);
		expect_model(&f, "Second_0");
	}
	tear_down(&f);
}

static void an_unchanged_answer_keeps_the_model(void **state)
{
	struct tw_models_counts counts = { 0 };
	struct fixture f;

	(void)state;
	set_up(&f);
	f.config.refresh_ms = 1;
	answer_model(&f.server, &(struct sample){ .trainer = "OfServer" });
	f.config.server_path = "other";
	start(&f);
	while (counts.of[TW_ORIGIN_SERVER].lookups < 5) {
		expect_model(&f, "OfServer_0");
		tw_models_count(f.models, &counts);
	}
	assert_int_equal(counts.of[TW_ORIGIN_SERVER].loaded, 1);
	assert_int_equal(counts.of[TW_ORIGIN_SERVER].failed, 0);
	assert_int_equal(counts.of[TW_ORIGIN_SERVER].serving, 1);
	tear_down(&f);
}

static void the_cached_model_serves_while_the_server_is_down(void **state)
{
	struct tw_served *in_use[TW_MODELS_KEYS_MAX];
	struct tw_err err = { 0 };
	struct fixture f;
	char *keep = NULL;

	(void)state;
	set_up(&f);
	assert_int_equal(tw_path_join(&keep, &err, f.top, "keep", NULL), 0);
	f.config.keep_dir = keep;
	answer_model(&f.server, &(struct sample){ .trainer = "OfServer" });
	start(&f);
	expect_model(&f, "OfServer_0");
	stop(&f);
	answer(&f.server, 500, NULL, 0);
	start(&f);
	expect_model(&f, "OfServer_0");
	assert_int_equal(tw_models_in_use(f.models, in_use), 1);
	assert_int_equal(in_use[0]->origin, TW_ORIGIN_SERVER);
	assert_string_equal(in_use[0]->from, f.server.url);
	tw_models_release(f.models, in_use[0]);
	/* Another key has another cached model. */
	f.request.trainer = "Other";
	expect_model(&f, "");
	free(keep);
	tear_down(&f);
}

static void a_configured_url_serves_if_the_server_has_no_model(void **state)
{
	struct tw_init_urls urls = { 0 };
	struct tw_err err = { 0 };
	struct fixture f;
	char url[128];

	(void)state;
	set_up(&f);
	snprintf(url, sizeof(url), "http://u:secret@%s/init.zip",
		 tw_httpd_address(f.server.httpd));
	setenv("NODE_COMPONENTS_INIT_URL", url, 1);
	assert_int_equal(tw_init_urls_read(&urls, &err), 0);
	unsetenv("NODE_COMPONENTS_INIT_URL");
	f.config.server_url = NULL;
	f.config.init_urls = &urls;
	publish(&f, &(struct sample){ .trainer = "OfDatabase" });
	answer_model(&f.server, &(struct sample){ .trainer = "OfUrl" });
	start(&f);
	expect_model(&f, "OfUrl_0");
	/* It is for another output. */
	f.request.output = TW_DYN_POWER;
	expect_model(&f, "");
	/* And of another trainer. */
	f.request.output = TW_ABS_POWER;
	f.request.trainer = "OfDatabase";
	expect_model(&f, "OfDatabase_0");
	tear_down(&f);
	tw_init_urls_release(&urls);
}

static void the_shipped_database_is_the_last_resort(void **state)
{
	struct tw_err err = { 0 };
	struct fixture f;
	char *shipped = NULL;

	(void)state;
	set_up(&f);
	assert_int_equal(tw_path_join(&shipped, &err, f.top, "shipped", NULL), 0);
	assert_int_equal(tw_dir_make(shipped, &err), 0);
	sample_publish(shipped, "p", &(struct sample){ .trainer = "Shipped" }, 1);
	f.config.shipped_db = shipped;
	start(&f);
	expect_model(&f, "Shipped_0");
	publish(&f, &(struct sample){ .trainer = "OfDatabase" });
	expect_model(&f, "OfDatabase_0");
	free(shipped);
	tear_down(&f);
}

static void without_any_origin_the_error_says_so(void **state)
{
	const struct tw_models_config c = { .sys = "/nonexistent" };
	struct tw_served *served = NULL;
	struct tw_err err = { 0 };
	struct fixture f;

	(void)state;
	set_up(&f);
	assert_int_equal(tw_models_open(&c, &f.models, &err), 0);
	assert_int_equal(tw_models_find(f.models, &f.request, &served, &err),
			 TW_MODELS_NONE);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text,
			    "no model database and no model server are configured");
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_of_the_server_precedes_one_of_the_database),
		cmocka_unit_test(a_server_may_be_below_a_path),
		cmocka_unit_test(the_database_serves_if_the_server_has_no_model),
		cmocka_unit_test(a_default_trainer_is_served_by_any_linear_model),
		cmocka_unit_test(invalid_models_of_the_server_are_rejected),
		cmocka_unit_test(a_server_that_fails_is_asked_without_model_classes),
		cmocka_unit_test(an_unreachable_server_is_asked_again),
		cmocka_unit_test(a_bad_answer_to_a_refresh_changes_nothing),
		cmocka_unit_test(an_unchanged_answer_keeps_the_model),
		cmocka_unit_test(the_cached_model_serves_while_the_server_is_down),
		cmocka_unit_test(a_configured_url_serves_if_the_server_has_no_model),
		cmocka_unit_test(the_shipped_database_is_the_last_resort),
		cmocka_unit_test(without_any_origin_the_error_says_so),
	};
	struct tw_err err = { 0 };

	tw_log_init("test_models", TW_LOG_ERROR, TW_LOG_LOGFMT);
	if (tw_http_init(&err) < 0)
		return 1;
	return cmocka_run_group_tests_name("models", tests, NULL, NULL);
}
