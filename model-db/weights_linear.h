/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_WEIGHTS_LINEAR_H
#define TW_MODEL_DB_WEIGHTS_LINEAR_H

/*
 * The weights of a linear component, checked to be what no client stumbles over: a
 * number as bias, and for each feature a finite scale and weight. `mean` and `variance`
 * are written anew from the scale, since clients before 0.6 compute with them.
 */

#include <jansson.h>

struct tw_err;
struct tw_model_part;

/* {"All_Weights":{..}}. *out is yours: json_decref(). */
int tw_linear_read(const struct tw_model_part *p, json_t **out, struct tw_err *err);

/* Add a component's to a sum that starts as NULL: the weights of both together. */
int tw_linear_add(json_t **sum, const struct tw_model_part *p, struct tw_err *err);

#endif /* TW_MODEL_DB_WEIGHTS_LINEAR_H */
