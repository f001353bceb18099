/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_CATEGORIES_H
#define TW_ESTIMATOR_CATEGORIES_H

/*
 * Weights of categories, the part of linear models that is about what is no number
 * (docs/wire.md, "Weights"):
 *
 *	"Categorical_Variables": {"cpu_architecture": {"Sandy Bridge": {"weight": w}}}
 *
 * A variable adds the weight of the value that it has; nothing where it has another, or
 * none.
 */

#include <jansson.h>
#include <stddef.h>

struct tw_err;

/* Values of all variables together. */
#define TW_CATEGORY_WEIGHTS_MAX 4096

/* What rows have in common that is no number: value i is of name i. */
struct tw_categories {
	const char *const *names, *const *values;
	size_t count;
};

struct tw_category_weight;

/* All zero bytes is none. */
struct tw_category_weights {
	struct tw_category_weight *at;
	size_t count;
};

/*
 * obj[key], which may be absent or null. *out must be all zero; it is yours, on failure
 * too: tw_category_weights_release().
 */
int tw_category_weights_read(const json_t *obj, const char *where, const char *key,
			     struct tw_category_weights *out, struct tw_err *err);

/* The sum over the variables. given NULL: nothing is known. */
double tw_category_weights_sum(const struct tw_category_weights *w,
			       const struct tw_categories *given);

void tw_category_weights_release(struct tw_category_weights *w);

#endif /* TW_ESTIMATOR_CATEGORIES_H */
