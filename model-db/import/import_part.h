/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_IMPORT_PART_H
#define TW_MODEL_DB_IMPORT_PART_H

/* Converts the components of kepler-model-server's models (docs/model-db.md, "Import").
 */

#include <jansson.h>

struct tw_err;
struct tw_model;

/*
 * Convert a component of weights JSON (linear, curve, or trees in base64) and add it to
 * the model, whose trainer, group and features are set. *predictor is the predictor that
 * reads it. TW_UNSUPPORTED names the unsupported part.
 */
int tw_import_weights_part(const json_t *component, const char *name, struct tw_model *m,
			   const char **predictor, struct tw_err *err);

/*
 * Convert XGBoost's JSON, which was fitted to value / scale: multiply each threshold by
 * its feature's scale. The scales are in the order of the model's features.
 */
int tw_import_trees_part(const char *text, size_t len, const double *scale,
			 const char *name, struct tw_model *m, struct tw_err *err);

/* Our name of a feature, in the same unit. NULL if unknown. */
const char *tw_import_feature(const char *name);

/* Read the scales of the features, in the model's order, from weights JSON. */
int tw_import_scales(const json_t *component, const struct tw_model *m, double *scale,
		     struct tw_err *err);

#endif /* TW_MODEL_DB_IMPORT_PART_H */
