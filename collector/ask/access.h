/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ACCESS_H
#define TW_COLLECTOR_ACCESS_H

/*
 * Credentials for the requests of a job: from one file with user, password, token-file,
 * ca, cert, key, insecure; or a login and a token, each from its file. Logins and tokens
 * may be replaced at any time. While a new one cannot be read, the last stays in use.
 */

#include "collector/system/credentials.h"
#include "lib/core/strs.h"
#include "lib/http/client/http.h"

#include <stdint.h>

struct tw_err;

#define TW_ACCESS_TOKEN_MAX 16384

/* All zero bytes: no credentials. */
struct tw_access {
	struct tw_http_access http;
	const char *login_file, *token_file; /* paths, borrowed; NULL: none */
	/* Private. */
	struct tw_strs file; /* name, value, ... */
	struct tw_login login;
	char token[TW_ACCESS_TOKEN_MAX];
	uint64_t renewed_ms; /* time of the last tw_access_renew(); 0: never */
};

/*
 * Read the file, before the process drops root; path NULL: no credentials. Call
 * tw_access_close() afterwards.
 */
int tw_access_open(struct tw_access *a, const char *path, struct tw_err *err);

/* Read the login and the token again. Fails as long as one was never readable. */
int tw_access_read(struct tw_access *a, struct tw_err *err);

/* The same, after_ms after the last time. Failures have no effect. */
void tw_access_renew(struct tw_access *a, uint64_t now_ms, uint64_t after_ms);

void tw_access_close(struct tw_access *a);

#endif /* TW_COLLECTOR_ACCESS_H */
