/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_PULL_H
#define TW_SERVER_PULL_H

/*
 * Download pipelines from other places into the database, in the background (docs/tw-
 * server.md, "Pulling"). Each pipeline has a thread, so that a dead or slow source delays
 * no other. The last good copy is served until a newer one is complete, whatever happens
 * to the source.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_expo;
struct tw_pulls;
struct tw_replica;
struct tw_strs;
struct tw_uploads;

struct tw_pulls_config {
	const struct tw_strs *from; /* server/fleet/pull_source.h */
	const char *top;            /* or NULL */
	const char *model_db;
	const struct tw_replica *replica; /* outlives the pulls */
	const struct tw_uploads *uploads; /* checks that a pipeline must pass */
	uint64_t refresh_ms;              /* 0: stop after the first success */
	uint64_t timeout_ms;              /* of one download */
	int reload_fd; /* an eventfd; written when a pipeline was published */
};

enum tw_pull_state {
	TW_PULL_WAITING,    /* not asked yet */
	TW_PULL_CURRENT,    /* the database has the version of the source */
	TW_PULL_KEPT,       /* the source fails; the database has the last good copy */
	TW_PULL_KEPT_LOCAL, /* the database has a pipeline from elsewhere; it is left
			       alone */
	TW_PULL_MISSING,    /* the source fails, and the database has no copy */
	TW_PULL_BROKEN,     /* the version of the source was rejected */
	TW_PULL_STATES
};

/* "waiting", "current", "kept", "local", "missing", "refused". */
const char *tw_pull_state_name(enum tw_pull_state s);

struct tw_pull_status {
	const char *pipeline, *from; /* without secrets; live as long as the pulls */
	enum tw_pull_state state;
	bool rollout, next; /* the source is a rollout; its next version is taken */
	uint64_t attempts, failures, refusals, taken;
	uint64_t bytes;      /* downloaded */
	int64_t confirmed_s; /* when the source last confirmed this version; 0: never */
};

/*
 * Start the threads. TW_INVALID for malformed entries. Without entries no thread is
 * started. *out is yours: tw_pulls_close().
 */
int tw_pulls_open(const struct tw_pulls_config *c, struct tw_pulls **out,
		  struct tw_err *err);

/* Ask all sources now. */
void tw_pulls_again(struct tw_pulls *p);

size_t tw_pulls_count(const struct tw_pulls *p);
void tw_pulls_at(struct tw_pulls *p, size_t i, struct tw_pull_status *out);

/* The metrics of all pulls. p may be NULL: none. */
void tw_pulls_write(struct tw_pulls *p, struct tw_expo *e);
void tw_pulls_list_metrics(struct tw_buf *out);

/* Cancel downloads in progress; the next start resumes them. */
void tw_pulls_close(struct tw_pulls *p); /* NULL is fine */

#endif /* TW_SERVER_PULL_H */
