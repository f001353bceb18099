/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_PULL_TAKE_H
#define TW_SERVER_PULL_TAKE_H

/*
 * One attempt to pull a pipeline: ask whether there is another than the one in place,
 * download it, check it whole as one that is published (server/uploads.h), put it in
 * place in one step. Whatever fails, what was in place stays.
 */

#include "lib/http/http.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_fetch;
struct tw_pull_source;
struct tw_uploads;

/* What attempts of all sources share. */
struct tw_pull_means {
	const char *model_db;
	const struct tw_uploads *uploads;
	struct tw_fetch *fetch; /* NULL where all sources are local */
	uint64_t timeout_ms;    /* of a download */
	pthread_mutex_t
		*turn; /* one is unpacked and checked at a time: that takes memory */
};

enum tw_pull_outcome {
	TW_PULL_TAKEN,     /* another one is in place */
	TW_PULL_UNCHANGED, /* it is the one that is in place */
	TW_PULL_LOCAL,     /* what is in place is somebody else's, and left alone */
	TW_PULL_FAILED,    /* may be over when tried again */
	TW_PULL_REFUSED,   /* what is there cannot be taken; trying again is of no use */
};

struct tw_pull_result {
	enum tw_pull_outcome outcome;
	bool there;             /* a pipeline of the name is in place */
	uint64_t from, bytes;   /* downloaded: from which byte on, and how many then */
	uint64_t retry_after_s; /* as the server asks; 0: it does not */
	size_t models, kept;    /* TW_PULL_TAKEN: usable ones; others' that are kept */
	/* TW_PULL_REFUSED: of what was refused. Given to the next attempt. */
	char etag[TW_HTTP_ETAG_MAX];
};

/*
 * refused: the tag of what was refused the last time, or "". *err says why, for
 * TW_PULL_FAILED and TW_PULL_REFUSED; for the latter it is untouched where the source
 * still has what was refused.
 */
void tw_pull_take(const struct tw_pull_means *m, const struct tw_pull_source *s,
		  const char *refused, struct tw_pull_result *out, struct tw_err *err);

#endif /* TW_SERVER_PULL_TAKE_H */
