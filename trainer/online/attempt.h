/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_ATTEMPT_H
#define TW_ONLINE_ATTEMPT_H

/*
 * An attempt to train better models, on a thread of its own: samples are read and live
 * errors are measured meanwhile. It trains a candidate on all segments of a window, and
 * in a drift another one on the segments since the drift began. Both are in a contest
 * with the serving models.
 */

#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "trainer/online/models.h"
#include "trainer/online/window.h"
#include "trainer/train_job.h"
#include "trainer/train_result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_attempt;
struct tw_signer;
struct tw_store;
struct tw_trainings;

/* The settings of online training. All is borrowed. */
struct tw_online_rules {
	const char *model_db;
	const char *name;               /* pipelines are <name>-<machine> */
	const char *dir;                /* for temporary files */
	const struct tw_signer *signer; /* or NULL */
	const struct tw_isolator *isolator;
	struct tw_strs abs_trainers, dyn_trainers;
	struct tw_window_limits limits;
	size_t rows_min;      /* new rows before a training; a quarter of it in a drift */
	double margin;        /* 0.05: errors must be smaller by 5 % */
	uint64_t rollback_ms; /* roll back after this time with a larger live error */
	struct tw_trainings *trainings;
	struct tw_store *store;
};

/*
 * The responses of a window: one for each run of segments without a gap, as if the
 * client had sent it. No rate is computed across two responses. A run has the segments
 * that are held out and those that are not: its rows are cleaned together, as those of a
 * recording are, and the chosen ones are in the response's spans. All zero bytes: none.
 */
struct tw_runs {
	struct tw_prom **prom;
	struct tw_train_response *response; /* the same, for a training */
	struct tw_time_span *span;          /* of all responses */
	size_t count;
};

/*
 * Read the chosen segments of a window. machine is borrowed; dir gets temporary files.
 * *out must be empty; release it after a failure, too.
 */
int tw_runs_read(struct tw_store *s, const struct tw_segments *w,
		 struct tw_window_choice choice, const char *machine, const char *dir,
		 struct tw_runs *out, struct tw_err *err);
void tw_runs_release(struct tw_runs *r);

/*
 * The contest of a candidate pipeline with the serving one, on held-out responses that
 * neither has seen. Models of the same source, group and trainer are compared; a model
 * wins if it has a certificate and its error is smaller by the margin. A candidate
 * without a counterpart has to beat the mean of the held-out power.
 */
struct tw_contest {
	bool *won; /* for each candidate */
	size_t wins;
	size_t uncertified; /* candidates that lost for want of a certificate alone */
	size_t best;        /* the winner with the least error, else the candidate */
	/* Errors of the best on the held-out rows. serving_w: of its counterpart, else
	 * of the mean. */
	size_t rows;
	double candidate_w, serving_w;
	const char *reason; /* why the best has no certificate, or NULL */
};

/*
 * Remove the files of the models that lost, and of the DynPower models of the same group
 * and trainer, from the candidate pipeline: publishing then keeps the serving ones.
 */
void tw_contest_drop_losers(const struct tw_contest *c,
			    const struct tw_online_models *candidates,
			    struct tw_fileset *pipeline);

struct tw_attempt_inputs {
	/* Borrowed until the attempt is freed. */
	const struct tw_online_rules *rules;
	const char *pipeline; /* name */
	const struct tw_online_models *serving;

	struct tw_runs whole;
	struct tw_runs alone; /* since the drift began; none: no second candidate */
	struct tw_runs held;
	size_t rows_min; /* held-out rows that a verdict needs */
};

/* A trained pipeline and its contest. All zero bytes: none. */
struct tw_candidate {
	struct tw_train_result result;
	struct tw_online_models models;
	struct tw_contest contest;
	bool alone; /* of the segments since the drift began */
};

/* Takes the runs, also after a failure. *out is yours: tw_attempt_free(). */
int tw_attempt_start(struct tw_attempt_inputs *in, struct tw_attempt **out,
		     struct tw_err *err);

bool tw_attempt_done(const struct tw_attempt *a);

/* Whether an attempt that is done could not train, since there were too many trainings or
 * the program stops: try again later. */
bool tw_attempt_waits(const struct tw_attempt *a);

/*
 * The better candidate of an attempt that is done; it lives as long as the attempt. NULL,
 * with the reason, if none could be trained.
 */
struct tw_candidate *tw_attempt_best(struct tw_attempt *a, struct tw_err *why);

/* Whether there was a candidate of the segments since the drift began. */
bool tw_attempt_had_alone(const struct tw_attempt *a);

/* Waits until it is done. A training ends early by tw_trainings_stop(). NULL is fine. */
void tw_attempt_free(struct tw_attempt *a);

#endif /* TW_ONLINE_ATTEMPT_H */
