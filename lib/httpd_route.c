/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/httpd_route.h"

#include "lib/buf.h"
#include "lib/httpd.h"

#include <string.h>

static bool answers_method(const struct tw_http_route *r, const char *method)
{
	return strcmp(r->method, method) == 0 ||
	       (strcmp(r->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

const struct tw_http_route *tw_http_route_find(const struct tw_httpd_config *c,
					       const char *method, const char *path,
					       bool *known)
{
	*known = false;
	for (size_t i = 0; i < c->route_count; i++) {
		if (strcmp(c->routes[i]->path, path) != 0)
			continue;
		*known = true;
		if (answers_method(c->routes[i], method))
			return c->routes[i];
	}
	return NULL;
}

void tw_http_route_methods(const struct tw_httpd_config *c, const char *path,
			   struct tw_buf *out)
{
	for (size_t i = 0; i < c->route_count; i++) {
		const struct tw_http_route *r = c->routes[i];

		if (strcmp(r->path, path) == 0)
			tw_buf_addf(out, "%s%s%s", out->len > 0 ? ", " : "", r->method,
				    strcmp(r->method, "GET") == 0 ? ", HEAD" : "");
	}
}
