/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/boost.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/feature.h"
#include "trainer/fit/samples.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xgboost/c_api.h>

#define ROUNDS 100

static int check(int status, const char *what, struct tw_err *err)
{
	enum tw_code code = TW_INVALID;
	const char *text;

	if (status == 0)
		return 0;
	/* Take the first line; a stack trace follows. */
	text = XGBGetLastError();
	if (strstr(text, "std::bad_alloc") != NULL)
		code = TW_NOMEM;
	return tw_fail(err, code, "xgboost: %s: %.*s", what, (int)strcspn(text, "\n"),
		       text);
}

/* XGBoost computes with floats. */
static int make_matrix(const struct tw_samples *s, DMatrixHandle *out, struct tw_err *err)
{
	float *x = malloc(s->rows * s->cols * sizeof(*x));
	float *y = malloc(s->rows * sizeof(*y));
	DMatrixHandle matrix = NULL;
	int rc = -1;

	if (x == NULL || y == NULL) {
		tw_fail(err, TW_NOMEM, "xgboost: %zu x %zu samples", s->rows, s->cols);
		goto out;
	}
	for (size_t i = 0; i < s->rows * s->cols; i++)
		x[i] = (float)s->x[i];
	for (size_t i = 0; i < s->rows; i++)
		y[i] = (float)s->y[i];

	if (check(XGDMatrixCreateFromMat_omp(x, s->rows, s->cols, NAN, &matrix, 1),
		  "samples", err) < 0)
		goto out;
	if (check(XGDMatrixSetFloatInfo(matrix, "label", y, s->rows), "power", err) < 0)
		goto out;

	*out = matrix;
	matrix = NULL;
	rc = 0;
out:
	if (matrix != NULL)
		XGDMatrixFree(matrix);
	free(x);
	free(y);
	return rc;
}

static bool constant(const struct tw_samples *s)
{
	for (size_t i = 1; i < s->rows; i++)
		if (s->y[i] != s->y[0])
			return false;
	return true;
}

static double mean(const struct tw_samples *s)
{
	double sum = 0.0;

	for (size_t i = 0; i < s->rows; i++)
		sum += s->y[i] / (double)s->rows;
	return sum;
}

/* "(1,1,0)": power is monotone in the first two features, the third is unconstrained. */
static char *monotone_text(const struct tw_samples *s)
{
	struct tw_buf b = { 0 };

	for (size_t c = 0; c < s->cols; c++)
		tw_buf_addf(&b, "%s%d", c > 0 ? "," : "(",
			    tw_feature_find(s->features[c]) != NULL &&
				    tw_feature_is_work(s->features[c]));
	tw_buf_adds(&b, ")");
	return tw_buf_detach(&b, NULL);
}

static int set_monotone(BoosterHandle booster, const struct tw_samples *s,
			struct tw_err *err)
{
	char *text = monotone_text(s);
	int rc;

	if (text == NULL)
		return tw_fail(err, TW_NOMEM, "xgboost: %zu features", s->cols);
	rc = check(XGBoosterSetParam(booster, "monotone_constraints", text),
		   "monotone_constraints", err);
	free(text);
	return rc;
}

static int set_parameters(BoosterHandle booster, const struct tw_boost *how,
			  const struct tw_samples *s, uint64_t seed, struct tw_err *err)
{
	char base[32], seed_text[32];
	const char *const params[][2] = {
		{ "booster", "gbtree" },
		{ "objective", "reg:squarederror" },
		{ "tree_method", "exact" },
		{ "eta", "0.1" },
		{ "max_depth", how->max_depth },
		{ "lambda", how->lambda },
		{ "nthread", "1" },
		{ "verbosity", "0" },
		{ "base_score", base },
		{ "seed", seed_text },
	};

	snprintf(base, sizeof(base), "%.9g",
		 constant(s)      ? s->y[0]
		 : how->from_mean ? mean(s)
				  : how->start_w);
	snprintf(seed_text, sizeof(seed_text), "%u", (unsigned)(seed & 0x7fffffff));
	for (size_t i = 0; i < TW_COUNT(params); i++)
		if (check(XGBoosterSetParam(booster, params[i][0], params[i][1]),
			  params[i][0], err) < 0)
			return -1;
	return how->monotone ? set_monotone(booster, s, err) : 0;
}

static int boost(BoosterHandle booster, DMatrixHandle matrix, int rounds,
		 struct tw_err *err)
{
	for (int i = 0; i < rounds; i++)
		if (check(XGBoosterUpdateOneIter(booster, i, matrix), "boosting", err) <
		    0)
			return -1;
	return 0;
}

static int write_text(BoosterHandle booster, struct tw_buf *text, struct tw_err *err)
{
	const char *data;
	bst_ulong len;

	/* The booster owns the bytes until its next call. */
	if (check(XGBoosterSaveModelToBuffer(booster, "{\"format\":\"json\"}", &len,
					     &data),
		  "writing the model", err) < 0)
		return -1;
	tw_buf_add(text, data, len);
	if (tw_buf_failed(text))
		return tw_fail(err, TW_NOMEM, "xgboost: model of %zu bytes", (size_t)len);
	return 0;
}

int tw_boost(const struct tw_samples *s, const struct tw_boost *how, uint64_t seed,
	     struct tw_buf *text, struct tw_err *err)
{
	DMatrixHandle matrix = NULL;
	BoosterHandle booster = NULL;
	int rc = -1;

	if (tw_samples_check(s, TW_BOOST_ROWS_MIN, err) < 0)
		goto out;
	if (make_matrix(s, &matrix, err) < 0)
		goto out;
	if (check(XGBoosterCreate(&matrix, 1, &booster), "start", err) < 0)
		goto out;
	if (set_parameters(booster, how, s, seed, err) < 0)
		goto out;
	/* Constant power needs no tree, but some readers reject a model without trees. */
	if (boost(booster, matrix, constant(s) ? 1 : ROUNDS, err) < 0)
		goto out;
	if (write_text(booster, text, err) < 0)
		goto out;

	rc = 0;
out:
	if (booster != NULL)
		XGBoosterFree(booster);
	if (matrix != NULL)
		XGDMatrixFree(matrix);
	return rc;
}
