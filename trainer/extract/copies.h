/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_COPIES_H
#define TW_TRAINER_COPIES_H

/*
 * Copies: series of one counter that differ only in who scraped it
 * (tw_schema_scrape_labels) and grow alike. An exporter that two jobs scrape has a copy
 * of each series, and sums over series would count everything twice.
 */

struct tw_err;
struct tw_metric_series;
struct tw_prom;

/*
 * TW_INVALID if counters of one machine have copies; the text names the labels of both
 * and says what to do. Gauges, and counters that do not grow, have no copies.
 */
int tw_copies_check(const struct tw_metric_series *m, struct tw_err *err);

/* The same for all counters of the response of one machine that a schema has. */
int tw_copies_check_all(const struct tw_prom *p, struct tw_err *err);

#endif /* TW_TRAINER_COPIES_H */
