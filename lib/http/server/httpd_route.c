/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/httpd_route.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"

#include <microhttpd.h>
#include <string.h>

const char *tw_http_query(const struct tw_http_request *q, const char *name)
{
	return MHD_lookup_connection_value(q->query, MHD_GET_ARGUMENT_KIND, name);
}

int tw_http_query_count(const struct tw_http_request *q, const char *name, uint64_t *out,
			struct tw_err *err)
{
	const char *text = tw_http_query(q, name);

	if (text == NULL)
		return 0;
	if (!tw_parse_u64(text, strlen(text), out))
		return tw_fail(err, TW_INVALID, "%s: '%.32s' is not a number", name,
			       text);
	return 0;
}

int tw_http_query_names(const struct tw_http_request *q, const char *name,
			const char *const *names, unsigned *out, struct tw_err *err)
{
	const char *text = tw_http_query(q, name);
	struct tw_strs items = { 0 };
	unsigned bits = 0, bit;
	int rc = -1;

	if (text != NULL && tw_strs_split(&items, text, err) < 0)
		goto out;
	for (size_t i = 0; i < items.count; i++) {
		if (tw_choice_find(names, items.at[i], &bit, err) < 0) {
			tw_err_wrap(err, "%s", name);
			goto out;
		}
		bits |= 1u << bit;
	}
	*out = bits;
	rc = 0;
out:
	tw_strs_clear(&items);
	return rc;
}

const char *tw_http_header(const struct tw_http_request *q, const char *name)
{
	return MHD_lookup_connection_value(q->query, MHD_HEADER_KIND, name);
}

static bool answers_method(const struct tw_http_route *r, const char *method)
{
	return strcmp(r->method, method) == 0 ||
	       (strcmp(r->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

/* Length of the path segment that begins at s. */
static size_t segment_length(const char *s)
{
	return strcspn(s, "/");
}

static bool is_param(const char *segment, size_t len)
{
	return len > 2 && segment[0] == '{' && segment[len - 1] == '}';
}

/* A client that joins "http://host/" and "/model" asks for "//model". */
static const char *skip_slashes(const char *path)
{
	while (path[0] == '/' && path[1] == '/')
		path++;
	return path;
}

/*
 * Byte by byte, because most routes differ from a path in their first bytes. A slash at
 * the end of the path does not matter, but after a parameter: that may name a file.
 */
static bool matches(const char *route, const char *path)
{
	for (path = skip_slashes(path);; route++, path++) {
		if (*route == '{') {
			const size_t have = segment_length(path);

			if (have == 0)
				return false;
			route += segment_length(route);
			path += have;
		}
		if (*route != *path)
			return *route == '\0' && route[-1] != '}' &&
			       strcmp(path, "/") == 0;
		if (*route == '\0')
			return true;
	}
}

/* An exact path wins over one with parameters. */
static bool is_better(const struct tw_http_route *a, const struct tw_http_route *b)
{
	return b == NULL ||
	       (strchr(a->path, '{') == NULL && strchr(b->path, '{') != NULL);
}

const struct tw_http_route *tw_http_route_find(const struct tw_http_route *routes,
					       size_t count, const char *method,
					       const char *path, bool *path_known)
{
	const struct tw_http_route *best = NULL;

	*path_known = false;
	for (size_t i = 0; i < count; i++) {
		if (!matches(routes[i].path, path))
			continue;
		*path_known = true;
		if (answers_method(&routes[i], method) && is_better(&routes[i], best))
			best = &routes[i];
	}
	return best;
}

int tw_http_route_params(const struct tw_http_route *r, const char *path,
			 struct tw_strs *out, struct tw_err *err)
{
	const char *route = r->path;

	path = skip_slashes(path);
	while (*route != '\0' && *path != '\0') {
		const size_t want = segment_length(route), have = segment_length(path);

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

void tw_http_route_methods(const struct tw_http_route *routes, size_t count,
			   const char *path, struct tw_buf *out)
{
	for (size_t i = 0; i < count; i++) {
		const struct tw_http_route *r = &routes[i];

		if (matches(r->path, path))
			tw_buf_addf(out, "%s%s%s", out->len > 0 ? ", " : "", r->method,
				    strcmp(r->method, "GET") == 0 ? ", HEAD" : "");
	}
}
