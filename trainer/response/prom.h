/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PROM_H
#define TW_TRAINER_PROM_H

/*
 * Reads Prometheus range-query results: an object of metric names, each with a list of
 * series as query_range returns them in data.result:
 *
 *	{"name_total":[{"metric":{"label":"value"},"values":[[seconds,"value"],..]},..],..}
 *
 * or the whole answer, {"status":"success","data":{"result":[..]}}, with the metric's
 * name among the labels. The reader is a stream parser. It keeps the samples of metrics
 * that a schema (trainer/response/schema.h) or the caller names. Samples must be in order
 * of time without repeats, finite and not negative. Errors name metric, series, sample
 * and byte.
 */

#include "lib/json/jsax.h"
#include "trainer/response/prom_store.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_strs;

/*
 * Names of the ways to handle answers that lack series: refuse, accept. Ends with NULL.
 */
extern const char *const tw_prom_partial_names[];

/* TW_INVALID if the server said that the response lacks series; `where` names it, and
 * `advice` how to accept it. */
int tw_prom_check_whole(const struct tw_prom *p, const char *where, const char *advice,
			struct tw_err *err);

/* From a file, whose response must be whole, or from text in memory. *out is the
 * caller's: tw_prom_free(). */
int tw_prom_read(const char *path, struct tw_prom **out, struct tw_err *err);
int tw_prom_parse(const char *data, size_t len, struct tw_prom **out, struct tw_err *err);

/* Like these; also keep the metrics named in more (or NULL), with all their labels. */
int tw_prom_read_more(const char *path, const struct tw_strs *more, struct tw_prom **out,
		      struct tw_err *err);
int tw_prom_parse_more(const char *data, size_t len, const struct tw_strs *more,
		       struct tw_prom **out, struct tw_err *err);

/*
 * Reads a response that is a member of a larger document (POST /train). Feed it the
 * events of the member's value, first to last; tw_prom_builder_done() is true after the
 * last.
 */
struct tw_prom_builder;

int tw_prom_builder_new(struct tw_prom_builder **out, struct tw_err *err);
/* Also keep these metrics. Call it before the first event. Borrowed. */
void tw_prom_builder_add(struct tw_prom_builder *b, const struct tw_strs *more);
int tw_prom_builder_event(struct tw_prom_builder *b, const struct tw_jsax_event *e,
			  struct tw_err *err);
bool tw_prom_builder_done(const struct tw_prom_builder *b);

/* Move the response out of the builder, which must be done. */
struct tw_prom *tw_prom_builder_detach(struct tw_prom_builder *b);
void tw_prom_builder_free(struct tw_prom_builder *b); /* NULL is fine */

#endif /* TW_TRAINER_PROM_H */
