/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_DATE_H
#define TW_DATE_H

/*
 * Dates in text. Times are milliseconds since 1970-01-01T00:00:00Z.
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_err;

/* The latest time accepted: the end of the year 9999. */
#define TW_DATE_MAX_MS INT64_C(253402300799999)

/*
 * Parse an RFC 3339 date ("2026-11-21T12:00:00Z", "2026-11-21 13:00:00.5+01:00") or
 * seconds since the epoch, with or without a fraction. Fractions of a millisecond are
 * cut off.
 */
int tw_parse_date_ms(const char *s, int64_t *out, struct tw_err *err);

/* Size of a buffer for tw_format_date_ms(). */
#define TW_DATE_TEXT 32

/*
 * Format as "2026-11-21T12:00:00.000Z". Return false, and "" in out, for a time before
 * the epoch or after TW_DATE_MAX_MS.
 */
bool tw_format_date_ms(int64_t ms, char out[TW_DATE_TEXT]);

#endif /* TW_DATE_H */
