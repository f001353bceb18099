/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CREDENTIALS_H
#define TW_CREDENTIALS_H

/*
 * Credentials and trusted certificates of the programs that call HTTP servers. Passwords
 * and tokens come from files or the environment, never from the command line, which every
 * user of the machine can read.
 */

#include "lib/core/strs.h"
#include "lib/http/client/http.h"
#include "lib/program/opt.h"

struct tw_err;

/* The options as given. */
struct tw_credentials_config {
	char *user, *password_file, *token_file, *headers_file;
	char *ca_file, *cert_file, *key_file;
	bool insecure;
};

/* Rows of an option table. The config has a struct tw_credentials_config named web. */
#define TW_CREDENTIALS_OPTS(config, insecure_env)                                      \
	{ TW_OPT_ROW(config, TEXT, "user", web.user, "NAME",                           \
		     "basic authentication; the password is in TW_HTTP_PASSWORD or "   \
		     "--password-file") },                                             \
		{ TW_OPT_ROW(config, TEXT, "password-file", web.password_file, "FILE", \
			     "file with the password") },                              \
		{ TW_OPT_ROW(config, TEXT, "token-file", web.token_file, "FILE",       \
			     "file with a bearer token (default: TW_HTTP_TOKEN)") },   \
		{ TW_OPT_ROW(                                                          \
			config, TEXT, "headers-file", web.headers_file, "FILE",        \
			"file of further request headers, one a line: Name: value") }, \
		{ TW_OPT_ROW(config, TEXT, "ca-file", web.ca_file, "FILE",             \
			     "trust these certificate authorities instead of the "     \
			     "system's") },                                            \
		{ TW_OPT_ROW(config, TEXT, "cert-file", web.cert_file, "FILE",         \
			     "client certificate") },                                  \
		{ TW_OPT_ROW(config, TEXT, "key-file", web.key_file, "FILE",           \
			     "key of the client certificate") },                       \
	{                                                                              \
		TW_OPT_ROW(config, BOOL, "insecure", web.insecure, NULL,               \
			   "do not verify certificates"),                              \
			.env = insecure_env                                            \
	}

/* The texts that access points to. All zero bytes: none. */
struct tw_credentials {
	struct tw_http_access access;
	char *password, *token;
	struct tw_strs headers;
};

/*
 * Read the files and variables that the options name. headers_env is an environment
 * variable with more headers, as lines or as a JSON object; or NULL. c is borrowed.
 */
int tw_credentials_open(struct tw_credentials *w, const struct tw_credentials_config *c,
			const char *headers_env, struct tw_err *err);
void tw_credentials_release(struct tw_credentials *w);

#endif /* TW_CREDENTIALS_H */
