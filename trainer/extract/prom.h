/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PROM_H
#define TW_TRAINER_PROM_H

/*
 * Prometheus range-query results: metric name -> list of series, each with labels and
 * samples, as query_range gives them in data.result:
 *
 *	{"name_total":[{"metric":{"label":"value"},"values":[[seconds,"value"],..]},..],..}
 *
 * Read as a stream: only the samples of metrics that some schema knows
 * (trainer/extract/schema.h), or that are asked for by name, are kept. Samples must be in
 *order of time without repeats, finite, and not negative; errors name metric, series,
 *sample and byte.
 */

#include "lib/json/jsax.h"
#include "trainer/extract/packed.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_prom;
struct tw_schema_metric;
struct tw_strs;

struct tw_label {
	const char *name, *value;
};

/*
 * One series. Lives as long as its response. Equal label texts are kept once: comparing
 * their addresses compares them. Samples are one at least: series without any are not
 * kept.
 */
struct tw_series {
	const struct tw_label *label;
	size_t labels;
	struct tw_packed time_ms, value; /* as many of each */
};

/* From a file, or from text in memory. *out is yours: tw_prom_free(). */
int tw_prom_read(const char *path, struct tw_prom **out, struct tw_err *err);
int tw_prom_parse(const char *data, size_t len, struct tw_prom **out, struct tw_err *err);

/* The same, with the metrics that are named in more (NULL: none), and all their labels.
 */
int tw_prom_read_more(const char *path, const struct tw_strs *more, struct tw_prom **out,
		      struct tw_err *err);
int tw_prom_parse_more(const char *data, size_t len, const struct tw_strs *more,
		       struct tw_prom **out, struct tw_err *err);

/*
 * The same inside a larger document (POST /train): feed it the events of the member's
 * value, from its first to its last; tw_prom_builder_done() is true after the last.
 */
struct tw_prom_builder;

int tw_prom_builder_new(struct tw_prom_builder **out, struct tw_err *err);
/* Keep these metrics, too: until the response begins. Borrowed. */
void tw_prom_builder_add(struct tw_prom_builder *b, const struct tw_strs *more);
int tw_prom_builder_event(struct tw_prom_builder *b, const struct tw_jsax_event *e,
			  struct tw_err *err);
bool tw_prom_builder_done(const struct tw_prom_builder *b);

/* Takes the response out of the builder, which must be done. */
struct tw_prom *tw_prom_builder_detach(struct tw_prom_builder *b);
void tw_prom_builder_free(struct tw_prom_builder *b); /* NULL is fine */

/* Series of a metric; *count is 0 and the result NULL where the response has none. */
const struct tw_series *tw_prom_series(const struct tw_prom *p, const char *metric,
				       size_t *count);

/* Samples of the longest series. */
size_t tw_prom_longest(const struct tw_prom *p);

/*
 * What the metric is by its name alone, whether or not a schema knows it: a feature of
 * that name, the rate of a counter where the name ends in _total, else the value of a
 * gauge. NULL where the response has no series of it. Lives as long as the response.
 */
const struct tw_schema_metric *tw_prom_own_metric(const struct tw_prom *p,
						  const char *metric);

/* Value of a label, or NULL. Labels that no schema looks at are not kept. */
const char *tw_series_label(const struct tw_series *s, const char *name);

/* Enough labels to find the series by, for errors: "container_id=051435f9456b mode=idle".
 */
void tw_series_describe(const struct tw_series *s, char *out, size_t size);

void tw_prom_free(struct tw_prom *p); /* NULL is fine */

#endif /* TW_TRAINER_PROM_H */
