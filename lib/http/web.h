/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WEB_H
#define TW_WEB_H

/*
 * A web configuration in force: who may ask, with which certificate. The file and what it
 * names are looked at again, at most once a second, when there is something to answer; a
 * change takes effect without a restart, one that is broken leaves what was. TLS cannot
 * be switched on or off that way. Thread-safe. For lib/httpd*.c only.
 */

#include "lib/http/web_config.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

struct tw_err;
struct tw_web;

/* Told of each change of the file: why NULL: it was taken, else it was not. */
typedef void tw_web_changed_fn(void *arg, const struct tw_err *why);

/* *out is yours: tw_web_close(). */
int tw_web_open(const char *path, tw_web_changed_fn *changed, void *arg,
		struct tw_web **out, struct tw_err *err);
void tw_web_close(struct tw_web *w); /* NULL is fine */

/* As it was when it was opened: for what cannot be changed later. */
bool tw_web_tls(const struct tw_web *w);
const char *tw_web_client_ca(const struct tw_web *w); /* PEM; NULL: none wanted */
const char *tw_web_priorities(const struct tw_web *w);

/* The certificate of now, for a handshake. It lives as long as w. */
int tw_web_certificate(struct tw_web *w, gnutls_pcert_st **chain, unsigned *count,
		       gnutls_privkey_t *key);

enum tw_web_access {
	TW_WEB_ALLOWED,
	TW_WEB_UNKNOWN, /* 401 */
	TW_WEB_BUSY,    /* another password is being checked, which takes long: 503 */
};

/* Whether a request with this Authorization header (NULL: none) may be answered. */
enum tw_web_access tw_web_access(struct tw_web *w, const char *authorization);

/* Call fn for each header that every answer gets; stops when it returns -1. */
int tw_web_headers(struct tw_web *w,
		   int (*fn)(void *arg, const char *name, const char *value), void *arg);

#endif /* TW_WEB_H */
