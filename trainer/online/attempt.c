/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/online/attempt.h"

#include "lib/program/log.h"
#include "trainer/online/rules.h"
#include "trainer/service/train_request.h"
#include "trainer/service/trainings.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct tw_attempt {
	struct tw_attempt_inputs in;
	struct tw_candidate whole, alone;
	struct tw_err err; /* why there is no candidate of the whole window */
	pthread_t thread;
	bool started;
	atomic_bool done;
};

static int train(const struct tw_attempt_inputs *in, const struct tw_runs *runs,
		 struct tw_train_result *out, struct tw_err *err)
{
	const struct tw_online_rules *r = in->rules;
	const struct tw_training_inputs inputs = { .responses = runs->response,
						   .response_count = runs->count,
						   .origin = "online",
						   .resets = TW_RESETS_CARRY };
	struct tw_train_request q = { .isolator = r->isolator };
	struct tw_training *g = NULL;
	bool full;
	int rc = -1;

	q.name = strdup(in->pipeline);
	if (q.name == NULL) {
		tw_fail(err, TW_NOMEM, "name of a pipeline");
		goto out;
	}
	if (tw_strs_copy(&q.abs_trainers, &r->abs_trainers, err) < 0 ||
	    tw_strs_copy(&q.dyn_trainers, &r->dyn_trainers, err) < 0 ||
	    tw_training_new(r->trainings, &q, &g, &full, err) < 0)
		goto out;
	rc = tw_training_make(g, &inputs, out, err);
out:
	tw_train_request_release(&q);
	return rc;
}

static int make_candidate(const struct tw_attempt_inputs *in, const struct tw_runs *runs,
			  struct tw_candidate *out, struct tw_err *err)
{
	const struct tw_contest_terms terms = {
		.held = (const struct tw_prom *const *)in->held.prom,
		.count = in->held.count,
		.margin = in->rules->margin,
		.rows_min = in->rows_min,
	};

	if (train(in, runs, &out->result, err) < 0 ||
	    tw_online_models_read(&out->result.pipeline, &out->models, err) < 0)
		return -1;
	return tw_contest_run(&out->models, in->serving, &terms, &out->contest, err);
}

static void *run(void *arg)
{
	struct tw_attempt *a = arg;
	struct tw_err why = { 0 };

	if (make_candidate(&a->in, &a->in.whole, &a->whole, &a->err) == 0 &&
	    a->in.alone.count > 0) {
		a->alone.alone = true;
		if (make_candidate(&a->in, &a->in.alone, &a->alone, &why) < 0) {
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
	tw_contest_release(&c->contest);
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
