/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_METER_VIEWS_H
#define TW_TRAINER_METER_VIEWS_H

/*
 * The counters of one component of a node's energy, or the gauges of its power, and which
 * of them add up.
 *
 * Those that one exporter shows at one time are parts of a sum: packages, modes. Those of
 * another exporter are the same energy in other parts, and so are those of the same
 * exporter after an update that renamed all of them: each is a view of the meter, and
 * energy is never a sum over views. Two views at one time are compared: if they agree,
 * the one that lasts longer counts, else two machines have one name.
 */

#include "trainer/extract/counter_series.h"

struct tw_err;
struct tw_metric_series;

struct tw_meter_view {
	double from_ms; /* it counts from then on, up to the next one */
	size_t keys;    /* counters that make the sum */
};

/* All zero bytes is empty. */
struct tw_meter_views {
	struct tw_counter_set counters;
	struct tw_meter_view *at; /* in order of time */
	size_t count;
};

/*
 * Split the counters of a metric, which are sorted and clean (clean.h). What one view
 * repeats of another is dropped, and added to counters.merged. out->counters is given,
 * out->at is empty; both are the caller's, also after a failure. TW_INVALID if views
 * differ.
 */
int tw_meter_views_split(struct tw_meter_views *out, const struct tw_metric_series *m,
			 struct tw_err *err);

void tw_meter_views_release(struct tw_meter_views *v);

#endif /* TW_TRAINER_METER_VIEWS_H */
