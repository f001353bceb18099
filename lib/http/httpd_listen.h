/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_LISTEN_H
#define TW_HTTPD_LISTEN_H

/*
 * A listening TCP socket from "ADDR:PORT". For lib/httpd*.c only.
 */

#include <stddef.h>

struct tw_err;

/* Room for "[address%scope]:port". */
#define TW_LISTEN_TEXT 96

/*
 * "127.0.0.1:8100", "[::1]:0", "localhost:80", ":8100" (all addresses, of both families
 * where there are both). *fd is yours; text gets the address that was bound.
 */
int tw_listen(const char *address, int *fd, char text[TW_LISTEN_TEXT],
	      struct tw_err *err);

/* The same for a socket that listens already, as systemd passes it; only then it is *out.
 */
int tw_listen_take(int fd, int *out, char text[TW_LISTEN_TEXT], struct tw_err *err);

#endif /* TW_HTTPD_LISTEN_H */
