/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_EXCHANGE_H
#define TW_HTTPD_EXCHANGE_H

/*
 * A request from its headers to the end of its answer, as libmicrohttpd calls for it.
 * Between lib/http/httpd.c, which has the server, and lib/http/httpd_exchange.c.
 */

#include "lib/http/httpd.h"
#include "lib/http/httpd_listen.h"

#include <microhttpd.h>
#include <stdatomic.h>
#include <stddef.h>

struct tw_guard;
struct tw_guarded;
struct tw_httpd_work;
struct tw_web;

struct tw_httpd {
	struct tw_httpd_config config;
	struct MHD_Daemon *daemon;
	char address[TW_LISTEN_TEXT];

	struct tw_guard *guard;
	struct tw_httpd_work *work; /* NULL: no route is slow */
	struct tw_web *web;         /* NULL: everybody may, without TLS */
	atomic_size_t in_progress;  /* requests */
	atomic_bool closing;
};

/* What guards the connection; NULL: nothing does. */
struct tw_guarded *tw_exchange_guarded(struct MHD_Connection *c);

/* MHD_AccessHandlerCallback and MHD_OPTION_NOTIFY_COMPLETED of a struct tw_httpd. */
enum MHD_Result tw_exchange_request(void *cls, struct MHD_Connection *c, const char *path,
				    const char *method, const char *version,
				    const char *data, size_t *len, void **state);
void tw_exchange_completed(void *cls, struct MHD_Connection *c, void **state,
			   enum MHD_RequestTerminationCode how);

#endif /* TW_HTTPD_EXCHANGE_H */
