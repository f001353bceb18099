/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_REPLY_H
#define TW_ESTIMATOR_REPLY_H

/*
 * The reply to a whole request, with a model that answers it: the answer of
 * estimator/answer.h, and for who asks for version 2 what the watts are worth
 * (docs/tw-estimator.md, "Version 2").
 */

#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_request;
struct tw_served;

/* Memory that is used again. All zero bytes is empty. */
struct tw_reply_scratch {
	double *watts;          /* of a component */
	unsigned char *outside; /* rows that are extrapolated */
	size_t rows;            /* room in both */
};

/* At the end of out, which is of no use after a failure. */
int tw_reply_write(struct tw_reply_scratch *scratch, const struct tw_request *r,
		   const struct tw_served *served, struct tw_buf *out,
		   struct tw_err *err);

/* For version 2: there are no watts, and why. */
void tw_reply_refuse(struct tw_buf *out, const struct tw_err *why);

void tw_reply_scratch_release(struct tw_reply_scratch *s);

#endif /* TW_ESTIMATOR_REPLY_H */
