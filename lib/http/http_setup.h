/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTP_SETUP_H
#define TW_HTTP_SETUP_H

/*
 * A call as options of libcurl. For lib/http/http.c.
 */

#include "lib/http/http.h"

#include <curl/curl.h>

/*
 * All but where the answer goes. *list is the caller's, on failure too, and lives as long
 * as the call: curl_slist_free_all().
 */
CURLcode tw_http_setup(CURL *h, const struct tw_http_call *c, struct curl_slist **list);

#endif /* TW_HTTP_SETUP_H */
