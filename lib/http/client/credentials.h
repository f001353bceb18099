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

#define TW_CREDENTIALS_FILE(config, flag, field, line)                             \
	{                                                                          \
		.name = flag, .type = TW_OPT_TEXT,                                 \
		.offset = offsetof(config, web.field), .arg = "FILE", .help = line \
	}

/* Rows of an option table. The config has a struct tw_credentials_config named web. */
#define TW_CREDENTIALS_OPTS(config, insecure_env)                                       \
	{ .name = "user",                                                               \
	  .type = TW_OPT_TEXT,                                                          \
	  .offset = offsetof(config, web.user),                                         \
	  .arg = "NAME",                                                                \
	  .help = "basic authentication; the password is in TW_HTTP_PASSWORD or "       \
		  "--password-file" },                                                  \
		TW_CREDENTIALS_FILE(config, "password-file", password_file,             \
				    "file with the password"),                          \
		TW_CREDENTIALS_FILE(                                                    \
			config, "token-file", token_file,                               \
			"file with a bearer token (default: TW_HTTP_TOKEN)"),           \
		TW_CREDENTIALS_FILE(                                                    \
			config, "headers-file", headers_file,                           \
			"file of further request headers, one a line: Name: value"),    \
		TW_CREDENTIALS_FILE(                                                    \
			config, "ca-file", ca_file,                                     \
			"trust these certificate authorities instead of the system's"), \
		TW_CREDENTIALS_FILE(config, "cert-file", cert_file,                     \
				    "client certificate"),                              \
		TW_CREDENTIALS_FILE(config, "key-file", key_file,                       \
				    "key of the client certificate"),                   \
	{                                                                               \
		.name = "insecure", .env = insecure_env, .type = TW_OPT_BOOL,           \
		.offset = offsetof(config, web.insecure),                               \
		.help = "do not verify certificates"                                    \
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
