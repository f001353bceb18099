/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_CREDENTIALS_H
#define TW_COLLECTOR_CREDENTIALS_H

/*
 * Secrets are read from files, never from the command line or the environment, which
 * other users can see.
 */

#include <stddef.h>

struct tw_err;

/* TW_DENIED if others may read the file, or its group may write it. */
int tw_secret_check(const char *path, struct tw_err *err);

struct tw_login {
	char user[128], password[256];
};

/*
 * Read a file with "user = NAME" and "password = TEXT". TW_DENIED if others may read it,
 * or its group may write it.
 */
int tw_login_read(const char *path, struct tw_login *out, struct tw_err *err);

/*
 * Read a token: the file's text without trailing blanks. Fails for an empty file and for
 * blanks inside.
 */
int tw_token_read(const char *path, char *out, size_t size, struct tw_err *err);

#endif /* TW_COLLECTOR_CREDENTIALS_H */
