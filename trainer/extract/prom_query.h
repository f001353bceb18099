/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PROM_QUERY_H
#define TW_TRAINER_PROM_QUERY_H

/*
 * A response file (trainer/extract/prom.h) from a Prometheus server: each metric that
 * some schema knows, or that is asked for by name, over a range of time.
 *
 * Long ranges are asked for in parts of as many points as the server gives at once; where
 * it says that this is too much, of half as many. Parts do not overlap, and series go on
 * from one to the next.
 */

#include "trainer/extract/prom_client.h"

#include <stddef.h>

struct tw_strs;

struct tw_prom_query {
	struct tw_prom_range range;
	const struct tw_strs *match; /* label matchers that must all hold */
	const char *metrics; /* extended regular expression of whole names; NULL: those
				that a schema knows */
	const struct tw_strs *more; /* names besides; or NULL */
	uint32_t points;            /* of a series in one answer; servers give 11,000 */
	const char *output;
	/* Called before each part: of the metric's points so many are there. Or NULL. */
	void (*progress)(void *arg, const char *metric, size_t number, size_t metrics,
			 double part);
	void *progress_arg;
};

struct tw_prom_query_result {
	size_t metrics, series;
	uint64_t samples, not_finite;
};

/* Nothing is written unless all is there. */
int tw_prom_query_run(struct tw_prom_client *c, const struct tw_prom_query *q,
		      struct tw_prom_query_result *out, struct tw_err *err);

#endif /* TW_TRAINER_PROM_QUERY_H */
