/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/service/train_service.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/server/httpd_reply.h"
#include "lib/http/server/httpd_stats.h"
#include "lib/json/writer.h"
#include "lib/program/log.h"
#include "trainer/service/job_record.h"
#include "trainer/service/jobs.h"
#include "trainer/service/train_request.h"
#include "web/page.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tw_train_service {
	struct tw_trainings *trainings;
	const struct tw_http_stats *stats; /* or NULL */
	struct tw_train_part part[TW_TRAIN_PARTS_MAX];
	size_t parts;
	pthread_mutex_t lock; /* guards refusals */
	struct tw_log_limit refusals;
};

static struct tw_jobs *jobs_of(void *service)
{
	return tw_trainings_jobs(((struct tw_train_service *)service)->trainings);
}

/* ---- the body of a request ---- */

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

static const struct tw_http_body train_body = {
	.begin = begin_body,
	.feed = feed_body,
	.free = free_body,
};

/* ---- refusals ---- */

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

static int set_user(struct tw_train_request *q, const char *user, struct tw_err *err)
{
	q->user = user != NULL ? strdup(user) : NULL;
	return user != NULL && q->user == NULL ? tw_fail(err, TW_NOMEM, "user") : 0;
}

/* Make a job of the request. NULL: r has the reason. */
static struct tw_training *take_request(struct tw_train_service *s,
					const struct tw_http_request *request,
					struct tw_http_reply *r)
{
	struct tw_training *g = NULL;
	struct tw_train_request q = { 0 };
	struct tw_err err = { 0 };
	bool full;

	if (tw_train_reader_end(request->stream, &q, &err) < 0 ||
	    set_user(&q, request->user, &err) < 0 ||
	    tw_trainings_may(s->trainings, q.user, q.name, &err) < 0) {
		refuse(s, r, &err);
		tw_train_request_release(&q);
		return NULL;
	}
	if (tw_training_new(s->trainings, &q, &g, &full, &err) == 0)
		return g;
	log_refusal(s, err.text);
	if (full)
		tw_http_reply_problem(r, 503, err.text);
	else
		tw_http_reply_error(r, &err);
	tw_train_request_release(&q);
	return NULL;
}

/* ---- POST /train ---- */

static void attach(struct tw_http_reply *r, const char *name)
{
	r->content_type = "application/zip";
	if (asprintf(&r->attachment, "%s.zip", name) < 0)
		r->attachment = NULL;
}

static void answer_failure(struct tw_train_service *s, struct tw_http_reply *r,
			   enum tw_job_state state, const struct tw_err *err)
{
	if (state == TW_JOB_LOST)
		tw_http_reply_problem(r, 503, "the program stops; try again later");
	else if (state == TW_JOB_CANCELLED)
		tw_http_reply_problem(r, 409, err->text);
	else
		refuse(s, r, err);
}

static void handle_train(void *app, const struct tw_http_request *request,
			 struct tw_http_reply *r)
{
	struct tw_train_service *s = app;
	struct tw_training *g = take_request(s, request, r);
	struct tw_job_end end;
	struct tw_err err = { 0 };
	char name[TW_JOB_PIPELINE];

	if (g == NULL)
		return;
	snprintf(name, sizeof(name), "%s", tw_training_pipeline(g));
	if (tw_training_run(g, true, &end, &err) < 0) {
		answer_failure(s, r, end.state, &err);
		return;
	}
	attach(r, name);
	tw_http_reply_take(r, end.zip, end.zip_len);
}

/* ---- jobs ---- */

/* A user who may train into a pipeline may see and cancel its jobs. */
static int check_reader(const struct tw_train_service *s, const char *user,
			const char *pipeline, struct tw_err *err)
{
	/* Without users everybody may. */
	return user != NULL ? tw_trainings_may(s->trainings, user, pipeline, err) : 0;
}

struct reader {
	const struct tw_train_service *service;
	const char *user;
	char pipeline[TW_JOB_PIPELINE]; /* the last one; jobs of it are neighbours */
	bool may;
};

static bool may_see(void *reader, const char *pipeline)
{
	struct reader *r = reader;
	struct tw_err ignored = { 0 };

	if (strcmp(r->pipeline, pipeline) != 0) {
		snprintf(r->pipeline, sizeof(r->pipeline), "%s", pipeline);
		r->may = check_reader(r->service, r->user, pipeline, &ignored) == 0;
	}
	return r->may;
}

static void answer_unknown(struct tw_http_reply *r, const char *id)
{
	struct tw_err err = { 0 };

	tw_fail(&err, TW_NOTFOUND, "no job '%.64s'", id);
	tw_http_reply_error(r, &err);
}

/* The id of a job that the request may read or cancel. NULL: r has the reason. */
static const char *find_job(struct tw_train_service *s, const struct tw_http_request *q,
			    struct tw_http_reply *r)
{
	const char *id = tw_http_param(q, "job");
	char pipeline[TW_JOB_PIPELINE];
	struct tw_err err = { 0 };

	if (!tw_jobs_pipeline(jobs_of(s), id, pipeline)) {
		answer_unknown(r, id);
		return NULL;
	}
	if (check_reader(s, q->user, pipeline, &err) == 0)
		return id;
	tw_http_reply_error(r, &err);
	return NULL;
}

static void answer_job(struct tw_train_service *s, const char *id, unsigned status,
		       struct tw_http_reply *r)
{
	struct tw_buf b = { 0 };

	if (!tw_jobs_show(jobs_of(s), id, &b)) {
		answer_unknown(r, id);
		return;
	}
	r->status = status;
	tw_http_reply_buf(r, &b);
}

static void post_job(void *app, const struct tw_http_request *request,
		     struct tw_http_reply *r)
{
	struct tw_train_service *s = app;
	struct tw_training *g = take_request(s, request, r);
	struct tw_err err = { 0 };
	char id[TW_JOB_ID], location[64];

	if (g == NULL)
		return;
	snprintf(id, sizeof(id), "%s", tw_training_id(g));
	if (tw_training_start(g, &err) < 0) {
		refuse(s, r, &err);
		return;
	}
	snprintf(location, sizeof(location), "/api/v1/jobs/%s", id);
	answer_job(s, id, 202, r);
	tw_http_reply_header(r, "Location", location);
}

static void get_jobs(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	struct reader reader = { .service = app, .user = q->user };
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };

	if (tw_jobs_list(jobs_of(app), may_see, &reader, &b, &err) < 0)
		tw_http_reply_error(r, &err);
	else
		tw_http_reply_tagged(q, r, &b);
}

static void get_job(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	const char *id = find_job(app, q, r);

	if (id != NULL)
		answer_job(app, id, 200, r);
}

/* The job exists, but its state does not let it. */
static void answer_job_error(struct tw_http_reply *r, const struct tw_err *err)
{
	if (err->code == TW_INVALID)
		tw_http_reply_problem(r, 409, err->text);
	else
		tw_http_reply_error(r, err);
}

static void delete_job(void *app, const struct tw_http_request *q,
		       struct tw_http_reply *r)
{
	const char *id = find_job(app, q, r);
	struct tw_err err = { 0 };

	if (id == NULL)
		return;
	if (tw_jobs_cancel(jobs_of(app), id, &err) < 0) {
		answer_job_error(r, &err);
		return;
	}
	tw_log_info("job %s: to be cancelled", id);
	answer_job(app, id, 202, r);
}

/* The zip of a finished job. NULL: the reply is an error. */
static struct tw_jobs_zip *find_zip(void *app, const struct tw_http_request *q,
				    struct tw_http_reply *r, const char **id)
{
	struct tw_jobs_zip *zip = NULL;
	struct tw_err err = { 0 };

	*id = find_job(app, q, r);
	if (*id != NULL && tw_jobs_zip(jobs_of(app), *id, &zip, &err) < 0)
		answer_job_error(r, &err);
	return zip;
}

static void get_pipeline(void *app, const struct tw_http_request *q,
			 struct tw_http_reply *r)
{
	const char *id, *data;
	struct tw_jobs_zip *zip = find_zip(app, q, r, &id);
	size_t len;

	if (zip == NULL)
		return;
	data = tw_jobs_zip_data(zip, &len);
	attach(r, id);
	tw_http_reply_lend(r, data, len, tw_jobs_zip_free, zip);
}

/* The models that a job made, with their errors and the quality of its recordings. */
static void get_report(void *app, const struct tw_http_request *q,
		       struct tw_http_reply *r)
{
	const char *id, *data;
	struct tw_jobs_zip *zip = find_zip(app, q, r, &id);
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };
	size_t len;

	if (zip == NULL)
		return;
	data = tw_jobs_zip_data(zip, &len);
	if (tw_job_report_write(data, len, &b, &err) < 0) {
		tw_http_reply_error(r, &err);
		tw_buf_clear(&b);
	} else {
		tw_http_reply_buf(r, &b);
	}
	tw_jobs_zip_free(zip);
}

/* ---- units of work ---- */

static void get_units(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	const struct tw_train_service *s = app;
	struct tw_buf b = { 0 };

	tw_json_add_object(&b, NULL);
	tw_json_add_array(&b, "units");
	for (size_t i = 0; i < s->parts; i++)
		if (s->part[i].units != NULL)
			s->part[i].units(s->part[i].arg, &b);
	tw_json_end_array(&b);
	tw_json_end_object(&b);
	tw_http_reply_tagged(q, r, &b);
}

/* ---- health and metrics ---- */

static void get_health(void *app, const struct tw_http_request *request,
		       struct tw_http_reply *r)
{
	const struct tw_train_service *s = app;
	struct tw_buf b = { 0 };

	(void)request;
	tw_json_add_object(&b, NULL);
	tw_json_add_text(&b, "status", "ok");
	for (size_t i = 0; i < s->parts; i++)
		if (s->part[i].health != NULL)
			s->part[i].health(s->part[i].arg, &b);
	tw_json_end_object(&b);
	tw_http_reply_buf(r, &b);
}

enum { JOBS, JOBS_MAX };

static const struct tw_expo_family families[] = {
	[JOBS] = { "tw_trainer_jobs", TW_EXPO_GAUGE, NULL,
		   "Jobs by state, of those that the trainer keeps." },
	[JOBS_MAX] = { "tw_trainer_jobs_max", TW_EXPO_GAUGE, NULL,
		       "Limit of jobs that wait and run." },
};

const struct tw_expo_table tw_train_service_families[] = { TW_EXPO_TABLE(families),
							   { .first = NULL } };

static void write_metrics(void *service, struct tw_expo *e)
{
	struct tw_train_service *s = service;
	size_t count[TW_JOB_STATES];

	tw_jobs_count(jobs_of(s), count);
	tw_http_stats_write(s->stats, "tw-trainer", e);
	tw_expo_family(e, &families[JOBS]);
	for (size_t i = 0; i < TW_JOB_STATES; i++)
		tw_expo_count_by(e, "state", tw_job_state_name((enum tw_job_state)i),
				 count[i]);
	tw_expo_single(e, &families[JOBS_MAX], tw_trainings_max(s->trainings));
	for (size_t i = 0; i < s->parts; i++)
		if (s->part[i].metrics != NULL)
			s->part[i].metrics(s->part[i].arg, e);
}

static void get_metrics(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	tw_http_reply_metrics(q, r, write_metrics, app);
}

/* trainer/service/openapi.json. A test compares it with the table of routes. */
static const char document[] = {
#include <trainer/service/openapi.inc>
};

static void get_openapi(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	(void)app;
	(void)q;
	tw_http_reply_openapi(r, document, sizeof(document));
}

const struct tw_http_route tw_train_service_routes[] = {
	{ "DELETE", "/api/v1/jobs/{job}", .handle = delete_job },
	{ "GET", "/healthz", .handle = get_health },
	{ "GET", "/api/v1/jobs/{job}", .handle = get_job },
	{ "GET", "/api/v1/jobs", .handle = get_jobs },
	{ "GET", "/metrics", .handle = get_metrics },
	{ "GET", "/api/v1/jobs/{job}/pipeline", .handle = get_pipeline },
	{ "GET", "/api/v1/jobs/{job}/report", .handle = get_report },
	{ "GET", "/api/v1/units", .handle = get_units },
	{ "POST", "/api/v1/train", .handle = post_job, .body = &train_body },
	{ "POST", "/train", .handle = handle_train, .body = &train_body },
	{ "GET", "/", .handle = tw_page_jobs },
	{ "GET", "/web/{file}", .handle = tw_page_jobs },
	{ "GET", "/openapi.json", .handle = get_openapi },
};
const size_t tw_train_service_route_count = TW_COUNT(tw_train_service_routes);

/* ---- the service ---- */

int tw_train_service_new(const struct tw_trainings_config *config,
			 const struct tw_http_stats *stats, struct tw_train_service **out,
			 struct tw_err *err)
{
	struct tw_train_service *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return tw_fail(err, TW_NOMEM, "training service");
	s->stats = stats;
	pthread_mutex_init(&s->lock, NULL);
	if (tw_trainings_open(config, &s->trainings, err) < 0) {
		tw_train_service_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

struct tw_trainings *tw_train_service_trainings(struct tw_train_service *s)
{
	return s->trainings;
}

void tw_train_service_add(struct tw_train_service *s, const struct tw_train_part *part)
{
	s->part[s->parts++] = *part;
}

void tw_train_service_stop(struct tw_train_service *s)
{
	tw_trainings_stop(s->trainings);
}

void tw_train_service_free(struct tw_train_service *s)
{
	if (s == NULL)
		return;
	tw_trainings_close(s->trainings);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
