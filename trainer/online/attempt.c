/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/online/attempt.h"

#include "estimator/predict/power_model.h"
#include "lib/core/array.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/program/log.h"
#include "lib/zip/fileset.h"
#include "trainer/extract/metric_series.h"
#include "trainer/online/store.h"
#include "trainer/record/series_reader.h"
#include "trainer/record/spool.h"
#include "trainer/response/prom.h"
#include "trainer/service/train_request.h"
#include "trainer/service/trainings.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A response without rows is an error of a training; shorter runs are left out. */
#define ROWS_MIN 2

static int add_segment(struct tw_store *s, int64_t id, struct tw_spool *spool,
		       struct tw_err *err)
{
	char *text = NULL;
	size_t len;
	int rc = -1;

	if (tw_store_text(s, id, &text, &len, err) == 0 &&
	    tw_series_read_text(spool, text, len, err) == 0)
		rc = tw_spool_settle(spool, err);
	free(text);
	return rc;
}

/* Add the spans of a run's chosen segments. Returns the number of their rows. */
static size_t add_spans(const struct tw_segments *w, struct tw_window_run run,
			struct tw_window_choice choice, struct tw_train_response *r,
			struct tw_time_span *span)
{
	size_t rows = 0;

	r->span = span;
	for (size_t i = run.first; i <= run.last; i++) {
		const struct tw_segment *g = &w->at[i];

		if (g->held != choice.held)
			continue;
		span[r->spans++] = (struct tw_time_span){ g->from_ms, g->to_ms };
		rows += g->rows;
	}
	return rows;
}

/* Join the segments by way of a spool, which continues each series. */
static int read_run(struct tw_store *s, const struct tw_segments *w,
		    struct tw_window_run run, const char *path, struct tw_prom **out,
		    struct tw_err *err)
{
	struct tw_spool *spool = NULL;
	int rc = -1;

	if (tw_spool_new(path, &spool, err) < 0)
		return -1;
	for (size_t i = run.first; i <= run.last; i++)
		if (add_segment(s, w->at[i].id, spool, err) < 0)
			goto out;
	if (tw_spool_write(spool, path, err) < 0 || tw_prom_read(path, out, err) < 0)
		goto out;
	rc = 0;
out:
	unlink(path);
	tw_spool_free(spool);
	return rc;
}

int tw_runs_read(struct tw_store *s, const struct tw_segments *w,
		 struct tw_window_choice choice, const char *machine, const char *dir,
		 struct tw_runs *out, struct tw_err *err)
{
	struct tw_window_run run;
	char *path = NULL;
	struct tw_time_span *span;
	size_t at = 0;
	int rc = -1;

	if (TW_NEW(out->span, w->count, err) < 0 ||
	    tw_new(&out->prom, w->count, sizeof(struct tw_prom *), err) < 0 ||
	    TW_NEW(out->response, w->count, err) < 0 ||
	    tw_path_join(&path, err, dir, "run.json", NULL) < 0)
		goto out;
	span = out->span;
	while (tw_window_next_run(w, choice.after_ms, &at, &run)) {
		struct tw_train_response *r = &out->response[out->count];

		*r = (struct tw_train_response){ .machine = machine, .origin = "online" };
		if (add_spans(w, run, choice, r, span) < ROWS_MIN)
			continue;
		span += r->spans;
		if (read_run(s, w, run, path, &out->prom[out->count], err) < 0)
			goto out;
		r->prom = out->prom[out->count++];
	}
	rc = 0;
out:
	free(path);
	return rc;
}

void tw_runs_release(struct tw_runs *r)
{
	for (size_t i = 0; i < r->count; i++)
		tw_prom_free(r->prom[i]);
	free(r->prom);
	free(r->response);
	free(r->span);
	*r = (struct tw_runs){ 0 };
}

/* <source>/<output>/<group>/<name> */
#define BASE_MAX 512

/* The error of a model on the held-out responses. */
static int measure(const struct tw_power_model *p, const struct tw_attempt_inputs *in,
		   struct tw_online_error *out, struct tw_err *err)
{
	for (size_t i = 0; i < in->held.count; i++)
		if (tw_online_error_add(out, p, &in->held.response[i], err) < 0)
			return -1;
	return 0;
}

/* The error to beat, W: that of the counterpart, else that of the mean. */
static int measure_rival(const struct tw_attempt_inputs *in,
			 const struct tw_online_model *candidate,
			 const struct tw_online_error *own, double *out,
			 struct tw_err *err)
{
	const struct tw_online_models *serving = in->serving;
	const size_t i = tw_online_models_find(serving, candidate->model);
	struct tw_online_error rival = { 0 };

	*out = own->mean_error_sum_w / (double)own->rows;
	if (i == serving->count)
		return 0;
	if (measure(serving->at[i].model, in, &rival, err) < 0)
		return -1;
	if (rival.rows > 0)
		*out = tw_online_error_mae_w(&rival);
	/* A certificate is worth the margin. */
	if (candidate->certified && !serving->at[i].certified)
		*out /= 1.0 - in->rules->margin;
	return 0;
}

static int judge(const struct tw_attempt_inputs *in,
		 const struct tw_online_models *candidates, size_t i,
		 struct tw_contest *c, struct tw_err *err)
{
	const struct tw_online_model *candidate = &candidates->at[i];
	struct tw_online_error own = { 0 };
	double rival_w = NAN, own_w;
	bool better;

	if (measure(candidate->model, in, &own, err) < 0)
		return -1;
	if (own.rows < in->rows_min)
		return 0;
	if (measure_rival(in, candidate, &own, &rival_w, err) < 0)
		return -1;
	own_w = tw_online_error_mae_w(&own);
	better = own_w <= rival_w * (1.0 - in->rules->margin);
	c->won[i] = better && candidate->certified;
	c->wins += c->won[i];
	c->uncertified += better && !candidate->certified;
	if (c->rows > 0 && (c->won[c->best] > c->won[i] ||
			    (c->won[c->best] == c->won[i] && c->candidate_w <= own_w)))
		return 0;
	c->best = i;
	c->rows = own.rows;
	c->candidate_w = own_w;
	c->serving_w = rival_w;
	c->reason = candidate->reason;
	return 0;
}

static int run_contest(const struct tw_attempt_inputs *in,
		       const struct tw_online_models *candidates, struct tw_contest *out,
		       struct tw_err *err)
{
	if (TW_NEW(out->won, candidates->count + 1, err) < 0)
		return -1;
	for (size_t i = 0; i < candidates->count; i++)
		if (judge(in, candidates, i, out, err) < 0)
			return -1;
	return 0;
}

/* ---- losers ---- */

static bool is_file_of(const char *name, const struct tw_model_info *i,
		       const char *output)
{
	char base[BASE_MAX];
	size_t len;

	snprintf(base, sizeof(base), "%s/%s/%s/%s", i->source->name, output,
		 i->group->name, i->name);
	len = strlen(base);
	return strncmp(name, base, len) == 0 && (name[len] == '.' || name[len] == '/');
}

static bool is_of_loser(const char *name, const struct tw_contest *c,
			const struct tw_online_models *candidates)
{
	for (size_t i = 0; i < candidates->count; i++) {
		const struct tw_model_info *info =
			tw_power_model_info(candidates->at[i].model);

		if (!c->won[i] && (is_file_of(name, info, tw_output_name(TW_ABS_POWER)) ||
				   is_file_of(name, info, tw_output_name(TW_DYN_POWER))))
			return true;
	}
	return false;
}

void tw_contest_drop_losers(const struct tw_contest *c,
			    const struct tw_online_models *candidates,
			    struct tw_fileset *pipeline)
{
	size_t kept = 0;

	for (size_t i = 0; i < pipeline->count; i++) {
		if (!is_of_loser(pipeline->at[i].name, c, candidates)) {
			pipeline->at[kept++] = pipeline->at[i];
			continue;
		}
		free(pipeline->at[i].name);
		free(pipeline->at[i].data);
	}
	pipeline->count = kept;
}

struct tw_attempt {
	struct tw_attempt_inputs in;
	struct tw_candidate whole, alone;
	struct tw_err err; /* why there is no candidate of the whole window */
	pthread_t thread;
	bool started;
	bool full; /* there were too many trainings */
	atomic_bool done;
};

static int train(const struct tw_attempt_inputs *in, const struct tw_runs *runs,
		 struct tw_train_result *out, bool *full, struct tw_err *err)
{
	const struct tw_online_rules *r = in->rules;
	const struct tw_training_inputs inputs = { .responses = runs->response,
						   .response_count = runs->count,
						   .origin = "online" };
	struct tw_train_request q = { .isolator = r->isolator };
	struct tw_training *g = NULL;
	int rc = -1;

	if (tw_text_copy(in->pipeline, strlen(in->pipeline), &q.name, err) < 0 ||
	    tw_strs_copy(&q.abs_trainers, &r->abs_trainers, err) < 0 ||
	    tw_strs_copy(&q.dyn_trainers, &r->dyn_trainers, err) < 0 ||
	    tw_training_new(r->trainings, &q, &g, full, err) < 0)
		goto out;
	rc = tw_training_make(g, &inputs, out, err);
out:
	tw_train_request_release(&q);
	return rc;
}

static int make_candidate(const struct tw_attempt_inputs *in, const struct tw_runs *runs,
			  struct tw_candidate *out, bool *full, struct tw_err *err)
{
	if (train(in, runs, &out->result, full, err) < 0 ||
	    tw_online_models_read(&out->result.pipeline, &out->models, err) < 0)
		return -1;
	return run_contest(in, &out->models, &out->contest, err);
}

static void *run(void *arg)
{
	struct tw_attempt *a = arg;
	struct tw_err why = { 0 };

	if (make_candidate(&a->in, &a->in.whole, &a->whole, &a->full, &a->err) == 0 &&
	    a->in.alone.count > 0) {
		a->alone.alone = true;
		if (make_candidate(&a->in, &a->in.alone, &a->alone, &a->full, &why) < 0) {
			tw_log_warn("'%s': no candidate of the samples since the drift "
				    "began: %s",
				    a->in.pipeline, why.text);
			a->alone.contest.wins = 0;
		}
	}
	atomic_store(&a->done, true);
	return NULL;
}

static void release(struct tw_candidate *c)
{
	free(c->contest.won);
	tw_online_models_release(&c->models);
	tw_train_result_release(&c->result);
}

int tw_attempt_start(struct tw_attempt_inputs *in, struct tw_attempt **out,
		     struct tw_err *err)
{
	struct tw_attempt *a = calloc(1, sizeof(*a));
	int e;

	if (a == NULL) {
		tw_runs_release(&in->whole);
		tw_runs_release(&in->alone);
		tw_runs_release(&in->held);
		return tw_fail(err, TW_NOMEM, "attempt of a training");
	}
	a->in = *in;
	*in = (struct tw_attempt_inputs){ 0 };
	atomic_init(&a->done, false);
	e = pthread_create(&a->thread, NULL, run, a);
	if (e != 0) {
		tw_attempt_free(a);
		return tw_fail_errno(err, e, "cannot start a thread");
	}
	a->started = true;
	*out = a;
	return 0;
}

bool tw_attempt_done(const struct tw_attempt *a)
{
	return atomic_load(&a->done);
}

bool tw_attempt_waits(const struct tw_attempt *a)
{
	return a->full;
}

struct tw_candidate *tw_attempt_best(struct tw_attempt *a, struct tw_err *why)
{
	const struct tw_contest *whole = &a->whole.contest, *alone = &a->alone.contest;

	if (a->err.code != TW_OK) {
		*why = a->err;
		return NULL;
	}
	if (alone->wins == 0)
		return &a->whole;
	/* Data of another law hurts: else more data is better. */
	return whole->wins == 0 ||
			       alone->candidate_w <
				       whole->candidate_w * (1.0 - a->in.rules->margin)
		       ? &a->alone
		       : &a->whole;
}

bool tw_attempt_had_alone(const struct tw_attempt *a)
{
	return a->alone.models.count > 0;
}

void tw_attempt_free(struct tw_attempt *a)
{
	if (a == NULL)
		return;
	if (a->started)
		pthread_join(a->thread, NULL);
	release(&a->whole);
	release(&a->alone);
	tw_runs_release(&a->in.whole);
	tw_runs_release(&a->in.alone);
	tw_runs_release(&a->in.held);
	free(a);
}
