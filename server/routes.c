/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/http/server/httpd_reply.h"
#include "lib/json/writer.h"
#include "model-db/index/index.h"
#include "server/service.h"
#include "web/page.h"

#include <stdint.h>
#include <unistd.h>

/* Liveness: the process answers. It is alive without models, too. */
static void answer_alive(void *app, const struct tw_http_request *q,
			 struct tw_http_reply *r)
{
	struct tw_service *s = app;
	struct tw_buf b = { 0 };

	(void)q;
	tw_json_add_object(&b, NULL);
	tw_json_add_text(&b, "status", "ok");
	tw_json_add_uint(&b, "models", tw_catalog_count(&s->catalog));
	tw_json_end_object(&b);
	tw_http_reply_buf(r, &b);
}

/* Readiness: there are models. */
static void answer_ready(void *app, const struct tw_http_request *q,
			 struct tw_http_reply *r)
{
	struct tw_service *s = app;
	struct tw_index *index = tw_catalog_ref(&s->catalog, r);

	if (index == NULL)
		return;
	tw_index_unref(index);
	answer_alive(app, q, r);
}

/* server/openapi.json. A test compares it with the table of routes. */
static const char document[] = {
#include <server/openapi.inc>
};

static void get_openapi(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	(void)app;
	(void)q;
	tw_http_reply_openapi(r, document, sizeof(document));
}

/* Limit of the zip; lib/zip/zip.h has the limits of its contents. */
#define PIPELINE_BYTES_MAX ((size_t)256 << 20)

/* A real request has some hundred bytes. */
#define MODEL_REQUEST_MAX ((size_t)64 * 1024)

/*
 * The main thread reloads. Requests that arrive before it does are served by one reload.
 */
static void post_reload(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	static const char body[] = "{\"status\":\"reloading\"}";
	const struct tw_service *s = app;
	const uint64_t one = 1;

	(void)q;
	if (s->reload_fd < 0 ||
	    write(s->reload_fd, &one, sizeof(one)) != (ssize_t)sizeof(one)) {
		tw_http_reply_problem(r, 503, "cannot reload now");
		return;
	}
	tw_http_reply_lend(r, body, sizeof(body) - 1, NULL, NULL);
	r->status = 202;
}

#define MODEL_PATH "/api/v1/models/{pipeline}/{source}/{output}/{group}/{model}"

static const struct tw_http_route routes[] = {
	{ "GET", "/", .handle = tw_page_models },
	{ "GET", "/-/healthy", .handle = answer_alive },
	{ "GET", "/-/ready", .handle = answer_ready },
	{ "POST", "/-/reload", .handle = post_reload, .body_max = 1024 },
	{ "GET", "/api/v1/models", .handle = tw_get_models },
	{ "GET", MODEL_PATH, .handle = tw_get_model },
	{ "GET", MODEL_PATH "/card", .handle = tw_get_card },
	{ "GET", MODEL_PATH "/curve", .handle = tw_get_curve },
	{ "GET", MODEL_PATH "/plots", .handle = tw_get_plots },
	{ "GET", MODEL_PATH "/plots/{component}/{plot}", .handle = tw_get_plot },
	{ "GET", MODEL_PATH "/weights", .handle = tw_get_weights },
	{ "GET", MODEL_PATH "/zip", .handle = tw_get_model_zip },
	{ "GET", "/api/v1/node-types", .handle = tw_get_node_types },
	{ "GET", "/api/v1/pipelines", .handle = tw_get_pipelines },
	{ "GET", "/api/v1/pipelines/{pipeline}", .handle = tw_get_pipeline },
	{ "PUT", "/api/v1/pipelines/{pipeline}", .handle = tw_put_pipeline,
	  .body_max = PIPELINE_BYTES_MAX, .allow = tw_allow_publish, .slow = true },
	{ "POST", "/api/v1/pipelines/{pipeline}/rollback", .handle = tw_post_rollback,
	  .body_max = 1024, .allow = tw_allow_publish, .slow = true },
	{ "GET", "/api/v1/pipelines/{pipeline}/zip", .handle = tw_get_pipeline_zip },
	{ "GET", "/best-models", .handle = tw_get_best_models },
	{ "GET", "/healthz", .handle = answer_alive },
	{ "GET", "/livez", .handle = answer_alive },
	{ "GET", "/metrics", .handle = tw_get_metrics },
	{ "POST", "/model", .handle = tw_post_model, .body_max = MODEL_REQUEST_MAX },
	{ "GET", "/models/{file}", .handle = tw_get_pipeline_file },
	{ "GET", "/models/{pipeline}/{source}/{output}/{group}/{file}",
	  .handle = tw_get_model_file },
	{ "GET", "/openapi.json", .handle = get_openapi },
	{ "GET", "/readyz", .handle = answer_ready },
	{ "GET", "/web/{file}", .handle = tw_page_models },
};

const struct tw_http_route *tw_server_routes(size_t *count)
{
	*count = TW_COUNT(routes);
	return routes;
}
