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

/*
 * Define the routes of a page: NAME for "/", NAME_files for its files. web/page_*.c use
 * it, after the array `files` of the bundle; each program links its own page only.
 */
#define TW_WEB_PAGE(name, count)                                           \
	static void get_page(void *app, const struct tw_http_request *q,   \
			     struct tw_http_reply *r)                      \
	{                                                                  \
		(void)app;                                                 \
		tw_page_send(files, count, q, r);                          \
	}                                                                  \
	const struct tw_http_route name = { .method = "GET",               \
					    .path = "/",                   \
					    .handle = get_page };          \
	const struct tw_http_route name##_files = { .method = "GET",       \
						    .path = "/web/{file}", \
						    .handle = get_page }

/* Live power and the fleet, of tw-collector. They share their files. */
extern const struct tw_http_route tw_page_live, tw_page_live_files, tw_page_fleet;
/* Models, of tw-server. */
extern const struct tw_http_route tw_page_models, tw_page_models_files;
/* Jobs, of tw-trainer. */
extern const struct tw_http_route tw_page_jobs, tw_page_jobs_files;

#endif /* TW_WEB_PAGE_H */
