/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_OLD_NAMES_H
#define TW_SERVER_OLD_NAMES_H

/*
 * Requests for weights that call features by the names of Kepler up to 0.7.2
 * (lib/field/feature.h). A model is chosen by the names of today, so that the rule for
 * the first metric of curves holds as well; the answer has the client's names, because
 * the client looks weights up by its own metrics and takes 0 for one that it does not
 * find.
 */

#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_strs;

/*
 * Replace old names by those of today where the unit is the same and the list does not
 * have today's name as well. *replaced gets a bit, 1u << place in tw_feature_old_at(),
 * for each.
 */
int tw_old_names_replace(struct tw_strs *metrics, unsigned *replaced, struct tw_err *err);

/*
 * Append the weights of any client generation (model-db/weights.h) with the replaced
 * names in Numerical_Variables.
 */
int tw_old_names_restore(const char *weights, size_t len, unsigned replaced,
			 struct tw_buf *out, struct tw_err *err);

#endif /* TW_SERVER_OLD_NAMES_H */
