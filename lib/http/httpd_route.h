/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_ROUTE_H
#define TW_HTTPD_ROUTE_H

/*
 * Which route a request is for. For lib/httpd*.c only.
 */

#include <stdbool.h>

struct tw_buf;
struct tw_err;
struct tw_httpd_config;
struct tw_http_route;
struct tw_strs;

/* NULL if there is none; *known tells whether the path has other methods. */
const struct tw_http_route *tw_http_route_find(const struct tw_httpd_config *c,
					       const char *method, const char *path,
					       bool *known);

/* Append what stands in the path for each "{name}" of the route's. */
int tw_http_route_params(const struct tw_http_route *r, const char *path,
			 struct tw_strs *out, struct tw_err *err);

/* Append what the path may be asked: "GET, HEAD, POST". */
void tw_http_route_methods(const struct tw_httpd_config *c, const char *path,
			   struct tw_buf *out);

#endif /* TW_HTTPD_ROUTE_H */
