/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTP_RANGE_H
#define TW_HTTP_RANGE_H

/*
 * What a client wants of something that has an entity tag: all of it, a part, or nothing
 * because it has it already (RFC 9110, sections 13.1.2, 13.1.5 and 14.2). Headers are
 * foreign: one that is malformed is passed over, as the RFC says.
 */

#include <stdbool.h>
#include <stdint.h>

enum tw_http_wants {
	TW_HTTP_WHOLE,   /* 200 */
	TW_HTTP_PART,    /* 206 */
	TW_HTTP_NOTHING, /* 304 */
	TW_HTTP_BEHIND,  /* 416: the part begins behind the end */
};

struct tw_http_range {
	uint64_t from, len;
};

/*
 * Headers may be NULL. etag is with its quotes. *range is set for TW_HTTP_PART only.
 * Several ranges at once are answered by all of it, as a server may.
 */
enum tw_http_wants tw_http_wants(const char *if_none_match, const char *if_range,
				 const char *range_header, const char *etag,
				 uint64_t size, struct tw_http_range *range);

/* Whether a list as in If-None-Match has this tag, weakly compared; "*" is any. */
bool tw_http_etag_listed(const char *list, const char *etag);

#endif /* TW_HTTP_RANGE_H */
