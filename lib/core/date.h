/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DATE_H
#define TW_DATE_H

/*
 * Points in time as people and programs write them.
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_err;

/* The latest that is taken: the end of the year 9999. */
#define TW_DATE_MAX_MS INT64_C(253402300799999)

/*
 * "2026-11-21T12:00:00Z", "2026-11-21 13:00:00.5+01:00" (RFC 3339), or seconds since the
 * epoch, perhaps with a fraction; to the millisecond, what is beyond is cut off.
 */
int tw_parse_date_ms(const char *s, int64_t *out, struct tw_err *err);

#define TW_DATE_TEXT 32

/* "2026-11-21T12:00:00.000Z". False, and "", for what tw_parse_date_ms() does not take.
 */
bool tw_format_date_ms(int64_t ms, char out[TW_DATE_TEXT]);

#endif /* TW_DATE_H */
