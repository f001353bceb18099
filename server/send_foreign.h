/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_SEND_FOREIGN_H
#define TW_SERVER_SEND_FOREIGN_H

/*
 * Files of other programs, which imported pipelines keep below "foreign/": they may be
 * pickles, which run what is in them where they are loaded. So they are passed through
 * only where the server was told to (--serve-foreign).
 */

#include <stdbool.h>

struct tw_http_reply;
struct tw_http_request;
struct tw_service;

/*
 * Answer with the file that the request's {pipeline}, {source}, {output}, {group} and
 * {file} name, or with 403 where there is one and it may not be passed through. False,
 * and no answer, where there is none.
 */
bool tw_send_foreign(const struct tw_service *s, const struct tw_http_request *q,
		     struct tw_http_reply *r);

#endif /* TW_SERVER_SEND_FOREIGN_H */
