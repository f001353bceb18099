/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_POWER_MODEL_H
#define TW_ESTIMATOR_POWER_MODEL_H

/*
 * A model whose components are loaded into its predictor. Immutable; may be used from
 * several threads. A part is a component of the model, counted from 0.
 */

#include "estimator/predict/predictor.h"
#include "lib/field/energy.h"
#include "model-db/model.h"

struct tw_power_model;

/* m is taken: all zero afterwards, even on failure. *out is yours. */
int tw_power_model_new(struct tw_model *m, struct tw_power_model **out,
		       struct tw_err *err);

/* m is borrowed and must outlive *out. */
int tw_power_model_borrow(const struct tw_model *m, struct tw_power_model **out,
			  struct tw_err *err);

/* Load a model from a directory or a zip file. */
int tw_power_model_load(const char *path, struct tw_power_model **out,
			struct tw_err *err);

void tw_power_model_free(struct tw_power_model *p); /* NULL is fine */

/* The metadata of the model. Lives as long as the model. */
const struct tw_model_info *tw_power_model_info(const struct tw_power_model *p);

/* The number of components, and a component in the order of the model. */
size_t tw_power_model_parts(const struct tw_power_model *p);
enum tw_component tw_power_model_component(const struct tw_power_model *p, size_t part);

/*
 * Find the features of a part among names. Sets place[], with room for at least
 * info->features.count entries, for struct tw_rows. TW_NOTFOUND names a missing feature.
 */
int tw_power_model_bind(const struct tw_power_model *p, size_t part,
			const struct tw_strs *names, uint32_t *place, struct tw_err *err);

/*
 * Predict the watts of a part for each row. A negative prediction becomes 0; a row with a
 * feature below 0 has NaN.
 */
void tw_power_model_predict(const struct tw_power_model *p, size_t part,
			    const struct tw_rows *in, double *watts);

/* The same without the limit at 0 W: as clients compute that evaluate weights. */
void tw_power_model_predict_raw(const struct tw_power_model *p, size_t part,
				const struct tw_rows *in, double *watts);

/* The number of earlier rows of a series that the model uses; 0: none. */
size_t tw_power_model_back(const struct tw_power_model *p);

/*
 * The cores of a machine / those of the machine that the model was trained on; 1 if one
 * is unknown, as docs/wire.md requires.
 */
double tw_power_model_core_ratio(const struct tw_power_model *p, uint32_t cores);

/* The time between these rows, in ms; 0 if the model uses none. */
double tw_power_model_step_ms(const struct tw_power_model *p);

/* Estimated time to predict all parts of a row, in ns. */
uint64_t tw_power_model_row_ns(const struct tw_power_model *p);

/*
 * The mean absolute error to expect of each answer, in W, and the half-width of its 95 %
 * interval, from the errors of held-out rows (docs/accuracy.md, "Intervals"). watts are
 * those predicted for the same rows. NaN: unknown. Rows outside the training ranges get
 * the error of the nearest rows in it.
 */
void tw_power_model_errors(const struct tw_power_model *p, size_t part,
			   const struct tw_rows *in, const double *watts,
			   double *expected_w, double *half_w);

/*
 * An error figure of a part: "mae", "p95", .. (docs/accuracy.md). NaN if the metadata has
 * none.
 */
double tw_power_model_figure(const struct tw_power_model *p, size_t part,
			     const char *name);

/*
 * Set outside[r] to 1 for each row with a feature outside its training range; leave the
 * other entries unchanged. A missing feature is inside, and so is every feature if the
 * model has no training ranges.
 */
void tw_power_model_mark_outside(const struct tw_power_model *p, size_t part,
				 const struct tw_rows *in, unsigned char *outside);

/*
 * The name of feature i of a part; NULL if i is out of range. *min and *max are the ends
 * of its training range; NaN if the model has none.
 */
const char *tw_power_model_range(const struct tw_power_model *p, size_t part, size_t i,
				 double *min, double *max);

/*
 * The power that a model predicts from rest to its largest training load: its features of
 * work are multiplied by factors from 0 to 1, together; others, such as a clock
 * frequency, keep their largest value.
 */
#define TW_LOAD_CURVE_POINTS 33

struct tw_load_curve {
	enum tw_component component;
	double watts[TW_LOAD_CURVE_POINTS];
	/* Half-width of the 95 % interval of each point; NaN: unknown. */
	double half_w[TW_LOAD_CURVE_POINTS];
};

/* The share of the largest load at a point: 0 to 1. */
double tw_load_curve_share(size_t point);

/*
 * The curve of a part. TW_NOTFOUND: the model has no training ranges, so its largest load
 * is unknown.
 */
int tw_load_curve(const struct tw_power_model *p, size_t part, struct tw_load_curve *out,
		  struct tw_err *err);

#endif /* TW_ESTIMATOR_POWER_MODEL_H */
