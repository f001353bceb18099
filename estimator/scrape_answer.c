/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/scrapes.h"
#include "lib/core/buf.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* One request of estimator/scrapes.h: RFC 9112, as much as a scraper needs. */

/* The text up to the line's end; *next is behind it. */
static size_t line_length(const char *text, size_t len, size_t *next)
{
	const char *end = memchr(text, '\n', len);
	size_t n = end != NULL ? (size_t)(end - text) : len;

	*next = end != NULL ? n + 1 : len;
	if (n > 0 && text[n - 1] == '\r')
		n--;
	return n;
}

/* A header's value, cut to fit; false if it is not there. */
static bool find_header(const char *head, size_t len, const char *name, char *out,
			size_t size)
{
	const size_t name_len = strlen(name);
	size_t at, next;

	line_length(head, len, &at);
	for (; at < len; at += next) {
		const char *line = head + at;
		size_t n = line_length(line, len - at, &next), from = name_len + 1;

		if (n == 0)
			return false;
		if (n <= name_len || line[name_len] != ':' ||
		    strncasecmp(line, name, name_len) != 0)
			continue;
		while (from < n && (line[from] == ' ' || line[from] == '\t'))
			from++;
		snprintf(out, size, "%.*s", (int)(n - from), line + from);
		return true;
	}
	return false;
}

static void add_answer(struct tw_buf *out, const char *status, const char *type,
		       const char *more, const char *body, size_t len)
{
	tw_buf_addf(out,
		    "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		    "%sConnection: close\r\n\r\n",
		    status, type, len, more);
	tw_buf_add(out, body, len);
}

static void refuse(struct tw_buf *out, const char *status, const char *more)
{
	char body[96];
	const int len = snprintf(body, sizeof(body), "%s\n", status);

	add_answer(out, status, "text/plain", more, body, (size_t)len);
}

/* "GET /metrics?x HTTP/1.1": the parts between single blanks. */
static bool split_request(const char *line, size_t len, size_t *method, size_t *target)
{
	const char *blank = memchr(line, ' ', len);
	const char *second;

	if (blank == NULL)
		return false;
	*method = (size_t)(blank - line);
	second = memchr(blank + 1, ' ', len - *method - 1);
	if (second == NULL || len - (size_t)(second + 1 - line) != strlen("HTTP/1.1") ||
	    memcmp(second + 1, "HTTP/1.", strlen("HTTP/1.")) != 0)
		return false;
	*target = (size_t)(second - blank - 1);
	return true;
}

void tw_scrape_answer(const char *head, size_t len, tw_scrapes_write_fn *write, void *arg,
		      struct tw_buf *out)
{
	static const char path[] = "/metrics";
	const size_t path_len = sizeof(path) - 1;
	struct tw_buf body = { 0 };
	struct tw_expo e = { .out = &body };
	size_t next, method, target;
	char accept[1024];
	const char *at;

	if (!split_request(head, line_length(head, len, &next), &method, &target)) {
		refuse(out, "400 Bad Request", "");
		return;
	}
	at = head + method + 1;
	if (target < path_len || memcmp(at, path, path_len) != 0 ||
	    (target > path_len && at[path_len] != '?')) {
		refuse(out, "404 Not Found", "");
		return;
	}
	if (method != 3 || memcmp(head, "GET", 3) != 0) {
		refuse(out, "405 Method Not Allowed", "Allow: GET\r\n");
		return;
	}
	e.format = tw_expo_wanted(
		find_header(head, len, "Accept", accept, sizeof(accept)) ? accept : NULL);
	write(arg, &e);
	tw_expo_end(&e);
	if (tw_buf_failed(&body))
		refuse(out, "500 Internal Server Error", "");
	else
		add_answer(out, "200 OK", tw_expo_content_type(e.format), "", body.data,
			   body.len);
	tw_buf_clear(&body);
}
