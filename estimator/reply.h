/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_REPLY_H
#define TW_ESTIMATOR_REPLY_H

/*
 * The reply to a complete request, predicted by one model (docs/wire.md, "Estimator
 * socket"):
 *
 *	{"powers":{"package":[41.2,3.1]},"msg":"","core_ratio":1}
 *
 * A reply to version 2 has more keys, which describe the model and its errors
 * (docs/tw-estimator.md, "Version 2").
 *
 * Old versions of Kepler read 4096 bytes once. Numbers therefore have at most 3 decimals,
 * and a component that is 0 in every row is left out, except the main component. A row
 * without a prediction has null, which Kepler reads as 0.
 *
 * Each row is predicted once, and its numbers are appended to the lists of the answer;
 * the lists are then joined. This is done in steps, so that a large request does not
 * delay other clients. A small request of a cheap model takes one pass.
 */

#include "estimator/request_rows.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/energy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_request;
struct tw_served;

/* A prediction above this is not a power: the row has null. */
#define TW_REPLY_WATTS_MAX 1e9

/* Lists of powers, intervals and errors of the components, and texts between them. */
#define TW_REPLY_PARTS (3 * TW_COMPONENT_COUNT + 3)

/* All zero bytes is valid and empty; may be moved. */
struct tw_reply {
	const struct tw_request *r;
	const struct tw_served *served;
	struct tw_buf *out;
	/* The requested components, or all components of the model. */
	struct {
		size_t part; /* index among the model's components */
		enum tw_component component;
		bool written; /* its powers are in the reply */
	} column[TW_COMPONENT_COUNT];
	size_t columns;
	struct tw_request_rows rows;
	size_t step_rows; /* rows predicted in one step */
	size_t row;       /* rows predicted so far */
	size_t extrapolated;
	size_t unpredicted; /* rows with null */
	struct tw_err why;  /* of the first of these */
	/* The texts that make the answer, in order. */
	struct tw_buf part[TW_REPLY_PARTS];
	size_t parts;
	size_t joined, offset; /* parts in the answer, and bytes of the next one */
};

/*
 * Begin a reply at the end of out. p keeps its memory from an earlier reply. r, served,
 * out and the history must outlive the reply. After a failure the contents of out are
 * undefined.
 */
int tw_reply_begin(struct tw_reply *p, const struct tw_request *r,
		   const struct tw_served *served, const struct tw_series_scope *scope,
		   struct tw_buf *out, struct tw_err *err);

/*
 * Continue until the reply is complete (*done) or tw_now_ns() is past until_ns; do at
 * least one step. Fails if no row has a prediction. After a failure the contents of out
 * are undefined.
 */
int tw_reply_go_on(struct tw_reply *p, uint64_t until_ns, bool *done, struct tw_err *err);

/* Write a reply of version 2 without watts; its msg is the reason. */
void tw_reply_refuse(struct tw_buf *out, const struct tw_err *why);

void tw_reply_release(struct tw_reply *p);

#endif /* TW_ESTIMATOR_REPLY_H */
