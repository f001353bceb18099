/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_LISTEN_H
#define TW_HTTPD_LISTEN_H

/*
 * Listening TCP sockets. This module does not need libmicrohttpd.
 */

struct tw_err;

/* Room for "[address%scope]:port". */
#define TW_LISTEN_TEXT 96

/*
 * Listen on "127.0.0.1:8100", "[::1]:0" or "localhost:80". ":8100" means all addresses,
 * IPv6 and IPv4. *fd is yours; text gets the address that was bound.
 */
int tw_listen(const char *address, int *fd, char text[TW_LISTEN_TEXT],
	      struct tw_err *err);

/*
 * Use a socket that listens already, as systemd passes it. On success *out is fd and is
 * yours.
 */
int tw_listen_take(int fd, int *out, char text[TW_LISTEN_TEXT], struct tw_err *err);

#endif /* TW_HTTPD_LISTEN_H */
