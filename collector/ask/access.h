/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ACCESS_H
#define TW_COLLECTOR_ACCESS_H

/*
 * Credentials for the requests of a job, from a file with user, password, token-file, ca,
 * cert, key, insecure.
 */

#include "lib/core/strs.h"
#include "lib/http/client/http.h"

#include <stdint.h>

struct tw_err;

#define TW_ACCESS_TOKEN_MAX 16384

/* All zero bytes: no credentials. */
struct tw_access {
	struct tw_http_access http;
	/* Private. */
	struct tw_strs file; /* name, value, ... */
	const char *token_file;
	char token[TW_ACCESS_TOKEN_MAX];
	uint64_t token_ms; /* time of the last reading; 0: never */
};

/*
 * Read the file, before the process drops root; path NULL: no credentials. Call
 * tw_access_close() afterwards.
 */
int tw_access_open(struct tw_access *a, const char *path, struct tw_err *err);

/*
 * Read the token file again, after_ms after the last reading: it may be replaced at any
 * time. If the file cannot be read, the last token stays in use.
 */
void tw_access_renew(struct tw_access *a, uint64_t now_ms, uint64_t after_ms);

void tw_access_close(struct tw_access *a);

#endif /* TW_COLLECTOR_ACCESS_H */
