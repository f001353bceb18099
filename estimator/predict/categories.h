/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_CATEGORIES_H
#define TW_ESTIMATOR_CATEGORIES_H

/*
 * Weights of categories in linear models (docs/wire.md, "Weights"). A category is a
 * feature whose value is a text:
 *
 *	"Categorical_Variables": {"cpu_architecture": {"Sandy Bridge": {"weight": w}}}
 *
 * A category adds the weight of its value. An unlisted or unknown value adds nothing.
 */

#include <jansson.h>
#include <stddef.h>

struct tw_err;

/* Values of all categories of a model together. */
#define TW_CATEGORY_WEIGHTS_MAX 4096

/* Categories of a request; names[i] has values[i] in all rows. */
struct tw_categories {
	const char *const *names, *const *values;
	size_t count;
};

struct tw_category_weight;

/* All zero bytes is an empty list. */
struct tw_category_weights {
	struct tw_category_weight *at;
	size_t count;
};

/*
 * Read obj[key], which may be absent or null. *out must be all zero; release it, on
 * failure too.
 */
int tw_category_weights_read(const json_t *obj, const char *where, const char *key,
			     struct tw_category_weights *out, struct tw_err *err);

/* The sum of the weights of the given categories. NULL: none are known. */
double tw_category_weights_sum(const struct tw_category_weights *w,
			       const struct tw_categories *given);

void tw_category_weights_release(struct tw_category_weights *w);

#endif /* TW_ESTIMATOR_CATEGORIES_H */
