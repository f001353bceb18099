/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_service.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/program/log.h"
#include "lib/zip/zip.h"
#include "model-db/publish.h"
#include "profiler/node_types.h"
#include "trainer/train.h"
#include "trainer/train_request.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tw_train_service {
	struct tw_train_service_config config;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool busy, stopping;
	unsigned waiting;
	struct tw_log_limit refusals;
};

/* ---- queue ---- */

/* Wait until no training runs. False: the queue is full, or the service stops. */
static bool take_turn(struct tw_train_service *s)
{
	bool taken = false;

	pthread_mutex_lock(&s->lock);
	if (!s->busy || s->waiting < s->config.queue) {
		s->waiting++;
		while (s->busy && !s->stopping)
			pthread_cond_wait(&s->changed, &s->lock);
		s->waiting--;
		taken = !s->stopping;
		s->busy |= taken;
	}
	pthread_mutex_unlock(&s->lock);
	return taken;
}

static void end_turn(struct tw_train_service *s)
{
	pthread_mutex_lock(&s->lock);
	s->busy = false;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void tw_train_service_stop(struct tw_train_service *s)
{
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_cond_broadcast(&s->changed);
	while (s->busy)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

/* ---- POST /train ---- */

static int begin_body(void *app, void **stream, struct tw_err *err)
{
	struct tw_train_reader *reader;

	(void)app;
	if (tw_train_reader_new(&reader, err) < 0)
		return -1;
	*stream = reader;
	return 0;
}

static int feed_body(void *stream, const char *data, size_t len, struct tw_err *err)
{
	return tw_train_reader_feed(stream, data, len, err);
}

static void free_body(void *stream)
{
	tw_train_reader_free(stream);
}

static void log_result(const char *name, const struct tw_train_result *r)
{
	for (size_t i = 0; i < r->rows; i++) {
		const struct tw_train_row *row = &r->row[i];

		if (row->failure[0] != '\0')
			tw_log_warn(
				"pipeline '%s': no model %s %s %s %s for node type %zu, "
				"going on without it: %s",
				name, row->source, row->output, row->group, row->trainer,
				row->node_type, row->failure);
	}
	tw_log_info("pipeline '%s': models=%zu extract_ms=%" PRIu64 " isolate_ms=%" PRIu64
		    " fit_ms=%" PRIu64 " pack_ms=%" PRIu64,
		    name, r->models, r->extract_ns / 1000000, r->isolate_ns / 1000000,
		    r->fit_ns / 1000000, r->pack_ns / 1000000);
}

/* Train, publish and zip. *zip is the caller's to free. */
static int make_pipeline(struct tw_train_service *s, struct tw_train_request *q,
			 char **zip, size_t *len, struct tw_err *err)
{
	const struct tw_train_response response = { .prom = q->response,
						    .origin = "POST /train" };
	struct tw_node_types known = { 0 };
	const struct tw_train_job job = {
		.name = q->name,
		.responses = &response,
		.response_count = 1,
		.known = &known,
		.source = q->source,
		.thirdparty = &q->thirdparty,
		.abs_trainers = q->abs_trainers,
		.dyn_trainers = q->dyn_trainers,
		.isolator = q->isolator,
		.isolation = { .target_hints = q->target_hints,
			       .bg_hints = q->bg_hints,
			       .model_db = s->config.model_db,
			       .abs_pipeline = q->abs_pipeline != NULL ? q->abs_pipeline
								       : q->name,
			       .idle = q->idle,
			       .source = q->source },
		.resets = s->config.resets,
		.smooth = q->smooth,
		.vm_metrics = q->vm_metrics,
		.seed = s->config.seed,
		.threads = s->config.threads,
	};
	struct tw_train_result result = { 0 };
	char *data = NULL;
	size_t data_len;
	int rc = -1;

	if (s->config.model_db != NULL &&
	    tw_pipeline_known(s->config.model_db, q->name, &known, err) < 0)
		goto out;
	if (tw_train(&job, &result, err) < 0)
		goto out;
	if (s->config.model_db != NULL &&
	    tw_pipeline_update(s->config.model_db, q->name, &result.pipeline,
			       s->config.signer, err) < 0)
		goto out;
	if (tw_zip_write(&result.pipeline, &data, &data_len, err) < 0)
		goto out;
	log_result(q->name, &result);

	*zip = data;
	*len = data_len;
	data = NULL;
	rc = 0;
out:
	free(data);
	tw_node_types_release(&known);
	tw_train_result_release(&result);
	return rc;
}

/* Any client can cause these lines, so their rate is limited. */
static void log_refusal(struct tw_train_service *s, const char *why)
{
	pthread_mutex_lock(&s->lock);
	tw_log_warn_limited(&s->refusals, "training refused: %s", why);
	pthread_mutex_unlock(&s->lock);
}

/* Missing metrics are an error of the request: 400, because 404 means the path. */
static void refuse(struct tw_train_service *s, struct tw_http_reply *r,
		   const struct tw_err *err)
{
	log_refusal(s, err->text);
	if (err->code == TW_NOTFOUND)
		tw_http_reply_problem(r, 400, err->text);
	else
		tw_http_reply_error(r, err);
}

static void answer_zip(struct tw_http_reply *r, const char *name, char *zip, size_t len)
{
	r->content_type = "application/zip";
	tw_http_reply_take(r, zip, len);
	if (asprintf(&r->attachment, "%s.zip", name) < 0)
		r->attachment = NULL;
}

static void handle_train(void *app, const struct tw_http_request *request,
			 struct tw_http_reply *r)
{
	struct tw_train_service *s = app;
	struct tw_train_request q = { 0 };
	struct tw_err err = { 0 };
	char *zip;
	size_t len;
	int status;

	if (tw_train_reader_end(request->stream, &q, &err) < 0) {
		refuse(s, r, &err);
		return;
	}
	if (take_turn(s)) {
		status = make_pipeline(s, &q, &zip, &len, &err);
		end_turn(s);
		if (status < 0)
			refuse(s, r, &err);
		else
			answer_zip(r, q.name, zip, len);
	} else {
		tw_log_warn(
			"pipeline '%s': answered 503: the queue is full (--queue), or "
			"the program stops",
			q.name);
		tw_http_reply_problem(r, 503,
				      "the queue of trainings is full, or the program "
				      "stops; try again later");
	}
	tw_train_request_release(&q);
}

static const struct tw_http_body train_body = {
	.begin = begin_body,
	.feed = feed_body,
	.free = free_body,
};

static const struct tw_http_route route_train = {
	.method = "POST",
	.path = "/train",
	.body = &train_body,
	.handle = handle_train,
};

/* ---- GET /healthz ---- */

static void handle_health(void *app, const struct tw_http_request *request,
			  struct tw_http_reply *r)
{
	static const char body[] = "{\"status\":\"ok\"}";

	(void)app;
	(void)request;
	tw_http_reply_lend(r, body, sizeof(body) - 1, NULL, NULL);
}

static const struct tw_http_route route_health = {
	.method = "GET",
	.path = "/healthz",
	.handle = handle_health,
};

const struct tw_http_route *const tw_train_service_routes[] = { &route_health,
								&route_train };
const size_t tw_train_service_route_count = TW_COUNT(tw_train_service_routes);

/* ---- the service ---- */

int tw_train_service_new(const struct tw_train_service_config *config,
			 struct tw_train_service **out, struct tw_err *err)
{
	struct tw_train_service *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return tw_fail(err, TW_NOMEM, "training service");
	s->config = *config;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	*out = s;
	return 0;
}

void tw_train_service_free(struct tw_train_service *s)
{
	if (s == NULL)
		return;
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
