/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_OPENAPI_ROUTE_H
#define TW_OPENAPI_ROUTE_H

/*
 * Define the route NAME, "/openapi.json", which sends a description of a daemon's API:
 * the bytes of `document`, an array of char.
 */

#include "lib/http/server/httpd.h"

#define TW_OPENAPI_ROUTE(name, document)                                       \
	static void get_openapi(void *app, const struct tw_http_request *q,    \
				struct tw_http_reply *r)                       \
	{                                                                      \
		(void)app;                                                     \
		(void)q;                                                       \
		tw_http_reply_lend(r, document, sizeof(document), NULL, NULL); \
		r->content_type = "application/openapi+json;version=3.1";      \
	}                                                                      \
	const struct tw_http_route name = { .method = "GET",                   \
					    .path = "/openapi.json",           \
					    .handle = get_openapi }

#endif /* TW_OPENAPI_ROUTE_H */
