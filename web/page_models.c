/* SPDX-License-Identifier: Apache-2.0 */
#include "web/page.h"

#include "lib/core/array.h"

#if TW_WEB
#include <web/models.inc>
TW_WEB_PAGE(tw_page_models, TW_COUNT(files));
#else
static const struct tw_web_file *const files = NULL;
TW_WEB_PAGE(tw_page_models, 0);
#endif
