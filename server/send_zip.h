/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_SEND_ZIP_H
#define TW_SERVER_SEND_ZIP_H

struct tw_err;
struct tw_http_reply;
struct tw_http_request;
struct tw_index;
struct tw_index_entry;

/*
 * Answer with the model's zip, straight from its file, as an attachment. With q (else
 * NULL) its If-None-Match, If-Range and Range headers are heeded: RFC 9110, sections 13
 * and 14.
 */
int tw_send_zip(struct tw_index *x, const struct tw_index_entry *e,
		const struct tw_http_request *q, struct tw_http_reply *r,
		struct tw_err *err);

#endif /* TW_SERVER_SEND_ZIP_H */
