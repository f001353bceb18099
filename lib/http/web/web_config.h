/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WEB_CONFIG_H
#define TW_WEB_CONFIG_H

/*
 * The web configuration file of Prometheus' exporters (--web.config.file of the
 * exporter-toolkit): TLS, response headers, users. It is YAML, read by libyaml. Unknown
 * and unsupported keys, duplicate keys, anchors, aliases and tags are rejected.
 */

#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;

#define TW_WEB_CONFIG_BYTES_MAX ((size_t)256 << 10)

/* Ascending. */
enum tw_tls_version { TW_TLS_1_0, TW_TLS_1_1, TW_TLS_1_2, TW_TLS_1_3 };

/* A text that the file does not give is NULL. */
struct tw_web_config {
	char *cert_file, *key_file;   /* both or neither; both: TLS */
	char *client_ca_file;         /* CA of the clients' certificates */
	bool client_auth;             /* RequireAndVerifyClientCert */
	enum tw_tls_version min, max; /* default: TLS12, TLS13 */
	struct tw_strs
		cipher_suites;  /* see lib/http/web/web_tls.h; empty: all secure ones */
	struct tw_strs curves;  /* curve_preferences; empty: all secure ones */
	bool servers_order;     /* prefer_server_cipher_suites */
	struct tw_strs headers; /* name, value, name, .. */
	struct tw_strs users;   /* name, bcrypt hash, name, .. */
};

/*
 * Parse data[0..len). Errors name the line and the key. *out is yours:
 * tw_web_config_release(). The files that it names are not opened.
 */
int tw_web_config_parse(const char *data, size_t len, struct tw_web_config *out,
			struct tw_err *err);

/* Read and parse a file. Relative paths in it start at its directory. */
int tw_web_config_read(const char *path, struct tw_web_config *out, struct tw_err *err);

void tw_web_config_release(struct tw_web_config *c);

#endif /* TW_WEB_CONFIG_H */
