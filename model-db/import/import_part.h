/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_IMPORT_PART_H
#define TW_MODEL_DB_IMPORT_PART_H

/*
 * Components of kepler-model-server's models in our form (docs/model-db.md, "Import").
 * For model-db/import*.c only.
 */

#include <jansson.h>

struct tw_err;
struct tw_model;

/*
 * A linear or curve component, or trees in base64, from what stands under its name in
 * weights JSON: adds a part to the model, whose trainer, group and features are set.
 * *predictor is what reads it. TW_UNSUPPORTED says what cannot be taken.
 */
int tw_import_weights_part(const json_t *component, const char *name, struct tw_model *m,
			   const char **predictor, struct tw_err *err);

/*
 * Trees as XGBoost wrote them, fitted to values / scale: thresholds become those of raw
 * values. The scales are those of the model's features, in order.
 */
int tw_import_trees_part(const char *text, size_t len, const double *scale,
			 const char *name, struct tw_model *m, struct tw_err *err);

/* Our name for a feature, and the factor from its unit to ours. NULL: not known. */
const char *tw_import_feature(const char *name, double *factor);

/* The scales of the features, in the model's order, from a component's weights. */
int tw_import_scales(const json_t *component, const struct tw_model *m, double *scale,
		     struct tw_err *err);

#endif /* TW_MODEL_DB_IMPORT_PART_H */
