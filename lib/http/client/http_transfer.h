/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTP_TRANSFER_H
#define TW_HTTP_TRANSFER_H

/* A call as a transfer of libcurl; private to lib/http/client/http.c and
 * lib/http/client/http_many.c.
 */

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/http/client/http_call.h"

#include <curl/curl.h>

/* libcurl keeps pointers into it: it must not move between begin and release. */
struct tw_transfer {
	const struct tw_http_call *call;
	CURL *handle;
	struct curl_slist *headers, *connect_to;
	struct tw_buf body;
	struct tw_http_head head;
	size_t max, taken;
	bool begun;
	bool over;            /* the body exceeds max */
	bool refused;         /* begin or the sink failed */
	struct tw_err reason; /* why they failed */
	char text[CURL_ERROR_SIZE];
};

/*
 * Set the options of h for the call, which must live as long as the transfer. Call
 * tw_transfer_release() after a failure, too.
 */
int tw_transfer_begin(struct tw_transfer *t, CURL *h, const struct tw_http_call *c,
		      struct tw_err *err);

/* Take the answer of a transfer that ended with e. *out is yours. */
int tw_transfer_end(struct tw_transfer *t, CURLcode e, struct tw_http_answer *out,
		    struct tw_err *err);

/* The handle stays open. */
void tw_transfer_release(struct tw_transfer *t);

#endif /* TW_HTTP_TRANSFER_H */
