/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLYWATT_H
#define TALLYWATT_H

/*
 * libtallywatt: watts from a power model, in the process that asks.
 *
 *	char why[TALLYWATT_ERROR_SIZE];
 *	double x[] = { 1000, 50 }, watts[TALLYWATT_COMPONENTS_MAX];
 *	struct tallywatt_model *m;
 *
 *	m = tallywatt_open("XgboostFitTrainer_0.zip", why, sizeof(why));
 *	if (m == NULL || tallywatt_predict(m, x, 1, 2, watts) < 0)
 *		..
 *	tallywatt_close(m);
 *
 * A model predicts the power of each of its components from its features: rates, in the
 * units of docs/wire.md, "Features" (events/s, ms/s). It is immutable: any number of
 * threads may use one. Predicting neither allocates nor takes locks.
 *
 * Nothing here prints, exits, or changes the process' state. The functions, their names
 * and the types of their arguments stay as they are within a version of the shared object
 * (libtallywatt.so.0); what is added gets a new name.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TALLYWATT_API __attribute__((visibility("default")))
#else
#define TALLYWATT_API
#endif

/* Room for every reason that is given. */
#define TALLYWATT_ERROR_SIZE 512
/* No model has more components. */
#define TALLYWATT_COMPONENTS_MAX 8

struct tallywatt_model;

/* "0.1.0". */
TALLYWATT_API const char *tallywatt_version(void);

/*
 * A model from its zip or from its directory (docs/model-format.md). Files are not
 * trusted. NULL where it cannot be read; the reason, one line, is then in error, if that
 * is not NULL.
 */
TALLYWATT_API struct tallywatt_model *tallywatt_open(const char *path, char *error,
						     size_t error_size);

/*
 * The best model of a database (docs/model-db.md, "Choice") for who can measure these
 * features. output: "AbsPower" (a node, idle power included) or "DynPower" (a workload,
 * above idle). source: who measured it, "rapl-sysfs", "acpi", ..; NULL: rapl-sysfs.
 * A model that cannot be read makes room for the next best.
 */
TALLYWATT_API struct tallywatt_model *
tallywatt_open_best(const char *database, const char *output, const char *source,
		    const char *const *features, size_t count, char *error,
		    size_t error_size);

TALLYWATT_API void tallywatt_close(struct tallywatt_model *m); /* NULL is fine */

/* Texts live as long as the model. */
TALLYWATT_API const char *tallywatt_name(const struct tallywatt_model *m);
TALLYWATT_API const char *tallywatt_output(const struct tallywatt_model *m);
TALLYWATT_API const char *tallywatt_source(const struct tallywatt_model *m);
/* Logical processors of the machine that it was trained on; 0: unknown. */
TALLYWATT_API unsigned tallywatt_cores(const struct tallywatt_model *m);

/* What a row consists of, in order. NULL beyond the last. */
TALLYWATT_API size_t tallywatt_feature_count(const struct tallywatt_model *m);
TALLYWATT_API const char *tallywatt_feature(const struct tallywatt_model *m, size_t i);

/* What it predicts: "package", "core", "uncore", "dram", "platform". NULL beyond. */
TALLYWATT_API size_t tallywatt_component_count(const struct tallywatt_model *m);
TALLYWATT_API const char *tallywatt_component(const struct tallywatt_model *m, size_t i);

/*
 * Errors of a component on rows that the model had not seen, in W (docs/accuracy.md):
 * the mean of |error|, and what 95 % of |error| are below. NaN: not known.
 */
TALLYWATT_API double tallywatt_mean_error(const struct tallywatt_model *m,
					  size_t component);
TALLYWATT_API double tallywatt_error_95(const struct tallywatt_model *m,
					size_t component);

/*
 * Row r has its feature f at x[r * stride + f]; NaN: not known. Component c of row r, in
 * W and not negative, goes to watts[c * rows + r]: component_count * rows places.
 * stride is feature_count at least. -1 where an argument is none of these.
 */
TALLYWATT_API int tallywatt_predict(const struct tallywatt_model *m, const double *x,
				    size_t rows, size_t stride, double *watts);

/*
 * The same with what is known that is no number, the same for all rows: names[i] has
 * values[i], "cpu_architecture" has "Sandy Bridge". Models that have weights for such
 * categories use them, others leave them alone.
 */
TALLYWATT_API int tallywatt_predict_known(const struct tallywatt_model *m,
					  const char *const *names,
					  const char *const *values, size_t count,
					  const double *x, size_t rows, size_t stride,
					  double *watts);

/*
 * How many rows of a series before a row the model looks at, for better watts. 0: it
 * takes each row by itself, in a series too.
 */
TALLYWATT_API size_t tallywatt_back(const struct tallywatt_model *m);

/*
 * A series: rows of one machine or workload as time goes by. Not for several threads at
 * once; m must outlive it. NULL without memory.
 */
struct tallywatt_series;

TALLYWATT_API struct tallywatt_series *
tallywatt_series_new(const struct tallywatt_model *m);
TALLYWATT_API void tallywatt_series_free(struct tallywatt_series *s); /* NULL is fine */

/*
 * Watts of the next row, x[feature_count], at a time in ms: watts[component_count]. Rows
 * that came before at about the step that the model was trained with are looked back at.
 * A row of the same time takes the place of the last one; one from before it begins the
 * series anew. -1 where an argument is NULL.
 */
TALLYWATT_API int tallywatt_series_predict(struct tallywatt_series *s, int64_t time_ms,
					   const double *x, double *watts);

/*
 * How many of the rows have a feature beyond what the model was trained on: there it
 * extrapolates. outside[rows], if not NULL, is 1 for those and 0 for others.
 */
TALLYWATT_API size_t tallywatt_extrapolated(const struct tallywatt_model *m,
					    const double *x, size_t rows, size_t stride,
					    unsigned char *outside);

#ifdef __cplusplus
}
#endif

#endif /* TALLYWATT_H */
