/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_HTTP_CALLS_H
#define TW_TEST_HTTP_CALLS_H

#include "lib/core/err.h"

struct tw_http_call;

/* Set-up of tests that make calls: removes proxies from the environment. */
int http_begin(void **state);

/* Assert that the call fails with this code and a text with this start and this part. */
void http_fails(const struct tw_http_call *c, enum tw_code code, const char *start_text,
		const char *within);

#endif /* TW_TEST_HTTP_CALLS_H */
