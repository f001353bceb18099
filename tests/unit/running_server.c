/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/running_server.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/http/client/http.h"
#include "lib/http/server/httpd_stats.h"
#include "lib/zip/fileset.h"
#include "model-db/index/index.h"
#include "model-db/index/index_load.h"
#include "model-db/pipeline.h"
#include "model-db/publish.h"
#include "server/routes.h"
#include "tests/unit/http_calls.h"
#include "tests/unit/sample_model.h"
#include "tests/unit/scratch.h"
#include "tests/unit/tw_test.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct running_server running = { .service = TW_SERVICE_EMPTY };

static const struct sample samples[] = {
	{ .mae_w = 2 },
	{ .trainer = "XgboostFitTrainer", .predictor = "xgboost", .mae_w = 1 },
	{ .group = "BPFOnly", .node_type = 3, .mae_w = 4 },
	{ .group = "Basic", .output = TW_DYN_POWER, .metadata = "{\"r2\":0.9}" },
	{ .source = "acpi", .mae_w = 5 },
};

void running_publish(void)
{
	struct tw_model m[TW_COUNT(samples)] = { 0 };
	json_t *metadata = json_pack("{s:s}", "name", "one");
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };

	assert_non_null(metadata);
	for (size_t i = 0; i < TW_COUNT(samples); i++) {
		sample_model(&samples[i], &m[i]);
		assert_int_equal(tw_pipeline_add_model(&files, &m[i], &err), 0);
	}
	assert_int_equal(
		tw_pipeline_add_summary(&files, metadata, m, TW_COUNT(samples), &err), 0);
	assert_int_equal(tw_pipeline_publish(running.db, "one", &files, &err), 0);
	for (size_t i = 0; i < TW_COUNT(samples); i++)
		tw_model_release(&m[i]);
	json_decref(metadata);
	tw_fileset_clear(&files);
}

void running_load(void)
{
	struct tw_index *index;
	struct tw_err err = { 0 };

	assert_int_equal(tw_index_load(running.db, NULL, NULL, &index, &err), 0);
	tw_catalog_take(&running.service.catalog, index);
}

int running_start(void **state)
{
	struct tw_httpd_config c = { .listen = "127.0.0.1:0", .app = &running.service };
	struct tw_err err = { 0 };

	running.dir = scratch_new();
	assert_int_equal(tw_path_join(&running.db, &err, running.dir, "db", NULL), 0);
	c.routes = tw_server_routes(&c.route_count);
	assert_int_equal(
		tw_http_stats_new(c.routes, c.route_count, &running.service.http, &err),
		0);
	c.stats = running.service.http;
	assert_int_equal(http_begin(state), 0);
	assert_int_equal(tw_httpd_open(&c, &running.httpd, &err), 0);
	return 0;
}

int running_start_loaded(void **state)
{
	running_start(state);
	running_publish();
	running_load();
	return 0;
}

int running_stop(void **state)
{
	(void)state;
	tw_httpd_close(running.httpd);
	tw_catalog_take(&running.service.catalog, NULL);
	tw_http_stats_free(running.service.http);
	free(running.db);
	scratch_free(running.dir);
	return 0;
}

struct tw_http_answer running_ask(const char *path, const char *body)
{
	struct tw_http_answer a = { 0 };
	struct tw_err err = { 0 };
	char url[512];
	const struct tw_http_call c = { .url = url,
					.body = body,
					.body_len = body != NULL ? strlen(body) : 0 };

	snprintf(url, sizeof(url), "http://%s%s", tw_httpd_address(running.httpd), path);
	if (tw_http_call(&c, &a, &err) < 0)
		fail_msg("%s", err.text);
	return a;
}

void running_answers(const char *path, const char *body, unsigned status,
		     const char *want)
{
	struct tw_http_answer a = running_ask(path, body);

	if (a.status != status || strcmp(a.body, want) != 0)
		fail_msg("%s %s: %u %s", path, body != NULL ? body : "", a.status,
			 a.body);
	assert_string_equal(a.content_type, status == 200 ? "application/json"
							  : "application/problem+json");
	tw_http_answer_release(&a);
}

void running_refuses(const char *path, const char *body, unsigned status,
		     const char *detail)
{
	struct tw_http_answer a = running_ask(path, body);
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

void running_shows(const char *path, unsigned status, const char *type, const char *want)
{
	struct tw_http_answer a = running_ask(path, NULL);

	if (a.status != status || strstr(a.body, want) == NULL)
		fail_msg("%s: %u %s", path, a.status, a.body);
	assert_string_equal(a.content_type, type);
	tw_http_answer_release(&a);
}
