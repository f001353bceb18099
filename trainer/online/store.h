/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_STORE_H
#define TW_ONLINE_STORE_H

/*
 * The durable state of online training, in one SQLite database: how far Prometheus was
 * read, the segments of each window, and the decisions. No other file uses SQLite.
 *
 * Changes between tw_store_begin() and tw_store_commit() are one transaction: after a
 * crash at any moment, all of them or none are there. One process at a time opens a
 * database, and one thread uses it.
 */

#include "trainer/online/window.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_store;
struct tw_strs;

/* Window names, with the NUL. */
#define TW_WINDOW_NAME 128

/* *out is yours: tw_store_close(). The file is made if it is missing. */
int tw_store_open(const char *path, struct tw_store **out, struct tw_err *err);
void tw_store_close(struct tw_store *s); /* NULL is fine */

/* A transaction: all that follows is stored by the commit, or not at all. */
int tw_store_begin(struct tw_store *s, struct tw_err *err);
int tw_store_commit(struct tw_store *s, struct tw_err *err);
void tw_store_abort(struct tw_store *s); /* nothing without a transaction */

/* The time up to which Prometheus was read; 0: never. */
int tw_store_read_to(struct tw_store *s, int64_t *to_ms, struct tw_err *err);
int tw_store_set_read_to(struct tw_store *s, int64_t to_ms, struct tw_err *err);

/* ---- windows ---- */

/* Append the names of all windows, sorted. */
int tw_store_windows(struct tw_store *s, struct tw_strs *out, struct tw_err *err);

/*
 * Add a segment with its response as text. TW_INVALID if it overlaps a segment of the
 * window or is before the last. Sets id.
 */
int tw_store_add(struct tw_store *s, const char *window, struct tw_segment *segment,
		 const char *text, size_t len, struct tw_err *err);

/* *out must be empty; release it also after a failure. */
int tw_store_segments(struct tw_store *s, const char *window, struct tw_segments *out,
		      struct tw_err *err);

/* The response of a segment. *text is yours. */
int tw_store_text(struct tw_store *s, int64_t id, char **text, size_t *len,
		  struct tw_err *err);

/* Remove a segment with its response. */
int tw_store_remove(struct tw_store *s, int64_t id, struct tw_err *err);

/* Remove the segments of a window up to a time. */
int tw_store_forget(struct tw_store *s, const char *window, int64_t to_ms,
		    struct tw_err *err);

/* Remove segments that end after from_ms: a wrong clock made them. */
int tw_store_forget_after(struct tw_store *s, const char *window, int64_t from_ms,
			  struct tw_err *err);

/* Let the held-out segments up to a time train. */
int tw_store_release_held(struct tw_store *s, const char *window, int64_t to_ms,
			  struct tw_err *err);

/* ---- decisions ---- */

/*
 * The state of a window that must outlive the process. All zero bytes: no decision yet.
 */
struct tw_standing {
	int64_t trained_to_ms;  /* the serving models have seen samples up to then */
	int64_t tried_to_ms;    /* the last training used samples up to then */
	int64_t published_ms;   /* when the serving models were published; 0: not here */
	int64_t onset_ms;       /* the drift began; 0: no drift */
	int64_t worse_since_ms; /* they are worse than the previous ones; 0: no */
	/* Error of the main model on held-out segments at publishing, W; 0: unknown. */
	double error_w;
};

/* A window without a decision has all zero bytes. */
int tw_store_standing(struct tw_store *s, const char *window, struct tw_standing *out,
		      struct tw_err *err);
int tw_store_set_standing(struct tw_store *s, const char *window,
			  const struct tw_standing *standing, struct tw_err *err);

enum tw_verdict {
	TW_PUBLISHED,
	TW_NOT_BETTER,    /* than the serving models, by the margin */
	TW_NOT_CERTIFIED, /* no better model has a certificate */
	TW_NOT_TRAINED,   /* the training failed */
	TW_ROLLED_BACK,
	TW_VERDICTS
};

/* "published", "not_better", "not_certified", "not_trained", "rolled_back" */
const char *tw_verdict_name(enum tw_verdict v);

/* Record a decision. The store keeps the last 1000 of all windows. */
int tw_store_add_verdict(struct tw_store *s, const char *window, int64_t at_ms,
			 enum tw_verdict v, const char *why, struct tw_err *err);

/* The number of each verdict since the database was made. */
int tw_store_count_verdicts(struct tw_store *s, const char *window,
			    uint64_t count[TW_VERDICTS], struct tw_err *err);

#endif /* TW_ONLINE_STORE_H */
