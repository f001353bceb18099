/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_FALLS_H
#define TW_TRAINER_FALLS_H

/* Counters that fall: rates under the name of a counter, and resets. */

struct tw_err;
struct tw_extract_args;
struct tw_metric_series;
struct tw_series;

/* TW_INVALID if the metric's counters fall so often that they are rates or a gauge, of
 * which no increase is right. */
int tw_metric_check_rates(const struct tw_metric_series *m,
			  const struct tw_extract_args *a, struct tw_err *err);

/* TW_INVALID if the counter falls within the series. */
int tw_series_check_resets(const struct tw_series *s, const char *metric,
			   struct tw_err *err);

#endif /* TW_TRAINER_FALLS_H */
