/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_CREDENTIALS_H
#define TW_COLLECTOR_CREDENTIALS_H

/*
 * Secrets from files: never from the command line or the environment, which others can
 * see.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

struct tw_login {
	char user[128], password[256];
};

/*
 * A file "user = NAME", "password = TEXT". TW_DENIED where others may read it, or the
 * group may write it.
 */
int tw_login_read(const char *path, struct tw_login *out, struct tw_err *err);

/* A token: the file's text without blanks at its end. Fails where it is empty. */
int tw_token_read(const char *path, char *out, size_t size, struct tw_err *err);

#endif /* TW_COLLECTOR_CREDENTIALS_H */
