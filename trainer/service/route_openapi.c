/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/service/train_service.h"

#include "lib/http/server/httpd_reply.h"

/* trainer/service/openapi.json. A test compares it with the table of routes. */
static const char document[] = {
#include <trainer/service/openapi.inc>
};

void tw_get_trainer_openapi(void *app, const struct tw_http_request *q,
			    struct tw_http_reply *r)
{
	(void)app;
	(void)q;
	tw_http_reply_openapi(r, document, sizeof(document));
}
