/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_SEND_H
#define TW_SERVER_SEND_H

/*
 * Files as replies. With the request q the headers If-None-Match, If-Range and Range
 * apply: RFC 9110, sections 13 and 14.
 */

#include "lib/http/server/http_range.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_http_reply;
struct tw_http_request;
struct tw_index;
struct tw_index_entry;
struct tw_index_text;
struct tw_service;

/* Size of an entity tag with its NUL. */
#define TW_ETAG_TEXT 64

/* Reply with the model's zip as an attachment, sent from its file; q may be NULL. */
int tw_send_zip(struct tw_index *x, const struct tw_index_entry *e,
		const struct tw_http_request *q, struct tw_http_reply *r,
		struct tw_err *err);

/*
 * Set status and headers of a reply of size bytes with that tag. True if the range of
 * them is to be its body.
 */
bool tw_send_begin(const struct tw_http_request *q, struct tw_http_reply *r,
		   const char *etag, uint64_t size, struct tw_http_range *range);

/* The body is a text of the index, which the reply frees or keeps the index for. */
void tw_send_text(struct tw_index *x, const struct tw_index_text *t,
		  struct tw_http_reply *r);

/* The body is the attachment <name>.zip. */
void tw_send_as_zip(struct tw_http_reply *r, const char *name);

/*
 * Reply with the file of kepler-model-server, kept below "foreign/" of an imported
 * pipeline, that {pipeline}, {source}, {output}, {group} and {file} of the request name.
 * Reply 403 without --serve-foreign: pickles among them execute code when they are
 * loaded. False, without a reply, if there is no such file, or if pipelines need a
 * signature and this one is not in the index.
 */
bool tw_send_foreign(const struct tw_service *s, const struct tw_index *x,
		     const struct tw_http_request *q, struct tw_http_reply *r);

#endif /* TW_SERVER_SEND_H */
