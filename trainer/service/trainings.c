/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/service/trainings.h"

#include "lib/core/err.h"
#include "lib/program/log.h"
#include "lib/zip/zip.h"
#include "model-db/pipeline.h"
#include "model-db/publish.h"
#include "profiler/node_types.h"
#include "trainer/service/rights.h"
#include "trainer/train.h"
#include "trainer/service/train_request.h"
#include "trainer/service/turns.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Length of a turn while other trainings wait. */
#define SLICE_MS 1000

/* Trainings in progress may finish in this time when the program stops. */
#define GRACE_MS 1000

/* The remaining time is estimated from this share of the fits on. */
#define FRACTION_MIN 0.1

struct tw_trainings {
	struct tw_trainings_config config;
	struct tw_turns *turns;
	struct tw_jobs *jobs;
	atomic_bool stopping;
};

struct tw_training {
	struct tw_trainings *all;
	struct tw_train_request request;
	const struct tw_training_inputs *inputs; /* NULL: the request's response */
	struct tw_train_result *kept;            /* the result of other inputs */
	struct tw_turn turn;
	struct tw_job *job;
	atomic_ullong fit_from_ns; /* run time when the first fit began; 0: not yet */
};

int tw_trainings_open(const struct tw_trainings_config *c, struct tw_trainings **out,
		      struct tw_err *err)
{
	const struct tw_turns_config turns = { .parallel = c->parallel,
					       .queue = c->queue,
					       .slice_ms = SLICE_MS };
	struct tw_trainings *t = calloc(1, sizeof(*t));
	size_t unread = 0;

	if (t == NULL)
		return tw_fail(err, TW_NOMEM, "trainings");
	t->config = *c;
	atomic_init(&t->stopping, false);
	if (tw_turns_new(&turns, &t->turns, err) < 0 ||
	    tw_jobs_open(c->jobs_dir, &t->jobs, &unread, err) < 0) {
		tw_trainings_close(t);
		return -1;
	}
	if (unread > 0)
		tw_log_warn("'%s': %zu files are not records of jobs; continuing "
			    "without them",
			    c->jobs_dir, unread);
	*out = t;
	return 0;
}

struct tw_jobs *tw_trainings_jobs(struct tw_trainings *t)
{
	return t->jobs;
}

unsigned tw_trainings_max(const struct tw_trainings *t)
{
	return t->config.parallel + t->config.queue;
}

void tw_trainings_stop(struct tw_trainings *t)
{
	atomic_store(&t->stopping, true);
	tw_turns_stop(t->turns, GRACE_MS);
}

void tw_trainings_close(struct tw_trainings *t)
{
	if (t == NULL)
		return;
	tw_jobs_close(t->jobs);
	tw_turns_free(t->turns);
	free(t);
}

/* ---- progress ---- */

static bool go_on(void *arg)
{
	struct tw_training *g = arg;

	return tw_turns_go_on(g->all->turns, &g->turn);
}

/* The fits that are left take as long as those so far did, for want of better knowledge.
 */
static double remaining_s(struct tw_training *g, const struct tw_train_progress *at)
{
	const uint64_t ran = tw_turns_ran_ns(g->all->turns, &g->turn);
	unsigned long long none = 0;

	if (strcmp(at->stage, "fit") == 0)
		atomic_compare_exchange_strong(&g->fit_from_ns, &none, ran);
	if (at->fraction < FRACTION_MIN || at->fraction >= 1.0)
		return -1.0;
	return (double)(ran - atomic_load(&g->fit_from_ns)) / 1e9 * (1.0 - at->fraction) /
	       at->fraction;
}

static void progress(void *arg, const struct tw_train_progress *at)
{
	struct tw_training *g = arg;

	tw_jobs_progress(g->all->jobs, g->job, at->stage, at->fraction,
			 remaining_s(g, at));
}

/* ---- training ---- */

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

static int train(struct tw_training *g, const struct tw_node_types *known,
		 struct tw_train_result *out, struct tw_err *err)
{
	const struct tw_trainings_config *c = &g->all->config;
	const struct tw_train_request *q = &g->request;
	const struct tw_train_watch watch = { .progress = progress,
					      .go_on = go_on,
					      .arg = g };
	const struct tw_train_response response = { .prom = q->response,
						    .origin = "POST /train" };
	const struct tw_training_inputs own = { &response, 1, NULL, c->resets };
	const struct tw_training_inputs *in = g->inputs != NULL ? g->inputs : &own;
	const struct tw_train_job job = {
		.name = q->name,
		.user = q->user,
		.responses = in->responses,
		.response_count = in->response_count,
		.origin = in->origin,
		.known = known,
		.source = q->source,
		.thirdparty = &q->thirdparty,
		.abs_trainers = q->abs_trainers,
		.dyn_trainers = q->dyn_trainers,
		.isolator = q->isolator,
		.isolation = { .target_hints = q->target_hints,
			       .bg_hints = q->bg_hints,
			       .model_db = c->model_db,
			       .abs_pipeline = q->abs_pipeline != NULL ? q->abs_pipeline
								       : q->name,
			       .idle = q->idle,
			       .source = q->source },
		.resets = in->resets,
		.smooth = q->smooth,
		.vm_metrics = q->vm_metrics,
		.seed = c->seed,
		.threads = c->threads,
		.watch = &watch,
	};

	return tw_train(&job, out, err);
}

/* ---- rights ---- */

static const struct tw_strs no_rules = { 0 };

static int check_owner(const struct tw_trainings *t, const char *user,
		       const char *pipeline, const char *owner, struct tw_err *err)
{
	return tw_rights_check_owner(t->config.rights != NULL ? t->config.rights
							      : &no_rules,
				     user, pipeline, owner, err);
}

int tw_trainings_may(const struct tw_trainings *t, const char *user, const char *pipeline,
		     struct tw_err *err)
{
	char *owner = NULL;
	bool exists = false;
	int rc = -1;

	if (t->config.rights != NULL &&
	    tw_rights_check_name(t->config.rights, user, pipeline, err) < 0)
		return -1;
	if (t->config.model_db == NULL ||
	    (tw_pipeline_published_owner(t->config.model_db, pipeline, &exists, &owner,
					 err) == 0 &&
	     (!exists || check_owner(t, user, pipeline, owner, err) == 0)))
		rc = 0;
	free(owner);
	return rc;
}

/* A tw_pipeline_check_fn: another training may have published it meanwhile. */
static int check_published(void *arg, const char *name, struct tw_fileset *files,
			   struct tw_err *err)
{
	const struct tw_training *g = arg;
	char *owner;
	int rc;

	(void)name;
	if (tw_pipeline_owner(files, &owner, err) < 0)
		return -1;
	rc = check_owner(g->all, g->request.user, g->request.name, owner, err);
	free(owner);
	return rc;
}

static int publish(struct tw_training *g, struct tw_train_result *r, struct tw_err *err)
{
	const char *db = g->all->config.model_db;

	/* From here on the training cannot be cancelled. */
	if (!go_on(g))
		return tw_fail(err, TW_IO, "the training was cancelled");
	if (db == NULL)
		return 0;
	tw_jobs_progress(g->all->jobs, g->job, "publish", 1.0, -1.0);
	return tw_pipeline_update_with(db, g->request.name, &r->pipeline,
				       g->all->config.signer, check_published, g, err);
}

/* Train, publish and zip. e gets the zip and the number of models. */
static int make_pipeline(struct tw_training *g, struct tw_job_end *e, struct tw_err *err)
{
	const char *db = g->all->config.model_db;
	struct tw_node_types known = { 0 };
	struct tw_train_result result = { 0 };
	int rc = -1;

	if (db != NULL && tw_pipeline_known(db, g->request.name, &known, err) < 0)
		goto out;
	if (train(g, &known, &result, err) < 0)
		goto out;
	e->models = result.models;
	if (g->kept != NULL) {
		*g->kept = result;
		result = (struct tw_train_result){ 0 };
		rc = 0;
		goto out;
	}
	if (publish(g, &result, err) < 0)
		goto out;
	e->published = db != NULL;
	if (tw_zip_write(&result.pipeline, &e->zip, &e->zip_len, err) < 0)
		goto out;
	log_result(g->request.name, &result);

	rc = 0;
out:
	tw_node_types_release(&known);
	tw_train_result_release(&result);
	return rc;
}

static int wait_and_train(struct tw_training *g, struct tw_job_end *e, struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (!tw_turns_go_on(g->all->turns, &g->turn))
		return tw_fail(err, TW_IO, "the training was cancelled");
	if (tw_jobs_begin(g->all->jobs, g->job, &why) < 0)
		tw_log_warn("cannot record that a job begins, going on: %s", why.text);
	return make_pipeline(g, e, err);
}

/* How the job ends after a failure. */
static enum tw_job_state failed_state(const struct tw_training *g)
{
	if (!tw_turns_cancelled(g->all->turns, &g->turn))
		return TW_JOB_FAILED;
	return atomic_load(&g->all->stopping) ? TW_JOB_LOST : TW_JOB_CANCELLED;
}

/* Nothing of g or its trainings may be used afterwards. */
static void leave(struct tw_training *g)
{
	tw_turns_remove(g->all->turns, &g->turn);
	tw_train_request_release(&g->request);
	free(g);
}

int tw_training_run(struct tw_training *g, bool take_zip, struct tw_job_end *end,
		    struct tw_err *err)
{
	struct tw_job_end e = { .state = TW_JOB_DONE };
	struct tw_err why = { 0 };
	int rc = wait_and_train(g, &e, err);

	if (rc < 0) {
		e.state = failed_state(g);
		e.error = e.state == TW_JOB_LOST ? "the trainer stopped" : err->text;
	}
	*end = e;
	if (take_zip)
		e.zip = NULL;
	if (tw_jobs_end(g->all->jobs, g->job, &e, &why) < 0)
		tw_log_warn("cannot record the end of a job: %s", why.text);
	leave(g);
	return rc;
}

int tw_training_make(struct tw_training *g, const struct tw_training_inputs *in,
		     struct tw_train_result *out, struct tw_err *err)
{
	struct tw_job_end end;

	g->inputs = in;
	g->kept = out;
	return tw_training_run(g, false, &end, err);
}

static void *run_alone(void *arg)
{
	struct tw_training *g = arg;
	struct tw_job_end end;
	struct tw_err err = { 0 };
	char id[TW_JOB_ID];

	strcpy(id, tw_job_id(g->job));
	if (tw_training_run(g, false, &end, &err) < 0)
		tw_log_warn("job %s: %s: %s", id, tw_job_state_name(end.state), err.text);
	return NULL;
}

int tw_training_start(struct tw_training *g, struct tw_err *err)
{
	const struct tw_job_end failed = { .state = TW_JOB_FAILED,
					   .error = "cannot start a thread" };
	struct tw_err ignored = { 0 };
	pthread_attr_t detached;
	pthread_t thread;
	int e;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	e = pthread_create(&thread, &detached, run_alone, g);
	pthread_attr_destroy(&detached);
	if (e == 0)
		return 0;
	(void)!tw_jobs_end(g->all->jobs, g->job, &failed, &ignored);
	leave(g);
	return tw_fail_errno(err, e, "cannot start a thread");
}

/* ---- admission ---- */

static void cancel(void *arg)
{
	struct tw_training *g = arg;

	tw_turns_cancel(g->all->turns, &g->turn);
}

int tw_training_new(struct tw_trainings *t, struct tw_train_request *q,
		    struct tw_training **out, bool *full, struct tw_err *err)
{
	struct tw_training *g = calloc(1, sizeof(*g));

	*full = false;
	if (g == NULL)
		return tw_fail(err, TW_NOMEM, "training");
	g->all = t;
	g->request = *q;
	*q = (struct tw_train_request){ 0 };
	atomic_init(&g->fit_from_ns, 0);
	g->turn.pipeline = g->request.name;
	g->turn.reads = g->request.abs_pipeline;
	if (!tw_turns_add(t->turns, &g->turn)) {
		*full = true;
		tw_train_request_release(&g->request);
		free(g);
		return tw_fail(err, TW_IO,
			       "the queue of trainings is full, or the "
			       "program stops; try again later");
	}
	if (tw_jobs_add(t->jobs, g->request.name, cancel, g, &g->job, err) < 0) {
		leave(g);
		return -1;
	}
	*out = g;
	return 0;
}

const char *tw_training_id(const struct tw_training *g)
{
	return tw_job_id(g->job);
}

const char *tw_training_pipeline(const struct tw_training *g)
{
	return g->request.name;
}
