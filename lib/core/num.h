/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_NUM_H
#define TW_NUM_H

/*
 * Numbers to and from text: strict (the whole text, in a range), correctly
 * rounded, independent of the locale.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;

int tw_parse_u32(const char *s, uint32_t min, uint32_t max, uint32_t *out,
		 struct tw_err *err);

/* Decimal digits only, all of s[0..len); no NUL is needed after it. False if not, or if
 * too large. */
bool tw_parse_u64(const char *s, size_t len, uint64_t *out);

/*
 * s[0..len) as a double; no NUL is needed after it. Takes what JSON's grammar
 * calls a number and nothing else (no NaN, no hex, no blanks). False if it is not
 * one, or is too large for a double.
 */
bool tw_parse_double(const char *s, size_t len, double *out);

/* The number that s[0..len) begins with: as above. Returns its length; 0: there is none.
 */
size_t tw_scan_double(const char *s, size_t len, double *out);

/*
 * As above, and also what Prometheus writes for a sample's value: "NaN", "+Inf",
 * "-Inf", "Inf" and a leading '+'.
 */
bool tw_parse_sample(const char *s, size_t len, double *out);

/* "250ms", "3s", "2m", "1h", and a bare number of seconds. */
int tw_parse_duration_ms(const char *s, uint64_t *out, struct tw_err *err);

/* "4096", "64KiB", "1MiB", "2GiB". */
int tw_parse_size_bytes(const char *s, uint64_t *out, struct tw_err *err);

#define TW_DOUBLE_TEXT 32

/*
 * The fewest digits that read back as the same double ("0.1", "1e+300"); valid
 * JSON for every finite value. Returns its length.
 */
size_t tw_format_double(char out[TW_DOUBLE_TEXT], double v);

void tw_buf_add_double(struct tw_buf *b, double v);

#endif /* TW_NUM_H */
