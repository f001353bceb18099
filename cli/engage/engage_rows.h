/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_ENGAGE_ROWS_H
#define TW_CLI_ENGAGE_ROWS_H

/* The rows of a recording of `tallywatt engage`: power and load over time. */

#include "lib/field/dataset.h"
#include "trainer/extract/quality.h"

struct tw_err;
struct tw_feature_group;

/* All zero bytes: no rows. */
struct tw_engage_rows {
	const struct tw_energy_source *source;
	const struct tw_feature_group *group;
	enum tw_component component; /* the main one */
	struct tw_dataset data;
	struct tw_quality quality;
	const double *watts;  /* of the component, in data */
	const double *cpu_ms; /* CPU time, ms/s, in data; NULL: the group has none */
};

/*
 * Extract the rows of a response, with power shifted by its lag. Without a source, it is
 * the first that the recording measures; without a group, the first with CPU time.
 * TW_NOTFOUND: there is no measured power. *out must be all zero; it is yours.
 */
int tw_engage_rows_read(const char *response, const struct tw_energy_source *source,
			const struct tw_feature_group *group, struct tw_engage_rows *out,
			struct tw_err *err);

/* Means of the rows from a time to another. NaN without rows. */
struct tw_engage_mean {
	size_t rows;
	double watts, cpus;
};

struct tw_engage_mean tw_engage_rows_mean(const struct tw_engage_rows *r, int64_t from_ms,
					  int64_t to_ms);

void tw_engage_rows_release(struct tw_engage_rows *r);

#endif /* TW_CLI_ENGAGE_ROWS_H */
