/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_NUM_DIGITS_H
#define TW_NUM_DIGITS_H

/*
 * Doubles as decimal text, without the C library; a part of lib/core/num.c.
 */

#include <stddef.h>

/*
 * The text of tw_format_double() for the doubles that tables are full of: zero, and
 * magnitudes from 0.001 to below 1e15. Returns 0 for others, and where rounding gives a
 * digit more.
 *
 * In integers, which are exact: a double is f * 2^-s, f < 2^53; its first n digits are
 * f * 10^q >> s, rounded, and lead back to it if they are less than half of its last
 * place off. (The C library's printf and strtod, twice or thrice, take 50 times as long.)
 */
size_t tw_format_digits(char *out, double v);

#endif /* TW_NUM_DIGITS_H */
