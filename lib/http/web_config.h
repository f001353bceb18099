/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WEB_CONFIG_H
#define TW_WEB_CONFIG_H

/*
 * A web configuration file as Prometheus' exporters have it (--web.config.file): TLS,
 * headers of every answer, users. YAML, as far as such files need it: nested mappings by
 * indentation, lists with a line for each entry, plain and quoted texts, comments. What
 * is not known, or known but not done here, is refused.
 */

#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

#define TW_WEB_CONFIG_BYTES_MAX ((size_t)256 << 10)

/* Ascending. */
enum tw_tls_version { TW_TLS_1_0, TW_TLS_1_1, TW_TLS_1_2, TW_TLS_1_3 };

/* Texts are NULL where not given. All zero bytes is a file that says nothing. */
struct tw_web_config {
	char *cert_file, *key_file;   /* both: TLS */
	char *client_ca_file;         /* clients must have a certificate of it */
	bool client_auth;             /* RequireAndVerifyClientCert */
	enum tw_tls_version min, max; /* TLS12 and TLS13 where not given */
	struct tw_strs cipher_suites; /* lib/http/web_tls.h; none: what is not weak */
	struct tw_strs curves;        /* the same of curve_preferences */
	bool servers_order;           /* prefer_server_cipher_suites */
	struct tw_strs headers;       /* name, value, name, .. */
	struct tw_strs users;         /* name, bcrypt hash, name, .. */
};

/*
 * data[0..len) into *out, which must be all zero; it is yours: tw_web_config_release().
 * Errors tell the line. Files are not looked for.
 */
int tw_web_config_parse(const char *data, size_t len, struct tw_web_config *out,
			struct tw_err *err);

/* The same of a file; paths in it are from its directory on. */
int tw_web_config_read(const char *path, struct tw_web_config *out, struct tw_err *err);

void tw_web_config_release(struct tw_web_config *c);

#endif /* TW_WEB_CONFIG_H */
