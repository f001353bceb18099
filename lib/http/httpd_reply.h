/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_REPLY_H
#define TW_HTTPD_REPLY_H

/*
 * Replies as libmicrohttpd takes them. For lib/httpd*.c only.
 */

struct MHD_Response;
struct tw_http_reply;

/*
 * Consumes what the reply owns, in any case. NULL without memory. accept_encoding is the
 * request's, or NULL: a text that is worth it is packed for who takes that.
 */
struct MHD_Response *tw_http_reply_make(struct tw_http_reply *r,
					const char *accept_encoding);

/* Free what the reply owns; its body is told to be not needed. */
void tw_http_reply_release(struct tw_http_reply *r);

#endif /* TW_HTTPD_REPLY_H */
