/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_FETCH_PASS_H
#define TW_FETCH_PASS_H

/*
 * Calls and their outcomes as bytes, between tw-fetch and who starts it: a line of
 * JSON, then the body. For lib/fetch*.c.
 */

#include "lib/http/http.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;

/* Of the line. */
#define TW_FETCH_HEAD_MAX ((size_t)64 * 1024)
#define TW_FETCH_BODY_MAX ((size_t)1 << 20)

/* save: into a file (lib/http/download.h), which is the child's descriptor TW_FETCH_FILE.
 */
void tw_fetch_write_call(struct tw_buf *b, const struct tw_http_call *c, bool save);

#define TW_FETCH_FILE 3

/* out points into data and *root, which is yours: json_decref(). */
int tw_fetch_read_call(const char *data, size_t len, json_t **root,
		       struct tw_http_call *out, bool *save, struct tw_err *err);

void tw_fetch_write_answer(struct tw_buf *b, const struct tw_http_answer *a);
void tw_fetch_write_failure(struct tw_buf *b, const struct tw_err *why);

/* The answer, or the failure as this function's own. *out is yours. */
int tw_fetch_read_outcome(const char *data, size_t len, struct tw_http_answer *out,
			  struct tw_err *err);

#endif /* TW_FETCH_PASS_H */
