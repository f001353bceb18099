/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_RATE_H
#define TW_RATE_H

/*
 * The carbon intensity or the price of a kilowatt-hour over time: a number, or a file.
 * The file has a number, or lines "TIME,NUMBER" in order (CSV). A line is valid until the
 * next, the last line for as long as the line before it. TIME is as for
 * tw_parse_date_ms(). A first line of names is skipped.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* A larger number is neither a carbon intensity nor a price. */
#define TW_RATE_MAX 1e6

#define TW_J_PER_KWH 3.6e6

/* All zero bytes: no rate is known. */
struct tw_rate {
	struct tw_rate_step {
		int64_t from_ms;
		double per_kwh;
	} * step;
	size_t count;
};

/* text: a number, or the path of a file. *out is yours: tw_rate_release(). */
int tw_rate_open(const char *text, struct tw_rate *out, struct tw_err *err);
/* As tw_rate_open(), from the text of a file. */
int tw_rate_parse(const char *data, size_t len, struct tw_rate *out, struct tw_err *err);
void tw_rate_release(struct tw_rate *r);

/* The rate at a time; NaN: unknown. */
double tw_rate_at(const struct tw_rate *r, int64_t ms);

#endif /* TW_RATE_H */
