/* SPDX-License-Identifier: Apache-2.0 */
#include "web/page.h"

#include "lib/core/array.h"

#if TW_WEB
#include <web/jobs.inc>
#define COUNT TW_COUNT(files)
#else
static const struct tw_web_file *const files = NULL;
#define COUNT 0
#endif

static void get_page(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	(void)app;
	tw_page_send(files, COUNT, q, r);
}

const struct tw_http_route tw_page_jobs = {
	.method = "GET",
	.path = "/",
	.handle = get_page,
};

const struct tw_http_route tw_page_jobs_files = {
	.method = "GET",
	.path = "/web/{file}",
	.handle = get_page,
};
