/* SPDX-License-Identifier: Apache-2.0 */
#include "web/page.h"

#include "lib/core/array.h"

#if TW_WEB
#include <web/live.inc>
TW_WEB_PAGE(tw_page_live, TW_COUNT(files));
#else
static const struct tw_web_file *const files = NULL;
TW_WEB_PAGE(tw_page_live, 0);
#endif

#if TW_FLEET
const struct tw_http_route tw_page_fleet = { .method = "GET",
					     .path = "/fleet",
					     .handle = get_page };
#endif
