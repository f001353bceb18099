/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PUSH_FORMAT_H
#define TW_COLLECTOR_PUSH_FORMAT_H

/*
 * The formats in which receivers take metrics: OTLP 1.x
 * (opentelemetry.io/docs/specs/otlp) and Prometheus' remote write 1.0, both with
 * cumulative values and a time stamp, so that a lost request loses nothing.
 */

#include "collector/push/families.h"

#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_strs;

/* Some samples of a text as the body of a request. */
struct tw_push_body {
	struct tw_buf *out;
	const struct tw_push_head *head;
	/* What they are of: name, value, name, value ... */
	const struct tw_strs *resource;
	const char *text;
	struct tw_push_place *place; /* as for tw_push_walk() */
	size_t most;
	size_t given; /* set */
};

struct tw_push_format {
	const char *name, *content_type;
	const char *coding;  /* Content-Encoding */
	const char *version; /* a header of its own; NULL: none */
	const char *path;    /* of a URL without a path; NULL: none */
	int (*write)(struct tw_push_body *b, struct tw_err *err);
	/*
	 * The samples that a receiver has refused by an answer with status 200, and why;
	 * NULL: its answer says nothing.
	 */
	uint64_t (*rejected)(const char *answer, size_t len, char *why, size_t size);
};

enum tw_push_to { TW_PUSH_OTLP, TW_PUSH_REMOTE_WRITE, TW_PUSH_COUNT };

extern const struct tw_push_format tw_push_formats[TW_PUSH_COUNT];

/* collector/push/otlp.c */
int tw_otlp_write(struct tw_push_body *b, struct tw_err *err);
uint64_t tw_otlp_rejected(const char *answer, size_t len, char *why, size_t size);
/* collector/push/remote_write.c */
int tw_remote_write(struct tw_push_body *b, struct tw_err *err);

#endif /* TW_COLLECTOR_PUSH_FORMAT_H */
