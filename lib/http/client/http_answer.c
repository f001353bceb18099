/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/client/http.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* 18 digits are below 2^63. */
#define DIGITS_MAX 18

void tw_http_answer_release(struct tw_http_answer *a)
{
	free(a->body);
	*a = (struct tw_http_answer){ 0 };
}

/* If the line is the header `name`, set line[0..len) to its value without blanks. */
static bool value_of(const char *name, const char **line, size_t *len)
{
	const size_t n = strlen(name);
	const char *at = *line;
	size_t left = *len;

	if (left <= n || at[n] != ':' || strncasecmp(at, name, n) != 0)
		return false;
	at += n + 1;
	left -= n + 1;
	while (left > 0 && strchr(" \t", at[0]) != NULL) {
		at++;
		left--;
	}
	while (left > 0 && strchr(" \t\r\n", at[left - 1]) != NULL)
		left--;
	*line = at;
	*len = left;
	return true;
}

/* The offset in "bytes 100-199/200": 100. Malformed text gives 0. */
static uint64_t begin_of_range(const char *text, size_t len)
{
	static const char unit[] = "bytes ";
	size_t i = sizeof(unit) - 1;
	const size_t first = i;
	uint64_t from = 0;

	if (len <= i || strncasecmp(text, unit, i) != 0)
		return 0;
	for (; i < len && text[i] >= '0' && text[i] <= '9'; i++)
		from = from * 10 + (uint64_t)(text[i] - '0');
	return i > first && i - first <= DIGITS_MAX && i < len && text[i] == '-' ? from
										 : 0;
}

static bool is_status(const char *line, size_t len)
{
	return len >= 5 && memcmp(line, "HTTP/", 5) == 0;
}

void tw_http_head_take(struct tw_http_head *h, const char *line, size_t len)
{
	if (is_status(line, len))
		*h = (struct tw_http_head){ 0 };
	else if (value_of("Content-Range", &line, &len))
		h->from = begin_of_range(line, len);
	else if (value_of("ETag", &line, &len) && len < sizeof(h->etag))
		snprintf(h->etag, sizeof(h->etag), "%.*s", (int)len, line);
}

void tw_http_header_take(struct tw_http_header *h, const char *line, size_t len)
{
	if (is_status(line, len))
		h->value[0] = '\0';
	else if (value_of(h->name, &line, &len) && len < sizeof(h->value))
		snprintf(h->value, sizeof(h->value), "%.*s", (int)len, line);
}
