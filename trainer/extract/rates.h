/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_RATES_H
#define TW_TRAINER_RATES_H

/*
 * Rates of workloads' features at the times at which power is known.
 *
 * Features are a schema's or third-party metrics. The latter often come from another
 * exporter, with other labels and at other times, and have their own rules here.
 */

#include "trainer/extract/counter_series.h"
#include "trainer/extract/increments.h"
#include "trainer/extract/metric_series.h"
#include "trainer/extract/starts.h"

struct tw_clock;
struct tw_dataset;
struct tw_err;
struct tw_guest;
struct tw_power_series;

/*
 * Add the counters of the features to out and sort it. A counter's key is its workload,
 * its column the feature's index. Third-party counters of the node are each a workload of
 * their own; gauges of the node are merged. guest is NULL unless the series are of VMs.
 */
int tw_workload_counters_find(const struct tw_metric_series *feature, size_t features,
			      const struct tw_extract_args *a, struct tw_guest *guest,
			      struct tw_counter_set *out, struct tw_err *err);

/* TW_INVALID if no workload has both a third-party metric and a schema's metric. */
int tw_thirdparty_metrics_check(const struct tw_metric_series *feature, size_t features,
				const struct tw_counter_set *c, struct tw_err *err);

/*
 * Drop the rows of the times at which a third-party metric has no sample of any workload
 * (NaN in its column); elsewhere, set a workload's missing rate to 0. The features are
 * d's first columns.
 */
int tw_thirdparty_metrics_settle(const struct tw_metric_series *feature, size_t features,
				 struct tw_dataset *d, struct tw_err *err);

/*
 * Rates of one workload at a time.
 *
 * A row covers the time from from_ms[k] to time_ms[k], and its rate is the increase
 * within that time, however the samples of the counter lie
 * (trainer/extract/increments.h). A third-party counter has no births: its rate is that
 * of the sample at time_ms[k], as is a gauge's value. A declared gauge is averaged.
 */
struct tw_rates {
	size_t times;
	const int64_t *time_ms; /* ascending; borrowed */
	size_t first, end;      /* the times whose rows lie within the features' ticks */
	double *from, *to;      /* each row's ends by the exporter's clock, ms */
	bool *seen;             /* for each time: whether the workload has a row */
	size_t *at;             /* indexes of the seen times, in no order */
	size_t count;
	/* Third-party metrics of the node make no rows. */
	bool thirdparty_makes_no_rows;
	const struct tw_counter_set *counters;
	const struct tw_metric_series *feature; /* by column of the counters */
	const struct tw_extract_args *args;
	const struct tw_clock *clock;
	struct tw_ticks ticks;
	struct tw_restarts restarts;
	const struct tw_starts *starts; /* borrowed */
	/* By feature: the highest rate of a workload that began since the last tick, in
	 * the feature's unit; INFINITY: not known. */
	double most[TW_EXTRACT_FEATURES_MAX];
	double *const *born; /* by feature and row: gets the rates that count from 0; or
				NULL. Borrowed. */
	int64_t first_ms, last_ms; /* ticks of the features */
	struct tw_increments increments;
	struct tw_merged_series samples;
};

/*
 * Begin to read the counters of c at the times of power. All is borrowed until the
 * release. TW_INVALID for a restart of the exporter that the arguments refuse.
 */
int tw_rates_init(struct tw_rates *r, const struct tw_power_series *power,
		  const struct tw_counter_set *c, const struct tw_metric_series *feature,
		  const struct tw_starts *starts, const struct tw_clock *clock,
		  const struct tw_extract_args *a, struct tw_err *err);

/*
 * Drop the rows of power in which the exporter of the features was restarted, as their
 * increase is not known, unless the arguments carry the rate on. The caller retimes r.
 */
void tw_rates_drop_restarts(const struct tw_rates *r, struct tw_power_series *power);

/* Read the same counters at other times of power. */
int tw_rates_retime(struct tw_rates *r, const struct tw_power_series *power,
		    struct tw_err *err);

/*
 * Read the workload whose counters start at *i, and advance *i to the next workload. Its
 * rate of feature f at time k is added to column[f][row[k]], where NaN means no value
 * yet. Without columns (NULL), only r->seen and r->at are set.
 */
int tw_rates_next(struct tw_rates *r, size_t *i, double *const *column, const size_t *row,
		  struct tw_err *err);
void tw_rates_release(struct tw_rates *r);

#endif /* TW_TRAINER_RATES_H */
