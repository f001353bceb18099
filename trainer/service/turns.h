/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TURNS_H
#define TW_TRAINER_TURNS_H

/*
 * Turns of trainings on the CPUs. A few trainings run at the same time, each on as many
 * threads as there are CPUs, so that the kernel gives each of them an equal share. While
 * another training waits, a training that has run for a slice pauses at its next task and
 * goes to the end of the queue. So a short training waits for slices, never for the end
 * of a long one.
 *
 * Two trainings into the same pipeline run one after the other, because the second
 * numbers its node types by the result of the first. The same goes for a training that
 * reads the models of a pipeline that another one makes. Thread-safe.
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_turns;

struct tw_turns_config {
	unsigned parallel; /* trainings that run at the same time; 0: 1 */
	unsigned queue;    /* trainings more than that, which wait or pause */
	uint64_t slice_ms; /* least time of a turn while others wait */
};

/* A training's place. The first two members are set by the caller, who owns it. */
struct tw_turn {
	const char *pipeline; /* name of the pipeline that it makes */
	const char *reads;    /* pipeline whose models it needs; or NULL */

	/* For turns.c. */
	struct tw_turn *next;
	bool running, started, cancelled;
	uint64_t since_ns, before_ns; /* start of the turn; length of earlier turns */
};

/* *out is yours: tw_turns_free(). */
int tw_turns_new(const struct tw_turns_config *c, struct tw_turns **out,
		 struct tw_err *err);
void tw_turns_free(struct tw_turns *t); /* NULL is fine; no turn may be left */

/* Join the queue. False: parallel + queue trainings are there, or tw_turns_stop(). */
bool tw_turns_add(struct tw_turns *t, struct tw_turn *turn);

/*
 * Wait for the first turn; then called by each thread of a training between two tasks. It
 * waits while the training pauses. False: the training is cancelled; end it soon and
 * remove it.
 */
bool tw_turns_go_on(struct tw_turns *t, struct tw_turn *turn);

void tw_turns_cancel(struct tw_turns *t, struct tw_turn *turn);
bool tw_turns_cancelled(struct tw_turns *t, const struct tw_turn *turn);

/* Time that the training has run, without its pauses. */
uint64_t tw_turns_ran_ns(struct tw_turns *t, const struct tw_turn *turn);

/* Leave, after success, failure or cancellation. */
void tw_turns_remove(struct tw_turns *t, struct tw_turn *turn);

/*
 * Cancel the trainings that have not begun, the others after grace_ms, and wait until all
 * are removed.
 */
void tw_turns_stop(struct tw_turns *t, uint64_t grace_ms);

#endif /* TW_TRAINER_TURNS_H */
