/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_RECORD_H
#define TW_TRAINER_RECORD_H

/*
 * A response file (trainer/extract/prom.h) from exporters themselves, without Prometheus:
 * each is asked at an even interval, by a thread of its own, so that one that does not
 * answer holds nobody up. A time at which it does not answer is a gap in its series.
 *
 * Times are of the moment when the exporter is asked. They follow the clock as it was at
 * the start and go on evenly: a clock that is set in between bends no rate.
 */

#include "trainer/extract/scrape.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_stop;

#define TW_RECORD_TARGETS_MAX 64

struct tw_record {
	const struct tw_target *target;
	size_t targets;
	const struct tw_metric_choice *choice;
	const struct tw_http_access *access;
	uint64_t interval_ms, timeout_ms;
	uint64_t for_ms;  /* 0: until it is told to stop */
	uint64_t save_ms; /* write the file so often; 0: at the end only */
	size_t answer_max;
	const char *output;
	bool append; /* go on with the series of the file, if there is one */
	struct tw_stop *stop;
	/* What goes wrong and on, a line. From any thread, one at a time. */
	void (*say)(const char *text);
};

struct tw_record_result {
	size_t series;
	uint64_t samples;               /* in the file */
	uint64_t scrapes, failed, late; /* times of all targets; late: not asked at all */
	uint64_t not_finite, repeated;  /* samples that were left out */
};

/* Fails, and writes nothing, if there is no sample in the end. */
int tw_record_run(const struct tw_record *r, struct tw_record_result *out,
		  struct tw_err *err);

#endif /* TW_TRAINER_RECORD_H */
