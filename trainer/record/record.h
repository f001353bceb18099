/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_RECORD_H
#define TW_TRAINER_RECORD_H

/*
 * Makes a response file (trainer/response/prom.h) by scraping exporters, without
 * Prometheus. Each target is scraped at a fixed interval by its own thread, so that a
 * slow target does not delay the others. A failed scrape is a gap in the target's series.
 *
 * Series have the labels that Prometheus would store: __name__, and `instance` with the
 * target's name; an exporter's own `instance` becomes `exported_instance`. A malformed
 * answer adds nothing.
 *
 * A sample's time is the start of its scrape: the wall clock at the start of the
 * recording plus monotonic time, so that setting the clock does not distort rates.
 */

#include "lib/http/client/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_metric_choice;
struct tw_stop;

/* An exporter. Owns its texts. */
struct tw_target {
	char *name; /* the label `instance` */
	char *url;
};

/* Parse "[NAME=]URL". The default path is /metrics, the default name host and port. */
int tw_target_parse(const char *text, struct tw_target *out, struct tw_err *err);
void tw_target_release(struct tw_target *t);

#define TW_RECORD_TARGETS_MAX 64

struct tw_record {
	const struct tw_target *target;
	size_t targets;
	const struct tw_metric_choice *choice;
	const struct tw_http_access *access;
	uint64_t interval_ms, timeout_ms;
	uint64_t for_ms;  /* duration; 0: until a stop signal */
	uint64_t save_ms; /* interval of writing the file; 0: at the end only */
	size_t answer_max;
	const char *output;
	bool append; /* continue the series of an existing file */
	struct tw_stop *stop;
	/* Called with a line about a problem that does not end the recording. Calls come
	 * from any thread, but never two at once. */
	void (*say)(const char *text);
};

struct tw_record_result {
	size_t series;
	uint64_t samples;               /* in the file */
	uint64_t scrapes, failed, late; /* of all targets; late: scrapes not made */
	uint64_t not_finite, repeated;  /* samples left out */
};

/* Record until the end. TW_NOTFOUND, and no file, if there was no sample. */
int tw_record_run(const struct tw_record *r, struct tw_record_result *out,
		  struct tw_err *err);

#endif /* TW_TRAINER_RECORD_H */
