/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SAMPLE_SUMS_H
#define TW_TRAINER_SAMPLE_SUMS_H

/*
 * The raw table: the samples behind an extraction, before rates and watts. For each time
 * stamp it has the sum of each metric's samples, over all series of the machine.
 *
 * Columns are the features by name, and a counter of energy as "package_joules" or a
 * gauge of power as "package_power". Values are in canonical units (docs/wire.md) times
 * seconds, or joules, or watts. A metric without a sample at a time is NaN. A series that
 * begins or ends moves the sum: sums of counters may fall.
 */

#include "trainer/extract/metric_series.h"

struct tw_dataset;
struct tw_err;
struct tw_prom;

/*
 * A row for each time stamp; args' level, resets and compat do not matter. *out must be
 * empty; the caller releases it. Fails as tw_extract() if the response lacks a metric or
 * has several machines.
 */
int tw_sample_sums(const struct tw_prom *p, const struct tw_extract_args *a,
		   struct tw_dataset *out, struct tw_err *err);

#endif /* TW_TRAINER_SAMPLE_SUMS_H */
