/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTP_RANGE_H
#define TW_HTTP_RANGE_H

/*
 * Conditional and range requests for a resource with an entity tag (RFC 9110, sections
 * 13.1.2, 13.1.5 and 14.2). The headers are untrusted: malformed ones are ignored, as the
 * RFC requires.
 */

#include <stdbool.h>
#include <stdint.h>

enum tw_http_wants {
	TW_HTTP_WHOLE,   /* 200 */
	TW_HTTP_PART,    /* 206 */
	TW_HTTP_NOTHING, /* 304 */
	TW_HTTP_BEHIND,  /* 416: the range begins after the end */
};

struct tw_http_range {
	uint64_t from, len;
};

/*
 * Decide how to answer. Headers may be NULL. etag has its quotes. *range is set for
 * TW_HTTP_PART only. A request for several ranges gets TW_HTTP_WHOLE, as the RFC allows.
 */
enum tw_http_wants tw_http_wants(const char *if_none_match, const char *if_range,
				 const char *range_header, const char *etag,
				 uint64_t size, struct tw_http_range *range);

/* Whether an If-None-Match list contains the tag, by weak comparison, or is "*". */
bool tw_http_etag_listed(const char *list, const char *etag);

#endif /* TW_HTTP_RANGE_H */
