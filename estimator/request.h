/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_REQUEST_H
#define TW_ESTIMATOR_REQUEST_H

/*
 * A PowerRequest, which asks the estimator for watts (docs/wire.md, "Estimator socket"),
 * and its parser. The parser takes bytes as they arrive. A request ends with its JSON
 * object; the next byte belongs to the next request.
 */

#include "estimator/predict/categories.h"
#include "estimator/request_tables.h"
#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_request_parser;

#define TW_REQUEST_BYTES_MAX ((size_t)16 << 20)
#define TW_REQUEST_VERSION_MAX 2

/* The shape of the answer's powers. */
enum tw_reply_form {
	TW_REPLY_CURRENT,    /* {"package":[..],..} */
	TW_REPLY_COMPONENTS, /* for Kepler up to 0.5.3: {"pkg":[..],..} */
	TW_REPLY_TOTAL,      /* for Kepler up to 0.5.3: [..], of the node */
};

struct tw_request {
	/* Names of the columns: "metrics", then the numeric system features. */
	struct tw_strs metrics;
	/* The client may lack the hardware counters among them (lib/field/feature.h). */
	bool counters_unproven;
	/* Row major, without the system features; NaN where the value is null. */
	double *x;
	size_t rows;
	/* Values of the last `systems` metrics; they hold for every row. */
	const double *system;
	size_t systems;
	/* All system features as texts. "" is an unknown or overlong value. */
	struct tw_categories categories;
	/* Version 2: the time of each row. NULL: rows are independent of each other. */
	const int64_t *time_ms;
	/*
	 * Names of series: one for all rows, or one for each row. Empty: the rows are a
	 * series of their own. Valid where time_ms is set.
	 */
	const struct tw_strs *series;
	enum tw_output output;
	enum tw_reply_form form;
	const struct tw_energy_source *source;
	const char *trainer; /* NULL: any */
	const char *filter;  /* NULL: none */
	unsigned version;    /* 1 or 2; the answer to version 2 has more keys */
	unsigned components; /* version 2: set of 1 << enum tw_component; 0: all */
};

int tw_request_parser_new(struct tw_request_parser **out, struct tw_err *err);

/*
 * Parse the next bytes. *used is the number of bytes that belong to this request. *done:
 * the request is complete, see tw_request_parser_request(). Errors name the place:
 * "values[3][2]: expected a number, got a string". After a failure the parser accepts
 * only tw_request_parser_reset() and tw_request_parser_free().
 */
int tw_request_parser_feed(struct tw_request_parser *p, const char *data, size_t len,
			   size_t *used, bool *done, struct tw_err *err);

/* True between the first byte of a request and its last. */
bool tw_request_parser_started(const struct tw_request_parser *p);

/* The version as far as it is read, also of an incomplete request; 1 by default. */
unsigned tw_request_parser_version(const struct tw_request_parser *p);

/* The complete request. Borrowed; valid until the next reset. */
const struct tw_request *tw_request_parser_request(const struct tw_request_parser *p);

/* Prepare for the next request. */
void tw_request_parser_reset(struct tw_request_parser *p);

void tw_request_parser_free(struct tw_request_parser *p); /* NULL is fine */

#endif /* TW_ESTIMATOR_REQUEST_H */
