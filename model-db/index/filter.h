/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_FILTER_H
#define TW_MODEL_DB_FILTER_H

/*
 * A request's limits for the figures of a model: "mae:10;features:a,b" (docs/wire.md).
 * Every model passes a filter of all zero bytes.
 */

#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_index_entry;

#define TW_FILTER_PARTS_MAX 32

struct tw_filter_part {
	/* "features", or a figure of the model: tw_index_figure() */
	char *attribute;
	double threshold;    /* the minimum of abs_max_corr and r2, else the maximum */
	struct tw_strs only; /* features: the model may use only these */
};

struct tw_filter {
	struct tw_filter_part *part;
	size_t count;
};

/*
 * Parse a filter; text may be NULL. Blanks around parts, attributes and thresholds are
 * ignored. TW_INVALID names a malformed part. *out must be all zero; it is yours:
 * tw_filter_release().
 */
int tw_filter_parse(const char *text, struct tw_filter *out, struct tw_err *err);

/*
 * Whether the model passes every part. A model without the attribute fails. *failed (may
 * be NULL) is the attribute of the part that the model fails; it lives as long as f.
 */
bool tw_filter_pass(const struct tw_filter *f, const struct tw_index_entry *e,
		    const char **failed);

void tw_filter_release(struct tw_filter *f);

#endif /* TW_MODEL_DB_FILTER_H */
