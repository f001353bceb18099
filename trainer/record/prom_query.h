/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PROM_QUERY_H
#define TW_TRAINER_PROM_QUERY_H

/*
 * Makes a response file (trainer/response/prom.h) from a Prometheus server: the samples
 * of a range of time of each metric that a schema or the caller names.
 *
 * Without a step the samples are those that were scraped. A long range is split into
 * parts, each one request, of as many points as the server's limit allows. A part that is
 * too large, for the server or the client, is halved. Parts do not overlap; a series
 * continues from part to part.
 */

#include "trainer/record/prom_client.h"

#include <stddef.h>

struct tw_err;
struct tw_strs;

struct tw_prom_query {
	struct tw_prom_range range;
	const struct tw_strs *match; /* label matchers, which must all hold */
	const char *metrics; /* extended regular expression for whole names; NULL: the
				schemas' metrics */
	const struct tw_strs *more; /* additional names; or NULL */
	/*
	 * Samples of a series in an answer; Prometheus' limit is 11,000. Without a step:
	 * seconds of an answer.
	 */
	uint32_t points;
	const char *output;
	/* Gets a file <metric>.csv for each metric, with a row for each sample: the time
	 * in seconds, all labels of the metric's series, the value. Or NULL. */
	const char *csv_dir;
	/* Called before each part, with the fraction of the metric's range that is done.
	 * Or NULL. */
	void (*progress)(void *arg, const char *metric, size_t number, size_t metrics,
			 double part);
	void *progress_arg;
};

struct tw_prom_query_result {
	size_t metrics, series;
	uint64_t samples, not_finite;
};

/* Run the query. The file is written only if all parts succeed. */
int tw_prom_query_run(struct tw_prom_client *c, const struct tw_prom_query *q,
		      struct tw_prom_query_result *out, struct tw_err *err);

#endif /* TW_TRAINER_PROM_QUERY_H */
