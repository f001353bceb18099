/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_ORIGIN_H
#define TW_HTTPD_ORIGIN_H

/*
 * Protection against web pages that make a browser send requests (RFC 6454, and DNS
 * rebinding). For the HTTP server.
 */

#include <stdbool.h>

/*
 * Whether a request that changes something may come from this Origin header. NULL: no
 * browser sent it, which is allowed. host is the Host header; NULL: none. The origin must
 * be of that host. A server that listens on loopback also wants a host that is an address
 * or localhost: a page may have given its own name the address 127.0.0.1.
 */
bool tw_origin_allowed(const char *origin, const char *host, bool loopback);

#endif /* TW_HTTPD_ORIGIN_H */
