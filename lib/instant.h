/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_INSTANT_H
#define TW_INSTANT_H

/*
 * Points in time as texts: "2023-09-22T05:43:48.000Z", in UTC.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TW_INSTANT_TEXT 32

/* False for what is not of the years 1970 to 9999; out is "" then. */
bool tw_instant_format(int64_t ms, char out[TW_INSTANT_TEXT]);

/* With or without a fraction of the second; the 'Z' must be there. False if it is none.
 */
bool tw_instant_parse(const char *text, int64_t *ms);

#endif /* TW_INSTANT_H */
