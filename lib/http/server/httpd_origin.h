/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_ORIGIN_H
#define TW_HTTPD_ORIGIN_H

/*
 * Protection against web pages that make a browser send requests (RFC 6454, Fetch
 * Metadata), and against names that their owner gives this machine's address (DNS
 * rebinding). For the HTTP server. Requests without a header that browsers add are of
 * programs: nothing of them is refused here.
 */

#include <stdbool.h>

struct tw_strs;

/* Headers of a request; NULL: absent. */
struct tw_origin_headers {
	const char *origin, *host;
	const char *site, *mode; /* Sec-Fetch-Site, Sec-Fetch-Mode */
	const char *agent, *language;
};

struct tw_origin_rules {
	const struct tw_strs *names; /* of this server, besides its own; NULL: none */
	bool loopback;               /* it listens on a loopback address */
	bool users; /* a browser sends what proves its user with each request */
	bool reads; /* the request changes nothing */
};

/*
 * Why a request is refused; NULL: it is not. A browser's request
 * - that changes something needs an Origin of its Host, if it has one, and is of no other
 *   site's page;
 * - that reads is of no other site's page, where there are users, unless it opens a page;
 * - has a Host that is an address, localhost, this machine's name, one of names, or,
 *   unless the server listens on loopback, a name without a dot. Where there are users
 *   and no names, any Host is right.
 */
const char *tw_origin_refusal(const struct tw_origin_headers *h,
			      const struct tw_origin_rules *r);

#endif /* TW_HTTPD_ORIGIN_H */
