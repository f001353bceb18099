/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_JUDGED_ROWS_H
#define TW_TRAINER_JUDGED_ROWS_H

/*
 * The rows of a machine that cleaning judges: load, power of the first component, and a
 * robust line through them. Load is CPU time, or else the sum of all features, each as a
 * share of its usual range. The line is the median of the slopes between the medians of
 * groups of rows, so up to a quarter of wrong rows do not bend it.
 */

#include <stddef.h>

struct tw_err;
struct tw_metric_series;
struct tw_node_rows;
struct tw_power_series;
struct tw_rates;

/* TW_ROW_JOINED: part of the row after it. All but TW_ROW_KEPT are dropped. */
enum tw_fate {
	TW_ROW_KEPT,
	TW_ROW_OUTLIER,
	TW_ROW_STANDING,
	TW_ROW_JOINED,
	TW_ROW_UNSTEADY,
	TW_ROW_UNSEEN
};

struct tw_judged_rows {
	struct tw_power_series *power;
	const struct tw_node_rows *rows;
	const struct tw_metric_series *feature; /* of the rows */
	size_t count;                           /* of rows with features */
	size_t *row;                            /* their places in power */
	double *load;                           /* of each */
	double *watts;                          /* of each, of the first component */
	double *memory;                         /* 4 * count + 1 */
	enum tw_fate *fate;                     /* of each */
	double usual, busy;                     /* 90th percentiles of power and load */
	double at_rest, slope;                  /* the line */
	double deviation;                       /* usual distance from it */
};

/* The rows of p whose features are in rows, read by r. Close them after an error, too. */
int tw_judged_open(struct tw_judged_rows *j, struct tw_power_series *p,
		   const struct tw_node_rows *rows, const struct tw_rates *r,
		   struct tw_err *err);
void tw_judged_close(struct tw_judged_rows *j);

/* Set the load of each row, and its 90th percentile. */
void tw_judged_find_load(struct tw_judged_rows *j);

/* Set the line, the deviation and the usual power. At least one row. */
int tw_judged_find_line(struct tw_judged_rows *j, struct tw_err *err);

/* Power of the line, W. */
double tw_judged_line_at(const struct tw_judged_rows *j, double load);

/* Values, which are sorted: count of them, at least one. */
double tw_judged_quantile(double *v, size_t count, double q);

/* Drop the rows of power that are not kept. Their energy leaves the growth of power. */
void tw_judged_drop(const struct tw_judged_rows *j);

#endif /* TW_TRAINER_JUDGED_ROWS_H */
