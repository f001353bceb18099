/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/httpd_work.h"

#include "lib/core/err.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

struct tw_httpd_work {
	size_t max; /* jobs */
	int wake;   /* -1: none */
	pthread_t thread;
	bool joined;

	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t more;
	struct tw_httpd_job *first, **end;
	size_t count; /* queued and in progress */
	bool stop;
};

static void run_job(struct tw_httpd_work *w, struct tw_httpd_job *job, bool stopping)
{
	const uint64_t one = 1;
	struct MHD_Connection *connection = job->connection;

	job->run(job->arg, stopping);
	pthread_mutex_lock(&w->lock);
	w->count--;
	pthread_mutex_unlock(&w->lock);
	/* From here on the job belongs to the connection's thread. */
	MHD_resume_connection(connection);
	if (w->wake >= 0)
		(void)!write(w->wake, &one, sizeof(one));
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
		run_job(w, job, stopping);
	return NULL;
}

int tw_httpd_work_open(size_t max, int wake, struct tw_httpd_work **out,
		       struct tw_err *err)
{
	struct tw_httpd_work *w = calloc(1, sizeof(*w));
	int e;

	if (w == NULL)
		return tw_fail(err, TW_NOMEM, "queue of slow work");
	w->max = max;
	w->wake = wake;
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

bool tw_httpd_work_add(struct tw_httpd_work *w, struct tw_httpd_job *job)
{
	bool added;

	pthread_mutex_lock(&w->lock);
	added = !w->stop && w->count < w->max;
	if (added) {
		MHD_suspend_connection(job->connection);
		job->next = NULL;
		*w->end = job;
		w->end = &job->next;
		w->count++;
		pthread_cond_signal(&w->more);
	}
	pthread_mutex_unlock(&w->lock);
	return added;
}
