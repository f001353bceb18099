/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_POWER_MODEL_H
#define TW_ESTIMATOR_POWER_MODEL_H

/*
 * A model ready to predict: every component of it loaded into its predictor.
 * Immutable; may be used from several threads.
 */

#include "estimator/predict/predictor.h"
#include "lib/field/energy.h"
#include "model-db/model.h"

struct tw_power_model;

/* Takes the value (m is all zero afterwards, even on failure). *out is yours. */
int tw_power_model_new(struct tw_model *m, struct tw_power_model **out,
		       struct tw_err *err);

/* Without taking it: m and all that it owns must outlive *out. */
int tw_power_model_borrow(const struct tw_model *m, struct tw_power_model **out,
			  struct tw_err *err);

/* From a directory or a zip file. */
int tw_power_model_load(const char *path, struct tw_power_model **out,
			struct tw_err *err);

void tw_power_model_free(struct tw_power_model *p); /* NULL is fine */

/* What the model says of itself. Lives as long as the model. */
const struct tw_model_info *tw_power_model_info(const struct tw_power_model *p);

/* Its components, in the order of the model. */
size_t tw_power_model_parts(const struct tw_power_model *p);
enum tw_component tw_power_model_component(const struct tw_power_model *p, size_t part);

/*
 * Where the features of a part are among names: place[] for struct tw_rows, which
 * has info->features.count places at least. Fails with TW_NOTFOUND naming the first that
 * is missing.
 */
int tw_power_model_bind(const struct tw_power_model *p, size_t part,
			const struct tw_strs *names, uint32_t *place, struct tw_err *err);

/* Watts of one part for each row. Negative predictions are 0. */
void tw_power_model_predict(const struct tw_power_model *p, size_t part,
			    const struct tw_rows *in, double *watts);

/* How many rows of a series before a row the model looks at: 0, it takes rows alone. */
size_t tw_power_model_back(const struct tw_power_model *p);

/* About how long a row takes, all parts. */
uint64_t tw_power_model_row_ns(const struct tw_power_model *p);

/*
 * A figure of a part's validation: "mae", "p95", .. (docs/accuracy.md). NaN where the
 * metadata has none.
 */
double tw_power_model_figure(const struct tw_power_model *p, size_t part,
			     const char *name);

/*
 * Set outside[r] to 1 for each row with a feature below or above all that the part was
 * trained on; others stay as they are. What is missing is not outside, nor is anything
 * where the model does not say.
 */
void tw_power_model_mark_outside(const struct tw_power_model *p, size_t part,
				 const struct tw_rows *in, unsigned char *outside);

/*
 * A feature of a part, from 0; NULL behind the last. *min and *max are the least and the
 * most of it that the part was trained on; NaN where the model does not say.
 */
const char *tw_power_model_range(const struct tw_power_model *p, size_t part, size_t i,
				 double *min, double *max);

#endif /* TW_ESTIMATOR_POWER_MODEL_H */
