/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_SEND_FOREIGN_H
#define TW_SERVER_SEND_FOREIGN_H

/*
 * Files of kepler-model-server that imported pipelines keep below "foreign/". Pickles
 * among them execute code when they are loaded, so the server sends them only with
 * --serve-foreign.
 */

#include <stdbool.h>

struct tw_http_reply;
struct tw_http_request;
struct tw_index;
struct tw_service;

/*
 * Reply with the file that {pipeline}, {source}, {output}, {group} and {file} of the
 * request name, or with 403 if sending is not allowed. False, without a reply, if there
 * is no such file, or if pipelines need a signature and this one is not in the index.
 */
bool tw_send_foreign(const struct tw_service *s, const struct tw_index *x,
		     const struct tw_http_request *q, struct tw_http_reply *r);

#endif /* TW_SERVER_SEND_FOREIGN_H */
