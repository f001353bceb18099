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

struct tw_err;

struct tw_push_format {
	const char *name, *content_type;
	const char *coding;  /* Content-Encoding */
	const char *version; /* a header of its own; NULL: none */
	const char *path;    /* of a URL without a path; NULL: none */
	int (*write)(struct tw_push_body *b, struct tw_err *err);
	/*
	 * The number of samples that a receiver refuses in an answer with status 200, and
	 * its reason. NULL: the format has no such answer.
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
