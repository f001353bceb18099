/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/server/http_range.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, " \t");
}

bool tw_http_etag_listed(const char *list, const char *etag)
{
	const size_t len = strlen(etag);
	const char *p = skip_blanks(list);

	if (p[0] == '*' && *skip_blanks(p + 1) == '\0')
		return true;
	while (*p != '\0') {
		const char *end;

		if (strncmp(p, "W/", 2) == 0)
			p += 2;
		if (*p != '"' || (end = strchr(p + 1, '"')) == NULL)
			return false;
		if ((size_t)(end + 1 - p) == len && memcmp(p, etag, len) == 0)
			return true;
		p = skip_blanks(end + 1);
		if (*p != ',')
			return false;
		p = skip_blanks(p + 1);
	}
	return false;
}

/* Parse digits at *p. False if there are none, or if they overflow. */
static bool read_number(const char **p, uint64_t *out)
{
	const char *start = *p;
	uint64_t v = 0;

	for (; **p >= '0' && **p <= '9'; (*p)++) {
		if (v > (UINT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (uint64_t)(**p - '0');
	}
	*out = v;
	return *p != start;
}

/* "bytes=from-to", "bytes=from-", "bytes=-last". */
static enum tw_http_wants read_range(const char *p, uint64_t size,
				     struct tw_http_range *out)
{
	uint64_t from = 0, to = UINT64_MAX;
	bool has_from, has_to;

	if (strncasecmp(p, "bytes=", 6) != 0)
		return TW_HTTP_WHOLE;
	p = skip_blanks(p + 6);
	has_from = read_number(&p, &from);
	if (*p++ != '-')
		return TW_HTTP_WHOLE;
	has_to = read_number(&p, &to);
	if (*skip_blanks(p) != '\0' || (!has_from && !has_to))
		return TW_HTTP_WHOLE;
	if (!has_to)
		to = UINT64_MAX;
	if (!has_from) {
		/* The last `to` bytes. */
		if (to == 0)
			return TW_HTTP_BEHIND;
		from = to < size ? size - to : 0;
		to = UINT64_MAX;
	} else if (to < from) {
		return TW_HTTP_WHOLE;
	}
	if (from >= size)
		return TW_HTTP_BEHIND;
	*out = (struct tw_http_range){ .from = from,
				       .len = (to < size ? to + 1 : size) - from };
	return TW_HTTP_PART;
}

enum tw_http_wants tw_http_wants(const char *if_none_match, const char *if_range,
				 const char *range_header, const char *etag,
				 uint64_t size, struct tw_http_range *range)
{
	if (if_none_match != NULL && tw_http_etag_listed(if_none_match, etag))
		return TW_HTTP_NOTHING;
	/* Strong comparison: "W/" never matches. Nor does a date: resources have none. */
	if (range_header == NULL || (if_range != NULL && strcmp(if_range, etag) != 0))
		return TW_HTTP_WHOLE;
	return read_range(range_header, size, range);
}
