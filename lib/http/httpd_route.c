/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/httpd_route.h"

#include "lib/core/buf.h"
#include "lib/http/httpd.h"

#include <string.h>

static bool answers_method(const struct tw_http_route *r, const char *method)
{
	return strcmp(r->method, method) == 0 ||
	       (strcmp(r->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

/* Length of the part of a path that begins at s. */
static size_t part_length(const char *s)
{
	return strcspn(s, "/");
}

static bool is_param(const char *part, size_t len)
{
	return len > 2 && part[0] == '{' && part[len - 1] == '}';
}

/*
 * Whether the path is one of the route's; "{name}" is any text but an empty one. Most
 * routes differ from a path in their first bytes.
 */
static bool fits(const char *route, const char *path)
{
	for (;; route++, path++) {
		if (*route == '{') {
			const size_t have = part_length(path);

			if (have == 0)
				return false;
			route += part_length(route);
			path += have;
		}
		if (*route != *path)
			return false;
		if (*route == '\0')
			return true;
	}
}

/* A path without parameters goes before one with. */
static bool fits_better(const struct tw_http_route *a, const struct tw_http_route *b)
{
	return b == NULL ||
	       (strchr(a->path, '{') == NULL && strchr(b->path, '{') != NULL);
}

const struct tw_http_route *tw_http_route_find(const struct tw_httpd_config *c,
					       const char *method, const char *path,
					       bool *known)
{
	const struct tw_http_route *best = NULL;

	*known = false;
	for (size_t i = 0; i < c->route_count; i++) {
		if (!fits(c->routes[i]->path, path))
			continue;
		*known = true;
		if (answers_method(c->routes[i], method) &&
		    fits_better(c->routes[i], best))
			best = c->routes[i];
	}
	return best;
}

int tw_http_route_params(const struct tw_http_route *r, const char *path,
			 struct tw_strs *out, struct tw_err *err)
{
	const char *route = r->path;

	while (*route != '\0' && *path != '\0') {
		const size_t want = part_length(route), have = part_length(path);

		if (is_param(route, want) && tw_strs_add(out, path, have, err) < 0)
			return -1;
		route += want + (route[want] == '/');
		path += have + (path[have] == '/');
	}
	return 0;
}

const char *tw_http_param(const struct tw_http_request *q, const char *name)
{
	const size_t len = strlen(name);
	size_t i = 0;

	for (const char *p = strchr(q->route->path, '{'); p != NULL;
	     p = strchr(p + 1, '{'), i++)
		if (strncmp(p + 1, name, len) == 0 && p[1 + len] == '}')
			return q->params->at[i];
	return NULL;
}

void tw_http_route_methods(const struct tw_httpd_config *c, const char *path,
			   struct tw_buf *out)
{
	for (size_t i = 0; i < c->route_count; i++) {
		const struct tw_http_route *r = c->routes[i];

		if (fits(r->path, path))
			tw_buf_addf(out, "%s%s%s", out->len > 0 ? ", " : "", r->method,
				    strcmp(r->method, "GET") == 0 ? ", HEAD" : "");
	}
}
