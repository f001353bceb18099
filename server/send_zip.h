/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_SEND_ZIP_H
#define TW_SERVER_SEND_ZIP_H

#include "lib/http/client/http_range.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_http_reply;
struct tw_http_request;
struct tw_index;
struct tw_index_entry;

/*
 * Reply with the model's zip as an attachment, sent from its file. With q (else NULL) the
 * headers If-None-Match, If-Range and Range apply: RFC 9110, sections 13 and 14.
 */
int tw_send_zip(struct tw_index *x, const struct tw_index_entry *e,
		const struct tw_http_request *q, struct tw_http_reply *r,
		struct tw_err *err);

/* Size of an entity tag with its NUL. */
#define TW_ETAG_TEXT 64

/* The part of size bytes with this tag that q asks for (NULL: all); *range gets it. */
enum tw_http_wants tw_send_wants(const struct tw_http_request *q, const char *etag,
				 uint64_t size, struct tw_http_range *range);

/* Set status and headers of the reply. True if the range is its body. */
bool tw_send_head(struct tw_http_reply *r, enum tw_http_wants wants, const char *etag,
		  uint64_t size, const struct tw_http_range *range);

/* Headers of a route: ranges may be asked for, and a cache must ask with the tag. */
void tw_send_cacheable(struct tw_http_reply *r);

#endif /* TW_SERVER_SEND_ZIP_H */
