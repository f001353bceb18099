/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_CALIBRATE_READINGS_H
#define TW_CLI_CALIBRATE_READINGS_H

/*
 * The readings of `tallywatt calibrate`: from options, from a wattmeter's CSV, or from a
 * meter of this machine.
 */

#include "trainer/machines/readings.h"

#include <stdint.h>

struct tw_err;
struct tw_roots;

/* All zero bytes is empty. */
struct tw_reading_list {
	struct tw_power_reading *at;
	size_t count, size;
};

/* error: relative, of the meter. */
int tw_reading_list_add(struct tw_reading_list *l, double load, double w, double error,
			struct tw_err *err);
void tw_reading_list_release(struct tw_reading_list *l);

/* Add "LOAD=W": percent and watts. */
int tw_reading_list_parse(struct tw_reading_list *l, const char *text, double error,
			  struct tw_err *err);

/*
 * Add each row of a CSV with a header. Watts are in the column watts, power, power_w or
 * w (power_mw: milliwatts); CPU use, in percent, in the column cpu, load or cpu_percent
 * (cpu_share: 0 to 1). Other columns are ignored. A file without CPU use has the load
 * `load` in all rows, from 0 to 1; if load is NaN, it is rejected. Rows that no machine
 * draws, such as 0 or 65535 W, are left out and said; more than a tenth is an error.
 * TW_INVALID and TW_PARSE name line and column.
 */
int tw_reading_list_read_csv(struct tw_reading_list *l, const char *path, double load,
			     double error, void (*say)(const char *text),
			     struct tw_err *err);

struct tw_reading_record {
	const struct tw_roots *roots;
	uint64_t phase_ms; /* of each of the three phases */
	double error;
	/* Called with a line of progress. */
	void (*say)(const char *text);
};

/*
 * Run rest, half and full load by own processes, and read the first meter that measures
 * the platform. Call it from the main thread.
 */
int tw_reading_list_record(struct tw_reading_list *l, const struct tw_reading_record *r,
			   struct tw_err *err);

#endif /* TW_CLI_CALIBRATE_READINGS_H */
