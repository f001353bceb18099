/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_PULL_H
#define TW_SERVER_PULL_H

/*
 * Pipelines pulled from elsewhere into the database, in the background
 * (docs/tw-server.md, "Pulling"): a thread for each, so that one that is dead or slow
 * holds up nobody. What was pulled once is served until there is another, whatever
 * becomes of where it is from.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_pulls;
struct tw_strs;
struct tw_uploads;

struct tw_pulls_config {
	const struct tw_strs *from; /* server/pull_source.h */
	const char *top;            /* or NULL */
	const char *model_db;
	const struct tw_uploads *uploads; /* what is asked of a pipeline */
	uint64_t refresh_ms;              /* 0: until it was there once */
	uint64_t timeout_ms;              /* of one download */
	int reload_fd; /* an eventfd, written to when a pipeline was put in place */
};

enum tw_pull_state {
	TW_PULL_WAITING,    /* not asked yet */
	TW_PULL_CURRENT,    /* what its source has is in place */
	TW_PULL_KEPT,       /* in place is the last good copy: the source fails */
	TW_PULL_KEPT_LOCAL, /* in place is what did not come from there; left alone */
	TW_PULL_MISSING,    /* the source fails, and there is none */
	TW_PULL_BROKEN,     /* what the source has is refused */
	TW_PULL_STATES
};

/* "waiting", "current", "kept", "local", "missing", "refused". */
const char *tw_pull_state_name(enum tw_pull_state s);

struct tw_pull_status {
	const char *pipeline, *from; /* without secrets; live as long as the pulls */
	enum tw_pull_state state;
	uint64_t attempts, failures, refusals, taken;
	uint64_t bytes;      /* downloaded */
	int64_t confirmed_s; /* when the source last said that this is it; 0: never */
};

/*
 * Threads are started, and answered to nobody but here. TW_INVALID for entries that are
 * none; nothing is started where there are none. *out is yours: tw_pulls_close().
 */
int tw_pulls_open(const struct tw_pulls_config *c, struct tw_pulls **out,
		  struct tw_err *err);

/* Ask all sources now. */
void tw_pulls_again(struct tw_pulls *p);

size_t tw_pulls_count(const struct tw_pulls *p);
void tw_pulls_at(struct tw_pulls *p, size_t i, struct tw_pull_status *out);

/* Downloads under way are cut off; they are gone on with the next time. */
void tw_pulls_close(struct tw_pulls *p); /* NULL is fine */

#endif /* TW_SERVER_PULL_H */
