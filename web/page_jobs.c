/* SPDX-License-Identifier: Apache-2.0 */
#include "web/page.h"

#include "lib/core/array.h"

#if TW_WEB
#include <web/jobs.inc>
TW_WEB_PAGE(tw_page_jobs, TW_COUNT(files));
#else
static const struct tw_web_file *const files = NULL;
TW_WEB_PAGE(tw_page_jobs, 0);
#endif
