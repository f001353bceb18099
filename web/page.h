/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_WEB_PAGE_H
#define TW_WEB_PAGE_H

/*
 * The web pages of the daemons, served from memory: "/" and "/web/{file}" of each. A
 * build without Node (WEB=0) answers "/" with a note, and no files.
 *
 * A page loads nothing from elsewhere; its Content-Security-Policy forbids it to. It
 * reads the daemon's API with the rights of its user.
 */

#include "lib/http/server/httpd_route.h"

#include <stddef.h>

/* A file of a page. The page at "/" has the name "", the page at "/x" the name "x". */
struct tw_web_file {
	const char *name, *type, *etag;
	const unsigned char *gzip;
	size_t len, unpacked_len;
};

/* Answer a request with one of the files: that of "{file}", else the page of the path. */
void tw_page_send(const struct tw_web_file *files, size_t count,
		  const struct tw_http_request *q, struct tw_http_reply *r);

/* Handlers of "/" and "/web/{file}". Each program links its own page only. */
tw_http_handle tw_page_live;   /* live power and the fleet, of tw-collector */
tw_http_handle tw_page_models; /* models, of tw-server */
tw_http_handle tw_page_jobs;   /* jobs, of tw-trainer */

#endif /* TW_WEB_PAGE_H */
