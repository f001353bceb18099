/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WORKERS_H
#define TW_WORKERS_H

/*
 * Sums, extremes and columns over the workers of one computation. Each worker is a
 * process with a part of the rows; workers are in order of time: the rows of rank 0 come
 * first.
 *
 * A NULL worker is a computation in one process: each function then leaves its argument
 * as it is, or copies it, so that callers need one code path.
 *
 * All workers make the same calls in the same order. Each call first compares what the
 * workers ask for; after a difference, or a failure of the link, every later call fails
 * with that reason (tw_workers_check()). Call from one thread only.
 */

#include "lib/core/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;

enum tw_reduce { TW_REDUCE_SUM, TW_REDUCE_MAX };

/* A link between all workers. Both functions fail on all workers once a worker exits. */
struct tw_workers_link {
	int (*doubles)(void *arg, double *v, size_t count, enum tw_reduce op,
		       struct tw_err *err);
	int (*integers)(void *arg, int64_t *v, size_t count, enum tw_reduce op,
			struct tw_err *err);
	/* Copy the bytes of the worker `root` to all. */
	int (*broadcast)(void *arg, void *v, size_t bytes, unsigned root,
			 struct tw_err *err);
};

struct tw_workers {
	unsigned rank, size;
	const struct tw_workers_link *link;
	void *arg;
	struct tw_err broken; /* the first failure of a call */
};

/* In place, over the values of all workers. */
int tw_workers_sum(struct tw_workers *w, double *v, size_t count, struct tw_err *err);
int tw_workers_min(struct tw_workers *w, double *v, size_t count, struct tw_err *err);
int tw_workers_max(struct tw_workers *w, double *v, size_t count, struct tw_err *err);

/* Replace the bytes by those of rank 0: results then decide alike on all workers. */
int tw_workers_same(struct tw_workers *w, void *v, size_t bytes, struct tw_err *err);

/* The number of all rows, and the index among them of this worker's first. */
int tw_workers_place(struct tw_workers *w, size_t rows, size_t *first, size_t *all,
		     struct tw_err *err);

/*
 * Copy a column of all workers to `all`, in order of rank; it has room for all rows
 * (tw_workers_place()).
 */
int tw_workers_gather(struct tw_workers *w, const double *own, size_t rows, double *all,
		      struct tw_err *err);

/* Append the texts of all workers, in order of rank. */
int tw_workers_texts(struct tw_workers *w, const char *own, size_t len,
		     struct tw_buf *out, struct tw_err *err);

/*
 * After work that can fail on one worker alone: if *err of any worker is a failure, it
 * is returned on all workers, with the rank of its worker. Returns -1 then.
 */
int tw_workers_agree(struct tw_workers *w, struct tw_err *err);

/* Fail unless the bytes are the same on all workers. what: "the feature groups". */
int tw_workers_match(struct tw_workers *w, const char *what, const void *v, size_t bytes,
		     struct tw_err *err);

/* End all later calls: after a failure that the other workers cannot know. */
void tw_workers_break(struct tw_workers *w, const struct tw_err *why);

/* The failure after which no call succeeds, if there was one. */
int tw_workers_check(const struct tw_workers *w, struct tw_err *err);

#endif /* TW_WORKERS_H */
