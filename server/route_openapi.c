/* SPDX-License-Identifier: Apache-2.0 */
#include "server/routes.h"

/* server/openapi.json. A test compares it with the table of routes. */
static const char document[] = {
#include <openapi.inc>
};

static void get_openapi(void *app, const struct tw_http_request *q,
			struct tw_http_reply *r)
{
	(void)app;
	(void)q;
	tw_http_reply_lend(r, document, sizeof(document), NULL, NULL);
	r->content_type = "application/openapi+json;version=3.1";
}

const struct tw_http_route tw_route_openapi = {
	.method = "GET",
	.path = "/openapi.json",
	.handle = get_openapi,
};
