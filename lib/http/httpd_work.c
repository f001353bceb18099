/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/httpd_work.h"

#include "lib/core/err.h"
#include "lib/http/httpd_reply.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct tw_httpd_work {
	void *app;
	pthread_t thread;
	bool joined;

	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t more;
	struct tw_httpd_job *first, **end;
	size_t count; /* queued and in progress */
	bool stop;
};

static void handle(struct tw_httpd_work *w, struct tw_httpd_job *job, bool stopping)
{
	if (stopping)
		tw_http_reply_problem(&job->reply, MHD_HTTP_SERVICE_UNAVAILABLE,
				      "the server is stopping");
	else
		job->request.route->handle(w->app, &job->request, &job->reply);
	pthread_mutex_lock(&w->lock);
	w->count--;
	pthread_mutex_unlock(&w->lock);
	/* From here on the job belongs to the connection's thread. */
	MHD_resume_connection(job->request.query);
}

/* Wait for a job. NULL: the thread stops and the queue is empty. */
static struct tw_httpd_job *take(struct tw_httpd_work *w, bool *stopping)
{
	struct tw_httpd_job *job;

	pthread_mutex_lock(&w->lock);
	while (w->first == NULL && !w->stop)
		pthread_cond_wait(&w->more, &w->lock);
	job = w->first;
	if (job != NULL)
		w->first = job->next;
	if (w->first == NULL)
		w->end = &w->first;
	*stopping = w->stop;
	pthread_mutex_unlock(&w->lock);
	return job;
}

static void *work(void *arg)
{
	struct tw_httpd_work *w = arg;
	struct tw_httpd_job *job;
	bool stopping;

	while ((job = take(w, &stopping)) != NULL)
		handle(w, job, stopping);
	return NULL;
}

int tw_httpd_work_open(void *app, struct tw_httpd_work **out, struct tw_err *err)
{
	struct tw_httpd_work *w = calloc(1, sizeof(*w));
	int e;

	if (w == NULL)
		return tw_fail(err, TW_NOMEM, "queue of slow requests");
	w->app = app;
	w->end = &w->first;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	e = pthread_create(&w->thread, NULL, work, w);
	if (e != 0) {
		w->joined = true;
		tw_httpd_work_close(w);
		return tw_fail_errno(err, e, "cannot start a thread");
	}
	*out = w;
	return 0;
}

void tw_httpd_work_stop(struct tw_httpd_work *w)
{
	if (w == NULL || w->joined)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	w->joined = true;
}

void tw_httpd_work_close(struct tw_httpd_work *w)
{
	if (w == NULL)
		return;
	tw_httpd_work_stop(w);
	pthread_cond_destroy(&w->more);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

struct tw_httpd_job *tw_httpd_work_add(struct tw_httpd_work *w,
				       const struct tw_http_request *q)
{
	struct tw_httpd_job *job = calloc(1, sizeof(*job));
	bool added;

	if (job == NULL)
		return NULL;
	job->request = *q;
	pthread_mutex_lock(&w->lock);
	added = !w->stop && w->count < TW_HTTPD_WORK_MAX;
	if (added) {
		MHD_suspend_connection(q->query);
		*w->end = job;
		w->end = &job->next;
		w->count++;
		pthread_cond_signal(&w->more);
	}
	pthread_mutex_unlock(&w->lock);
	if (!added) {
		free(job);
		return NULL;
	}
	return job;
}

void tw_httpd_job_free(struct tw_httpd_job *job)
{
	if (job == NULL)
		return;
	tw_http_reply_release(&job->reply);
	free(job);
}
