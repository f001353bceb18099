/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_PULL_TAKE_H
#define TW_SERVER_PULL_TAKE_H

/*
 * An attempt to pull a pipeline: ask the source whether it has another version, download
 * it, check it as an upload (server/uploads.h), and publish it in one step. After a
 * failure the database has the version from before.
 */

#include "lib/http/client/http.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_fetch;
struct tw_pull_source;
struct tw_replica;
struct tw_uploads;

/* Shared by the attempts of all sources. */
struct tw_pull_means {
	const char *model_db;
	const struct tw_uploads *uploads;
	const struct tw_replica *replica;
	struct tw_fetch *fetch; /* NULL if all sources are local */
	uint64_t timeout_ms;    /* of a download */
	pthread_mutex_t *turn;  /* held while unpacking and checking, which take memory */
};

enum tw_pull_outcome {
	TW_PULL_TAKEN,     /* a new version is published */
	TW_PULL_UNCHANGED, /* the source has the published version */
	TW_PULL_LOCAL,     /* another publisher's pipeline is there; it is left alone */
	TW_PULL_FAILED,    /* a later attempt may succeed */
	TW_PULL_REFUSED,   /* the version is rejected; another attempt would fail, too */
};

struct tw_pull_result {
	enum tw_pull_outcome outcome;
	bool exists;            /* the database has a pipeline of this name */
	bool next;              /* of a rollout: its next version */
	uint64_t from, bytes;   /* first byte and number of bytes downloaded */
	uint64_t retry_after_s; /* Retry-After of the server; 0: absent */
	size_t models, kept; /* TW_PULL_TAKEN: models that can be used, and foreign files
				that are kept */
	/* TW_PULL_REFUSED: tag of the rejected version, for the next attempt */
	char etag[TW_HTTP_ETAG_MAX];
};

/*
 * refused: the tag of the version that was rejected last, or "". *err has the reason for
 * TW_PULL_FAILED and TW_PULL_REFUSED. It is untouched if the source still has the
 * rejected version.
 */
void tw_pull_take(const struct tw_pull_means *m, const struct tw_pull_source *s,
		  const char *refused, struct tw_pull_result *out, struct tw_err *err);

#endif /* TW_SERVER_PULL_TAKE_H */
