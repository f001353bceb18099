/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_REQUEST_H
#define TW_ESTIMATOR_REQUEST_H

/*
 * PowerRequests, the estimator's questions (docs/wire.md, "Estimator socket"), parsed
 * as their bytes arrive. A request ends where its JSON ends: what follows is the next.
 */

#include "estimator/predict/categories.h"
#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_request_parser;

#define TW_REQUEST_BYTES_MAX ((size_t)16 << 20)
#define TW_REQUEST_ROWS_MAX 100000
#define TW_REQUEST_METRICS_MAX 256
#define TW_REQUEST_VALUES_MAX ((size_t)1 << 21)
#define TW_REQUEST_TEXT_MAX 1024
#define TW_REQUEST_VERSION_MAX 2
/* Rows of a request whose series are named, and the names. */
#define TW_REQUEST_SERIES_MAX 10000
#define TW_REQUEST_SERIES_NAME_MAX 256

struct tw_request {
	/* Columns of x: "metrics", then those system features that have a number. */
	struct tw_strs metrics;
	double *x; /* row major, without the system features; NaN where the value is null
		    */
	size_t rows;
	/* Values of the last `systems` metrics, the same in every row. */
	const double *system;
	size_t systems;
	/* All system features, as texts; "": not known, or too long. */
	struct tw_categories categories;
	/* Of version 2: when each row is of; NULL: rows stand alone. */
	const int64_t *time_ms;
	/* The series that all rows are of, or that of each row. Empty: rows are a series.
	 */
	const struct tw_strs *series;
	enum tw_output output;
	const struct tw_energy_source *source;
	const char *trainer; /* NULL: any */
	const char *filter;  /* NULL: none */
	unsigned version;    /* 1, or 2 for who wants to know more */
	unsigned components; /* of version 2: 1 << enum tw_component; 0: as they come */
};

int tw_request_parser_new(struct tw_request_parser **out, struct tw_err *err);

/*
 * Take the next bytes; *used is how many belonged to this request. *done: it is whole
 * and in tw_request_parser_request(). Errors name the place: "values[3][2]: expected a
 * number, got a string". After a failure only tw_request_parser_reset() may follow.
 */
int tw_request_parser_feed(struct tw_request_parser *p, const char *data, size_t len,
			   size_t *used, bool *done, struct tw_err *err);

/* Whether a request has begun and is not done. */
bool tw_request_parser_started(const struct tw_request_parser *p);

/* As far as is known yet, whole or not: 1 where it has not said. */
unsigned tw_request_parser_version(const struct tw_request_parser *p);

/* Lives until the next reset. */
const struct tw_request *tw_request_parser_request(const struct tw_request_parser *p);

/* Ready for the next request. */
void tw_request_parser_reset(struct tw_request_parser *p);

void tw_request_parser_free(struct tw_request_parser *p); /* NULL is fine */

#endif /* TW_ESTIMATOR_REQUEST_H */
