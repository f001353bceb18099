/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_PACK_H
#define TW_HTTPD_PACK_H

/*
 * Answers by gzip. For lib/httpd*.c only.
 */

struct tw_http_reply;

/*
 * Replace the body by a packed one where the client (Accept-Encoding, or NULL) likes that
 * and it is worth it: a text of some size that gets smaller. Without memory it stays as
 * it is.
 */
void tw_http_reply_pack(struct tw_http_reply *r, const char *accept_encoding);

#endif /* TW_HTTPD_PACK_H */
