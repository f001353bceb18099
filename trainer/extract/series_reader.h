/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SERIES_READER_H
#define TW_TRAINER_SERIES_READER_H

/*
 * A list of series, [{"metric":{..},"values":[[seconds,"value"],..]},..], from the events
 * of a parser into a spool: data.result of Prometheus' query_range, or a metric of a
 * response file. Unlike trainer/extract/prom.h it keeps every label and no samples.
 *
 * "metric" must come before "values", as all that write such lists have it. Values that
 * are not finite are counted and left out.
 */

#include "lib/core/strs.h"
#include "lib/json/jsax.h"

#include <stdint.h>

struct tw_err;
struct tw_spool;

#define TW_SERIES_LABELS_MAX 128

struct tw_series_reader {
	/* Set by who makes it; the rest is 0. */
	struct tw_spool *spool;
	const char *metric;
	/* Samples that are not later than a series' last are passed over: they were taken
	 * from an answer that was cut short. Else they are refused. */
	bool again;

	unsigned depth; /* of the list */
	unsigned member;
	unsigned part; /* of a sample: what comes next */
	bool has_labels;
	size_t number;         /* of the series, from 1 */
	size_t series;         /* in the spool */
	struct tw_strs labels; /* names and values, in turn */
	double time_s;

	uint64_t taken, passed_over, not_finite; /* samples */
};

/* One event of the list, from its [ to its ]. */
int tw_series_reader_event(struct tw_series_reader *r, const struct tw_jsax_event *e,
			   struct tw_err *err);

void tw_series_reader_release(struct tw_series_reader *r);

/* Add the series of a response file. */
int tw_series_read_file(struct tw_spool *spool, const char *path, struct tw_err *err);

#endif /* TW_TRAINER_SERIES_READER_H */
