/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_VALUE_H
#define TW_COLLECTOR_VALUE_H

/*
 * Values of a user's own meter: a number in a stated unit, on a line that a foreign
 * program prints, or in the answer of a Prometheus server. A unit is of power, which is a
 * gauge, or of energy, which is a counter that grows.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

enum tw_unit {
	TW_UNIT_W,
	TW_UNIT_MW,
	TW_UNIT_UW,
	TW_UNIT_J,
	TW_UNIT_MJ,
	TW_UNIT_UJ,
	TW_UNIT_WH,
	TW_UNIT_KWH,
	TW_UNIT_COUNT
};

/* "W", "mW", "uW", "J", "mJ", "uJ", "Wh", "kWh", then NULL. */
extern const char *const tw_unit_names[];

/* Whether a unit is of energy. */
bool tw_unit_is_energy(enum tw_unit unit);

struct tw_value {
	double power_w;     /* of a unit of power */
	uint64_t energy_uj; /* of a unit of energy */
};

/*
 * Parse s[0..len), a number with blanks around it. TW_PARSE if it is not a number;
 * TW_INVALID if it is below 0 or larger than any meter's: 1 GW, or 10^12 J.
 */
int tw_value_parse(const char *s, size_t len, enum tw_unit unit, struct tw_value *out,
		   struct tw_err *err);

/* ---- lines of a stream of bytes ---- */

/* Longest line, without its end. */
#define TW_LINE_MAX 256

/* All zero bytes: at the beginning of a line. */
struct tw_lines {
	char text[TW_LINE_MAX];
	size_t len;
	bool too_long; /* the current line is cut off */
};

/* Takes a line without its end. cut: it was longer than TW_LINE_MAX. */
typedef void tw_line_sink(void *arg, const char *line, size_t len, bool cut);

/* Take bytes, and give each line that ends to the sink. */
void tw_lines_feed(struct tw_lines *l, const char *data, size_t len, tw_line_sink *sink,
		   void *arg);

/* The stream has ended: give an unfinished line to the sink, and begin anew. */
void tw_lines_end(struct tw_lines *l, tw_line_sink *sink, void *arg);

/* ---- the answer of a Prometheus server to an instant query ---- */

/* Longest text of a sample's value that is accepted. */
#define TW_INSTANT_VALUE 64

/*
 * Find the value of the only sample of an answer: a scalar, or a vector with one series.
 * *out is its text, NUL-terminated. TW_NOTFOUND without a sample, TW_INVALID with
 * several, TW_IO with the server's own error.
 */
int tw_instant_parse(const char *body, size_t len, char out[TW_INSTANT_VALUE],
		     struct tw_err *err);

#endif /* TW_COLLECTOR_VALUE_H */
