/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_REPLY_H
#define TW_ESTIMATOR_REPLY_H

/*
 * The reply to a whole request, with a model that answers it: the answer of
 * estimator/answer.h, and for who asks for version 2 what the watts are worth
 * (docs/tw-estimator.md, "Version 2").
 *
 * It is made in steps of some rows each, so that a large request leaves others their
 * turn.
 */

#include "estimator/answer.h"
#include "estimator/reply_rows.h"
#include "model-db/model_check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_request;
struct tw_served;

/* All zero bytes is none; may be moved. */
struct tw_reply {
	const struct tw_request *r;
	const struct tw_served *served;
	struct tw_buf *out;
	struct tw_answer answer;
	struct {
		size_t part; /* of the model */
		enum tw_component component;
		bool told;            /* its powers are in the answer */
	} wanted[TW_COMPONENT_COUNT]; /* those asked for, or all */
	size_t wanteds;
	struct tw_reply_rows rows;
	double *watts;          /* of the wanted, one behind the other */
	unsigned char *outside; /* rows that are extrapolated */
	size_t watts_size, outside_size;

	/* What is next: a list of the stage, and its row. */
	enum {
		TW_REPLY_PREDICT,
		TW_REPLY_POWERS,
		TW_REPLY_INTERVALS,
		TW_REPLY_OUTSIDE
	} stage;
	size_t at, row;
	size_t step_rows;    /* predicted in one go */
	size_t extrapolated; /* rows written so far */
};

/*
 * Begin a reply at the end of out, in the memory that p has. r, served, out and the
 * history must outlive it. After a failure out is of no use.
 */
int tw_reply_begin(struct tw_reply *p, const struct tw_request *r,
		   const struct tw_served *served, const struct tw_reply_series *of,
		   struct tw_buf *out, struct tw_err *err);

/*
 * Go on until the reply is whole (*done) or the clock (lib/core/clock.h) is past
 * until_ns, one step at least. After a failure out is of no use.
 */
int tw_reply_go_on(struct tw_reply *p, uint64_t until_ns, bool *done, struct tw_err *err);

/* For version 2: there are no watts, and why. */
void tw_reply_refuse(struct tw_buf *out, const struct tw_err *why);

void tw_reply_release(struct tw_reply *p);

#endif /* TW_ESTIMATOR_REPLY_H */
