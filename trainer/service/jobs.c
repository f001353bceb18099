/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/service/jobs.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#define RECORD_BYTES_MAX ((size_t)8192)
#define SUFFIX ".json"

struct tw_jobs_zip {
	atomic_uint refs;
	char *data;
	size_t len;
};

struct tw_job {
	struct tw_job *older;
	struct tw_job_record record;
	void (*cancel)(void *arg); /* NULL once the job has ended */
	void *arg;
	bool cancelled;
	struct tw_jobs_zip *zip; /* or NULL */
};

struct tw_jobs {
	char *dir;            /* or NULL */
	int dir_fd;           /* locked, or -1 */
	pthread_mutex_t lock; /* guards the members below */
	struct tw_job *newest;
	size_t count;
	int64_t last_ms; /* of the last identity */
};

/* ---- pipelines ---- */

void tw_jobs_zip_free(void *zip)
{
	struct tw_jobs_zip *z = zip;

	if (z == NULL || atomic_fetch_sub(&z->refs, 1) != 1)
		return;
	free(z->data);
	free(z);
}

const char *tw_jobs_zip_data(const struct tw_jobs_zip *z, size_t *len)
{
	*len = z->len;
	return z->data;
}

/* Takes data. NULL without memory: the pipeline is then not kept. */
static struct tw_jobs_zip *take_zip(char *data, size_t len)
{
	struct tw_jobs_zip *z = data != NULL ? calloc(1, sizeof(*z)) : NULL;

	if (z == NULL) {
		free(data);
		return NULL;
	}
	atomic_init(&z->refs, 1);
	z->data = data;
	z->len = len;
	return z;
}

/* ---- files ---- */

static int path_of(const struct tw_jobs *t, const char *id, char **out,
		   struct tw_err *err)
{
	char name[TW_JOB_ID + sizeof(SUFFIX)];

	snprintf(name, sizeof(name), "%s" SUFFIX, id);
	return tw_path_join(out, err, t->dir, name, NULL);
}

static int save(const struct tw_jobs *t, const struct tw_job_record *r,
		struct tw_err *err)
{
	struct tw_buf b = { 0 };
	char *path = NULL;
	int rc = -1;

	if (t->dir == NULL)
		return 0;
	tw_job_record_write(r, &b);
	tw_buf_adds(&b, "\n");
	if (tw_buf_check(&b, err) < 0 || path_of(t, r->id, &path, err) < 0 ||
	    tw_file_replace(path, b.data, b.len, err) < 0)
		goto out;

	rc = 0;
out:
	free(path);
	tw_buf_clear(&b);
	return rc;
}

static void forget(const struct tw_jobs *t, const char *id)
{
	struct tw_err ignored = { 0 };
	char *path = NULL;

	if (t->dir != NULL && path_of(t, id, &path, &ignored) == 0)
		unlink(path);
	free(path);
}

/* ---- the table; the caller has the lock ---- */

static void free_job(struct tw_job *job)
{
	tw_jobs_zip_free(job->zip);
	free(job);
}

static struct tw_job *find(const struct tw_jobs *t, const char *id)
{
	struct tw_job *job = t->newest;

	while (job != NULL && strcmp(job->record.id, id) != 0)
		job = job->older;
	return job;
}

static bool is_stale(const struct tw_job *job, size_t newer, int64_t now)
{
	return tw_job_state_ended(job->record.state) &&
	       (newer >= TW_JOBS_MAX || now - job->record.ended_ms > TW_JOBS_AGE_MS);
}

/*
 * Drop pipelines that are too many, and jobs that are too many or too old. Returns these
 * jobs, for discard().
 */
static struct tw_job *trim(struct tw_jobs *t)
{
	const int64_t now = tw_wall_ms();
	size_t newer = 0, zips = 0, bytes = 0;
	struct tw_job *stale = NULL;

	for (struct tw_job **at = &t->newest, *job; (job = *at) != NULL;) {
		if (is_stale(job, newer, now)) {
			*at = job->older;
			t->count--;
			job->older = stale;
			stale = job;
			continue;
		}
		newer++;
		if (job->zip != NULL) {
			bytes += job->zip->len;
			if (++zips > TW_JOBS_ZIPS || bytes > TW_JOBS_ZIP_BYTES) {
				tw_jobs_zip_free(job->zip);
				job->zip = NULL;
			}
		}
		at = &job->older;
	}
	return stale;
}

/* Without the lock: nobody waits for the disk. */
static void discard(const struct tw_jobs *t, struct tw_job *stale)
{
	while (stale != NULL) {
		struct tw_job *older = stale->older;

		forget(t, stale->record.id);
		free_job(stale);
		stale = older;
	}
}

/* Keep the list in the order of creation; a new job is the newest. */
static void insert(struct tw_jobs *t, struct tw_job *job)
{
	struct tw_job **at = &t->newest;

	while (*at != NULL && strcmp((*at)->record.id, job->record.id) > 0)
		at = &(*at)->older;
	job->older = *at;
	*at = job;
	t->count++;
}

/* ---- jobs of an earlier process ---- */

static int load(struct tw_jobs *t, const char *file, struct tw_err *err)
{
	struct tw_job *job = NULL;
	char *path = NULL, *text = NULL;
	size_t len;
	int rc = -1;

	if (TW_NEW(job, 1, err) < 0 || tw_path_join(&path, err, t->dir, file, NULL) < 0 ||
	    tw_file_read(path, RECORD_BYTES_MAX, &text, &len, err) < 0 ||
	    tw_job_record_read(text, len, &job->record, err) < 0)
		goto out;
	len = strlen(job->record.id);
	if (strncmp(file, job->record.id, len) != 0 || strcmp(file + len, SUFFIX) != 0) {
		tw_fail(err, TW_INVALID, "'%s': of job %s", path, job->record.id);
		goto out;
	}
	if (!tw_job_state_ended(job->record.state)) {
		job->record.state = TW_JOB_LOST;
		job->record.ended_ms = tw_wall_ms();
		strcpy(job->record.error, "the trainer ended before this job did");
		if (save(t, &job->record, err) < 0)
			goto out;
	}
	insert(t, job);
	job = NULL;
	rc = 0;
out:
	free(job);
	free(path);
	free(text);
	return rc;
}

static bool is_record_name(const char *name)
{
	return name[0] != '.' && tw_ends_with(name, SUFFIX);
}

static int load_all(struct tw_jobs *t, size_t *unread, struct tw_err *err)
{
	const struct dirent *e;
	DIR *d = opendir(t->dir);

	if (d == NULL)
		return tw_fail_errno(err, errno, "cannot read '%s'", t->dir);
	while ((e = readdir(d)) != NULL) {
		struct tw_err why = { 0 };

		if (is_record_name(e->d_name) && load(t, e->d_name, &why) < 0)
			++*unread;
		/* A directory with many files must not fill the memory. */
		if (t->count >= 2 * TW_JOBS_MAX)
			discard(t, trim(t));
	}
	closedir(d);
	discard(t, trim(t));
	return 0;
}

static int lock_dir(struct tw_jobs *t, struct tw_err *err)
{
	t->dir_fd = open(t->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->dir_fd < 0)
		return tw_fail_errno(err, errno, "cannot open '%s'", t->dir);
	if (flock(t->dir_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return tw_fail(err, TW_INVALID, "'%s' is in use by another tw-trainer",
			       t->dir);
	return tw_fail_errno(err, errno, "cannot lock '%s'", t->dir);
}

int tw_jobs_open(const char *dir, struct tw_jobs **out, size_t *unread,
		 struct tw_err *err)
{
	struct tw_jobs *t = calloc(1, sizeof(*t));
	size_t bad = 0;

	if (t == NULL)
		return tw_fail(err, TW_NOMEM, "jobs");
	t->dir_fd = -1;
	pthread_mutex_init(&t->lock, NULL);
	if (dir != NULL) {
		if (tw_text_copy(dir, strlen(dir), &t->dir, err) < 0 ||
		    tw_dir_make(dir, err) < 0 || lock_dir(t, err) < 0 ||
		    load_all(t, &bad, err) < 0) {
			tw_jobs_close(t);
			return -1;
		}
	}
	*unread = bad;
	*out = t;
	return 0;
}

void tw_jobs_close(struct tw_jobs *t)
{
	if (t == NULL)
		return;
	while (t->newest != NULL) {
		struct tw_job *older = t->newest->older;

		free_job(t->newest);
		t->newest = older;
	}
	if (t->dir_fd >= 0)
		close(t->dir_fd);
	pthread_mutex_destroy(&t->lock);
	free(t->dir);
	free(t);
}

/* ---- one job ---- */

/* Identities of a process grow with time; the random part is for other processes. */
static int make_id(struct tw_jobs *t, char out[TW_JOB_ID], struct tw_err *err)
{
	int64_t ms = tw_wall_ms();
	uint32_t chance;

	if (getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
		return tw_fail_errno(err, errno, "random number");
	pthread_mutex_lock(&t->lock);
	if (ms <= t->last_ms)
		ms = t->last_ms + 1;
	t->last_ms = ms;
	pthread_mutex_unlock(&t->lock);
	snprintf(out, TW_JOB_ID, "%012llx%08x", (unsigned long long)ms, chance);
	return 0;
}

int tw_jobs_add(struct tw_jobs *t, const char *pipeline, void (*cancel)(void *arg),
		void *arg, struct tw_job **out, struct tw_err *err)
{
	struct tw_job *job = calloc(1, sizeof(*job)), *stale;

	if (job == NULL)
		return tw_fail(err, TW_NOMEM, "job");
	job->cancel = cancel;
	job->arg = arg;
	job->record.created_ms = tw_wall_ms();
	job->record.remaining_s = -1.0;
	snprintf(job->record.pipeline, sizeof(job->record.pipeline), "%s", pipeline);
	if (make_id(t, job->record.id, err) < 0 || save(t, &job->record, err) < 0) {
		free(job);
		return -1;
	}
	pthread_mutex_lock(&t->lock);
	insert(t, job);
	stale = trim(t);
	pthread_mutex_unlock(&t->lock);
	discard(t, stale);
	*out = job;
	return 0;
}

const char *tw_job_id(const struct tw_job *job)
{
	return job->record.id;
}

int tw_jobs_begin(struct tw_jobs *t, struct tw_job *job, struct tw_err *err)
{
	struct tw_job_record r;

	pthread_mutex_lock(&t->lock);
	job->record.state = TW_JOB_RUNNING;
	job->record.started_ms = tw_wall_ms();
	r = job->record;
	pthread_mutex_unlock(&t->lock);
	return save(t, &r, err);
}

void tw_jobs_progress(struct tw_jobs *t, struct tw_job *job, const char *stage,
		      double fraction, double remaining_s)
{
	pthread_mutex_lock(&t->lock);
	job->record.stage = stage;
	/* Threads may report out of order. */
	if (fraction > job->record.fraction)
		job->record.fraction = fraction;
	job->record.remaining_s = remaining_s;
	pthread_mutex_unlock(&t->lock);
}

int tw_jobs_end(struct tw_jobs *t, struct tw_job *job, const struct tw_job_end *e,
		struct tw_err *err)
{
	struct tw_jobs_zip *zip = take_zip(e->zip, e->zip_len);
	struct tw_job_record r;
	struct tw_job *stale;
	int rc;

	pthread_mutex_lock(&t->lock);
	r = job->record;
	pthread_mutex_unlock(&t->lock);
	r.state = e->state;
	r.ended_ms = tw_wall_ms();
	r.models = e->models;
	r.published = e->published;
	snprintf(r.error, sizeof(r.error), "%s", e->error != NULL ? e->error : "");
	/* The file first: nobody sees an end that a crash could take back. */
	rc = save(t, &r, err);
	pthread_mutex_lock(&t->lock);
	job->record = r;
	job->cancel = NULL;
	job->zip = zip;
	stale = trim(t);
	pthread_mutex_unlock(&t->lock);
	discard(t, stale);
	return rc;
}

/* ---- questions ---- */

static struct tw_job_record shown(const struct tw_job *job)
{
	struct tw_job_record r = job->record;

	if (job->cancelled && r.state == TW_JOB_RUNNING) {
		r.stage = "cancel";
		r.remaining_s = -1.0;
	}
	return r;
}

bool tw_jobs_show(struct tw_jobs *t, const char *id, struct tw_buf *out)
{
	const struct tw_job *job;

	pthread_mutex_lock(&t->lock);
	job = find(t, id);
	if (job != NULL) {
		const struct tw_job_record r = shown(job);

		tw_job_record_write(&r, out);
	}
	pthread_mutex_unlock(&t->lock);
	return job != NULL;
}

bool tw_jobs_pipeline(struct tw_jobs *t, const char *id, char out[TW_JOB_PIPELINE])
{
	const struct tw_job *job;

	pthread_mutex_lock(&t->lock);
	job = find(t, id);
	if (job != NULL)
		snprintf(out, TW_JOB_PIPELINE, "%s", job->record.pipeline);
	pthread_mutex_unlock(&t->lock);
	return job != NULL;
}

int tw_jobs_list(struct tw_jobs *t, tw_jobs_may_fn *may, void *arg, struct tw_buf *out,
		 struct tw_err *err)
{
	struct tw_job_record *r;
	struct tw_job *stale;
	size_t count = 0;

	pthread_mutex_lock(&t->lock);
	stale = trim(t);
	r = calloc(t->count + 1, sizeof(*r));
	if (r != NULL)
		for (const struct tw_job *job = t->newest; job != NULL; job = job->older)
			r[count++] = shown(job);
	pthread_mutex_unlock(&t->lock);
	discard(t, stale);
	if (r == NULL)
		return tw_fail(err, TW_NOMEM, "list of jobs");
	tw_buf_adds(out, "{\"jobs\":[");
	for (size_t i = 0; i < count; i++)
		if (may(arg, r[i].pipeline))
			tw_job_record_write(&r[i], out);
	tw_buf_adds(out, "]}");
	free(r);
	return 0;
}

static int fail_unknown(const char *id, struct tw_err *err)
{
	return tw_fail(err, TW_NOTFOUND, "no job '%.64s'", id);
}

int tw_jobs_cancel(struct tw_jobs *t, const char *id, struct tw_err *err)
{
	struct tw_job *job;
	int rc = -1;

	pthread_mutex_lock(&t->lock);
	job = find(t, id);
	if (job == NULL) {
		fail_unknown(id, err);
	} else if (job->cancel == NULL) {
		tw_fail(err, TW_INVALID, "job %s has ended: %s", id,
			tw_job_state_name(job->record.state));
	} else {
		job->cancelled = true;
		job->cancel(job->arg);
		rc = 0;
	}
	pthread_mutex_unlock(&t->lock);
	return rc;
}

int tw_jobs_zip(struct tw_jobs *t, const char *id, struct tw_jobs_zip **out,
		struct tw_err *err)
{
	const struct tw_job *job;
	int rc = -1;

	pthread_mutex_lock(&t->lock);
	job = find(t, id);
	if (job == NULL) {
		fail_unknown(id, err);
	} else if (job->zip == NULL) {
		tw_fail(err, TW_INVALID, "job %s is %s and has no pipeline here%s", id,
			tw_job_state_name(job->record.state),
			job->record.published ? "; it is in the model database" : "");
	} else {
		atomic_fetch_add(&job->zip->refs, 1);
		*out = job->zip;
		rc = 0;
	}
	pthread_mutex_unlock(&t->lock);
	return rc;
}

void tw_jobs_count(struct tw_jobs *t, size_t count[TW_JOB_STATES])
{
	memset(count, 0, TW_JOB_STATES * sizeof(*count));
	pthread_mutex_lock(&t->lock);
	for (const struct tw_job *job = t->newest; job != NULL; job = job->older)
		count[job->record.state]++;
	pthread_mutex_unlock(&t->lock);
}
