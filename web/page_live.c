/* SPDX-License-Identifier: Apache-2.0 */
#include "web/page.h"

#include "lib/core/array.h"

#if TW_WEB
#include <web/live.inc>
#define FILES TW_COUNT(files)
#else
static const struct tw_web_file *const files = NULL;
#define FILES 0
#endif

void tw_page_live(void *app, const struct tw_http_request *q, struct tw_http_reply *r)
{
	(void)app;
	tw_page_send(files, FILES, q, r);
}
