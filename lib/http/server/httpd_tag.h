/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_TAG_H
#define TW_HTTPD_TAG_H

/* Texts that a client may have already: RFC 9110, section 13.1.2. */

struct tw_buf;
struct tw_http_reply;
struct tw_http_request;

/*
 * Reply with a text, which is empty afterwards, and a tag of its content; 304 if the
 * client has it.
 */
void tw_http_reply_tagged(const struct tw_http_request *q, struct tw_http_reply *r,
			  struct tw_buf *b);

#endif /* TW_HTTPD_TAG_H */
