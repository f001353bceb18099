/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/access.h"

#include "collector/system/credentials.h"
#include "lib/core/array.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/program/opt.h"

#include <string.h>

static const struct tw_opt names[] = {
	{ .name = "user" },     { .name = "password" }, { .name = "token-file" },
	{ .name = "ca" },       { .name = "cert" },     { .name = "key" },
	{ .name = "insecure" },
};
static const struct tw_opts opts = { .program = "access",
				     .opt = names,
				     .count = TW_COUNT(names) };

int tw_access_open(struct tw_access *a, const char *path, struct tw_err *err)
{
	const char *insecure;

	if (path == NULL)
		return 0;
	if (tw_secret_check(path, err) < 0 ||
	    tw_opt_file_read(path, &opts, &a->file, err) < 0)
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

void tw_access_renew(struct tw_access *a, uint64_t now_ms, uint64_t after_ms)
{
	struct tw_err why = { 0 };
	char token[TW_ACCESS_TOKEN_MAX];

	if (a->token_file == NULL ||
	    (a->token_ms != 0 && now_ms - a->token_ms < after_ms))
		return;
	a->token_ms = now_ms;
	if (tw_token_read(a->token_file, token, sizeof(token), &why) < 0)
		return;
	memcpy(a->token, token, sizeof(token));
	explicit_bzero(token, sizeof(token));
	a->http.token = a->token;
}

void tw_access_close(struct tw_access *a)
{
	tw_strs_clear(&a->file);
	explicit_bzero(a->token, sizeof(a->token));
}
