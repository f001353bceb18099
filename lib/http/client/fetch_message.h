/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_FETCH_MESSAGE_H
#define TW_FETCH_MESSAGE_H

/*
 * The messages between tw-fetch and its parent: a call on the child's standard input, an
 * answer or a failure on its standard output. A message is a line of JSON, then the bytes
 * of the body.
 */

#include "lib/http/client/http.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;

/* Limits of the line of JSON and of a call's body, in bytes. */
#define TW_FETCH_HEAD_MAX ((size_t)64 * 1024)
#define TW_FETCH_BODY_MAX ((size_t)1 << 20)

/* The child's descriptor of the file that a download goes to
 * (lib/http/client/download.h). */
#define TW_FETCH_FILE 3

/* Append a call; save: the child downloads into TW_FETCH_FILE. */
void tw_fetch_write_call(struct tw_buf *b, const struct tw_http_call *c, bool save);

/* Parse a call. *out points into data and *root; *root is yours: json_decref(). */
int tw_fetch_read_call(const char *data, size_t len, json_t **root,
		       struct tw_http_call *out, bool *save, struct tw_err *err);

void tw_fetch_write_answer(struct tw_buf *b, const struct tw_http_answer *a);
void tw_fetch_write_failure(struct tw_buf *b, const struct tw_err *why);

/*
 * Parse an answer. A failure of the child becomes the failure of this function, with its
 * code and text. *out is yours: tw_http_answer_release().
 */
int tw_fetch_read_outcome(const char *data, size_t len, struct tw_http_answer *out,
			  struct tw_err *err);

#endif /* TW_FETCH_MESSAGE_H */
