/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WEB_H
#define TW_WEB_H

/*
 * The web configuration in force: users, response headers, certificate. While requests
 * arrive, the file and the certificate's files are checked for changes once a second. A
 * change takes effect without a restart; an invalid file leaves the old configuration in
 * force. TLS cannot be switched on or off, and its versions, suites, curves and client CA
 * stay as they were at the start. Thread-safe. For the HTTP server.
 */

#include "lib/http/web/web_users.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_web;

struct sockaddr;

/* Called after each change of the files. why NULL: the new configuration is in force. */
typedef void tw_web_changed_fn(void *arg, const struct tw_err *why);

/* *out is yours: tw_web_close(). */
int tw_web_open(const char *path, tw_web_changed_fn *changed, void *arg,
		struct tw_web **out, struct tw_err *err);
void tw_web_close(struct tw_web *w); /* NULL is fine */

/* Whether this process can read the file and the certificate's files now. */
int tw_web_can_reload(struct tw_web *w, struct tw_err *err);

/* Settings of the start, which cannot change. */
bool tw_web_tls(const struct tw_web *w);
const char *tw_web_client_ca(const struct tw_web *w);  /* PEM; NULL: no client CA */
const char *tw_web_priorities(const struct tw_web *w); /* for GnuTLS */

/* The current certificate, for a handshake. It lives as long as w. */
int tw_web_certificate(struct tw_web *w, gnutls_pcert_st **chain, unsigned *count,
		       gnutls_privkey_t *key);

/* A request, as far as its access depends on it. */
struct tw_web_client {
	const char *authorization; /* the header; NULL: none */
	const struct sockaddr *address;
	bool took; /* for web.c: a token of tw_web_guesses_take() */
};

/*
 * Whether a request is allowed. It answers at once. TW_WEB_CHECKING: call tw_web_check().
 * TW_WEB_LIMITED: the client has sent too many wrong passwords; *wait_ms tells when to
 * try again.
 */
enum tw_web_access tw_web_access(struct tw_web *w, struct tw_web_client *c,
				 uint64_t *wait_ms);

/* Check the password, which takes long: TW_WEB_ALLOWED or TW_WEB_UNKNOWN. */
enum tw_web_access tw_web_check(struct tw_web *w, const struct tw_web_client *c);

/* The name of an allowed request's user. False: there are no users. */
bool tw_web_user(struct tw_web *w, const char *authorization, char out[TW_WEB_USER]);

/* Call fn for each response header; stop and return -1 when it returns -1. */
int tw_web_headers(struct tw_web *w,
		   int (*fn)(void *arg, const char *name, const char *value), void *arg);

/*
 * Log that the web configuration has changed: web_changed of struct tw_httpd_config. app
 * is unused.
 */
void tw_web_log_changed(void *app, const struct tw_err *why);

#endif /* TW_WEB_H */
