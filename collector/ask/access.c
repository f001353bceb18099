/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/access.h"

#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/program/opt_file.h"

#include <string.h>

static const char *const names[] = { "user", "password", "token-file", "ca",
				     "cert", "key",      "insecure",   NULL };

int tw_access_open(struct tw_access *a, const char *path, struct tw_err *err)
{
	const char *insecure;

	if (path == NULL)
		return 0;
	if (tw_secret_check(path, err) < 0 ||
	    tw_opt_file_read(path, names, &a->file, err) < 0)
		return -1;
	insecure = tw_opt_file_find(&a->file, "insecure");
	if (insecure != NULL && strcmp(insecure, "yes") != 0 &&
	    strcmp(insecure, "no") != 0)
		return tw_fail(err, TW_INVALID, "'%s': insecure: want yes or no", path);
	a->http = (struct tw_http_access){
		.user = tw_opt_file_find(&a->file, "user"),
		.password = tw_opt_file_find(&a->file, "password"),
		.ca_file = tw_opt_file_find(&a->file, "ca"),
		.cert_file = tw_opt_file_find(&a->file, "cert"),
		.key_file = tw_opt_file_find(&a->file, "key"),
		.insecure = insecure != NULL && strcmp(insecure, "yes") == 0,
	};
	a->token_file = tw_opt_file_find(&a->file, "token-file");
	tw_access_renew(a, tw_now_ms(), 0);
	return 0;
}

static int read_login(struct tw_access *a, struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (a->login_file == NULL)
		return 0;
	if (tw_login_read(a->login_file, &a->login, &why) == 0) {
		a->http.user = a->login.user;
		a->http.password = a->login.password;
	}
	return a->http.user != NULL ? 0 : tw_fail(err, why.code, "%s", why.text);
}

static int read_token(struct tw_access *a, struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (a->token_file == NULL)
		return 0;
	if (tw_token_read(a->token_file, a->token, sizeof(a->token), &why) == 0)
		a->http.token = a->token;
	return a->http.token != NULL ? 0 : tw_fail(err, why.code, "%s", why.text);
}

int tw_access_read(struct tw_access *a, struct tw_err *err)
{
	return read_login(a, err) < 0 ? -1 : read_token(a, err);
}

void tw_access_renew(struct tw_access *a, uint64_t now_ms, uint64_t after_ms)
{
	struct tw_err later = { 0 };

	if (a->renewed_ms != 0 && now_ms - a->renewed_ms < after_ms)
		return;
	a->renewed_ms = now_ms;
	tw_access_read(a, &later);
}

void tw_access_close(struct tw_access *a)
{
	tw_strs_clear(&a->file);
	explicit_bzero(&a->login, sizeof(a->login));
	explicit_bzero(a->token, sizeof(a->token));
}
