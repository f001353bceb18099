/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_HTTP_CALLS_H
#define TW_TEST_HTTP_CALLS_H

#include "lib/core/err.h"

struct tw_http_call;

/* Set-up of tests that call: no proxy of the environment comes between. */
int http_begin(void **state);

/* The call fails: with this code, a text that begins like this and has that in it. */
void http_fails(const struct tw_http_call *c, enum tw_code code, const char *start_text,
		const char *within);

#endif /* TW_TEST_HTTP_CALLS_H */
