/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SCRAPES_H
#define TW_TRAINER_SCRAPES_H

/*
 * The scrapes behind the rows of a range query. Each step shows the last scrape before
 * it. So a row covers a whole number of scrape intervals, and its rates are wrong by the
 * share of that time in the step: with scrapes each 5 s, rows of 8 s have the work of 5
 * or of 10 s.
 *
 * That shows where power and load obey a line with the times of scrapes, and do not
 * with the times of the rows.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More rows are not read. */
#define TW_SCRAPES_ROWS_MAX 1024

struct tw_scraped_row {
	int64_t from_ms, to_ms;
	double load, watts;
};

/* Scrapes at offset_ms and each interval_ms after it; interval_ms 0: at each row. */
struct tw_scrape_times {
	int64_t interval_ms, offset_ms;
	bool divides; /* the step of the rows divides the interval */
};

/*
 * The scrapes that explain the rows, which are in order of time, twice as well as scrapes
 * at each row. by_gauge: power does not depend on the time of a row.
 * Rows whose times have no common step of a second or more are read as scraped.
 */
struct tw_scrape_times tw_scrapes_find(const struct tw_scraped_row *row, size_t count,
				       bool by_gauge);

/* The number of scrapes in a time. */
int64_t tw_scrapes_within(const struct tw_scrape_times *s, int64_t from_ms,
			  int64_t to_ms);

#endif /* TW_TRAINER_SCRAPES_H */
