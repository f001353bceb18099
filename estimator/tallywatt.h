/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TALLYWATT_H
#define TALLYWATT_H

/*
 * libtallywatt: estimates the power of a machine or a workload with a power model, in the
 * calling process.
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
 * A model predicts the power of each of its components from its features, which are rates
 * in the units of docs/wire.md, "Features" (events/s, ms/s). A model is immutable; any
 * number of threads may use it. Predicting neither allocates nor takes locks.
 *
 * The library does not print, exit or change the state of the process. Names and argument
 * types of functions do not change within a version of the shared object
 * (libtallywatt.so.0); additions get new names.
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

/* Bytes that hold every error text. */
#define TALLYWATT_ERROR_SIZE 512
/* The most components that a model can have. */
#define TALLYWATT_COMPONENTS_MAX 8

struct tallywatt_model;

/* The version of the library: "0.1.0". */
TALLYWATT_API const char *tallywatt_version(void);

/*
 * Read a model from its zip or its directory (docs/model-format.md). Files are untrusted.
 * Returns NULL if the model cannot be read, with the reason, one line, in error; error
 * may be NULL.
 */
TALLYWATT_API struct tallywatt_model *tallywatt_open(const char *path, char *error,
						     size_t error_size);

/*
 * Read the best model of a database (docs/model-db.md, "Choice") that needs only these
 * features. output: "AbsPower" (a node, with idle power) or "DynPower" (a workload, above
 * idle). source: the energy source of the training, "rapl-sysfs", "acpi", ..; NULL:
 * rapl-sysfs. If a model cannot be read, the next best is tried. If the database has a
 * prior of machines (docs/machines.md) that knows this machine's processor, its model is
 * made, with the features of CPU time.
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
/* Logical processors of the training machine; 0: unknown. */
TALLYWATT_API unsigned tallywatt_cores(const struct tallywatt_model *m);

/* The features of a row, in order. NULL if i is out of range. */
TALLYWATT_API size_t tallywatt_feature_count(const struct tallywatt_model *m);
TALLYWATT_API const char *tallywatt_feature(const struct tallywatt_model *m, size_t i);

/* "package", "core", "uncore", "dram", "platform" or "gpu". NULL if i is out of range. */
TALLYWATT_API size_t tallywatt_component_count(const struct tallywatt_model *m);
TALLYWATT_API const char *tallywatt_component(const struct tallywatt_model *m, size_t i);

/*
 * Errors of a component on rows outside the training set, in W (docs/accuracy.md): the
 * mean and the 95th percentile of |error|. NaN: unknown.
 */
TALLYWATT_API double tallywatt_mean_error(const struct tallywatt_model *m,
					  size_t component);
TALLYWATT_API double tallywatt_error_95(const struct tallywatt_model *m,
					size_t component);

/*
 * Predict `rows` rows. Feature f of row r is x[r * stride + f]; NaN: unknown. The power
 * of component c of row r, in W and never negative, is written to watts[c * rows + r];
 * it is NaN if a feature of the row is below 0. watts has component_count * rows
 * elements. stride is at least feature_count. Returns -1 for an invalid argument.
 */
TALLYWATT_API int tallywatt_predict(const struct tallywatt_model *m, const double *x,
				    size_t rows, size_t stride, double *watts);

/*
 * The same with categories, which hold for all rows: names[i], such as
 * "cpu_architecture", has the value values[i], such as "Sandy Bridge". Models without
 * weights of categories ignore them.
 */
TALLYWATT_API int tallywatt_predict_known(const struct tallywatt_model *m,
					  const char *const *names,
					  const char *const *values, size_t count,
					  const double *x, size_t rows, size_t stride,
					  double *watts);

/*
 * The error to expect of each answer, in W (docs/accuracy.md, "Intervals"), for rows and
 * their predicted watts, which tallywatt_predict() wrote. The mean of |error| of rows
 * like row r goes to expected[c * rows + r], and the half-width of an interval that
 * contains the measured power of 95 % of rows to half_width[c * rows + r]; NaN: unknown.
 * Rows that tallywatt_extrapolated() marks may have larger errors. Returns -1 for an
 * invalid argument.
 */
TALLYWATT_API int tallywatt_errors(const struct tallywatt_model *m, const double *x,
				   size_t rows, size_t stride, const double *watts,
				   double *expected, double *half_width);

/*
 * The number of earlier rows of a series that the model uses for a better estimate. 0:
 * the model predicts each row by itself.
 */
TALLYWATT_API size_t tallywatt_back(const struct tallywatt_model *m);

/*
 * A series: the rows of one machine or workload over time. For one thread at a time; m
 * must outlive it. tallywatt_series_new() returns NULL without memory.
 */
struct tallywatt_series;

TALLYWATT_API struct tallywatt_series *
tallywatt_series_new(const struct tallywatt_model *m);
TALLYWATT_API void tallywatt_series_free(struct tallywatt_series *s); /* NULL is fine */

/*
 * Predict the next row, x[feature_count], at a time in ms, into watts[component_count].
 * The model uses the earlier rows whose distance is about the step that it was trained
 * with. A row of the same time replaces the last one; a row of an earlier time restarts
 * the series. Returns -1 if an argument is NULL.
 */
TALLYWATT_API int tallywatt_series_predict(struct tallywatt_series *s, int64_t time_ms,
					   const double *x, double *watts);

/*
 * tallywatt_errors() of the newest row of the series, whose predicted watts are
 * watts[component_count]; expected and half_width have as many elements. Returns -1 if an
 * argument is NULL or the series has no row.
 */
TALLYWATT_API int tallywatt_series_errors(const struct tallywatt_series *s,
					  const double *watts, double *expected,
					  double *half_width);

/*
 * Count the rows for which the model extrapolates: a feature is outside its training
 * range. outside[rows], if not NULL, is set to 1 for those rows and to 0 for the others.
 */
TALLYWATT_API size_t tallywatt_extrapolated(const struct tallywatt_model *m,
					    const double *x, size_t rows, size_t stride,
					    unsigned char *outside);

#ifdef __cplusplus
}
#endif

#endif /* TALLYWATT_H */
