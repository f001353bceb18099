/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_FILTER_H
#define TW_MODEL_DB_FILTER_H

/*
 * What a client asks of a model's figures: "mae:10;features:a,b" (docs/wire.md).
 * All zero bytes is a filter that every model passes.
 */

#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_index_entry;

#define TW_FILTER_PARTS_MAX 32

struct tw_filter_part {
	/*
	 * "features", or a key of metadata.json with a number, or else a figure of its
	 * validation: the worst of the components that have it.
	 */
	char *attribute;
	double threshold;    /* abs_max_corr and r2: at least; others: at most */
	struct tw_strs only; /* features: the model may use only these */
};

struct tw_filter {
	struct tw_filter_part *part;
	size_t count;
};

/*
 * text may be NULL. Blanks around a part and its halves are passed over. A malformed
 * part is TW_INVALID and named. *out must be all zero; it is yours: tw_filter_release().
 */
int tw_filter_parse(const char *text, struct tw_filter *out, struct tw_err *err);

/*
 * Whether the model passes every part; a model without the attribute does not. If it does
 * not, *failed (may be NULL) is the attribute of the part; it lives as long as f.
 */
bool tw_filter_pass(const struct tw_filter *f, const struct tw_index_entry *e,
		    const char **failed);

void tw_filter_release(struct tw_filter *f);

#endif /* TW_MODEL_DB_FILTER_H */
