/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/trainer.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/feature.h"
#include "trainer/fit/rest.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xgboost/c_api.h>

/*
 * Gradient boosted regression trees for squared error, by the XGBoost library: 100 trees,
 * each shrunk to a tenth, exact splits on raw feature values (T. Chen, C. Guestrin,
 * XGBoost: A Scalable Tree Boosting System, KDD 2016). The library gets one thread, so
 * that sums are in a fixed order and the text is reproducible.
 *
 * Power is monotone in features that are rates of work (tw_feature_is_work()). Anchors
 * keep it at the power at rest where there is no work: a quarter of the rows again,
 * without their work. Unconstrained samples have neither.
 */
#define ROUNDS 100
#define ROWS_MIN 2

struct boost {
	const char *max_depth;
	const char *lambda; /* L2 penalty on leaf values */
	bool from_mean;     /* start from the mean power, else from */
	double start_w;
	bool sampled; /* each tree grows on half of the rows */
};

/* Skip the place of an error: "[14:05:39] ./src/learner.cc:86: ". */
static const char *skip_place(const char *text)
{
	const char *end = text[0] == '[' ? strstr(text, ": ") : NULL;

	return end != NULL ? end + 2 : text;
}

static int check(int status, const char *what, struct tw_err *err)
{
	enum tw_code code = TW_INVALID;
	const char *text;

	if (status == 0)
		return 0;
	/* Take the first line; a stack trace follows. */
	text = skip_place(XGBGetLastError());
	if (strstr(text, "std::bad_alloc") != NULL)
		code = TW_NOMEM;
	return tw_fail(err, code, "xgboost: %s: %.*s", what, (int)strcspn(text, "\n"),
		       text);
}

/* ---- samples ---- */

/* Every fourth row again, at rest or just above: as heavy as a twentieth of the rows. */
#define ANCHOR_EVERY 4
#define ANCHOR_STEPS 4
#define ANCHOR_WEIGHT 0.2f

/* Whether a column counts work, in which power is monotone. */
static bool is_work(const struct tw_samples *s, size_t c)
{
	return tw_feature_find(s->features[c]) != NULL &&
	       tw_feature_is_work(s->features[c]);
}

/* XGBoost computes with floats. */
struct floats {
	size_t rows;
	float *x, *y, *weight;
};

static void floats_release(struct floats *f)
{
	free(f->x);
	free(f->y);
	free(f->weight);
}

static void add_row(struct floats *f, const struct tw_samples *s, size_t row)
{
	for (size_t c = 0; c < s->cols; c++)
		f->x[f->rows * s->cols + c] = (float)s->x[row * s->cols + c];
	f->y[f->rows] = (float)s->y[row];
	f->weight[f->rows++] = 1.0f;
}

/*
 * Add a row again with its load scaled to a share of the lowest loads. Power there is
 * interpolated from rest, so that it does not jump.
 */
static void add_anchor(struct floats *f, const struct tw_samples *s, size_t row,
		       double share, const struct tw_rest *rest)
{
	const double load = s->x[row * s->cols + rest->load];
	const double t = load > 0.0 ? fmin(share * rest->low_load / load, 1.0) : 0.0;
	const size_t at = f->rows;

	add_row(f, s, row);
	for (size_t c = 0; c < s->cols; c++)
		if (tw_feature_is_work(s->features[c]))
			f->x[at * s->cols + c] *= (float)t;
	f->y[at] = (float)(rest->watts + share * (rest->low_watts - rest->watts));
	f->weight[at] = ANCHOR_WEIGHT;
}

static int fill_floats(const struct tw_samples *s, struct floats *out, struct tw_err *err)
{
	const size_t most = 2 * s->rows + 1;
	struct tw_rest rest;

	out->x = malloc(most * s->cols * sizeof(*out->x));
	out->y = malloc(most * sizeof(*out->y));
	out->weight = malloc(most * sizeof(*out->weight));
	if (out->x == NULL || out->y == NULL || out->weight == NULL)
		return tw_fail(err, TW_NOMEM, "xgboost: %zu x %zu samples", s->rows,
			       s->cols);
	for (size_t r = 0; r < s->rows; r++)
		add_row(out, s, r);
	if (s->unconstrained)
		return 0;
	if (tw_rest_find(s, &rest, err) < 0)
		return -1;
	for (size_t r = 0; r < s->rows; r += ANCHOR_EVERY)
		add_anchor(out, s, r,
			   (double)(r / ANCHOR_EVERY % ANCHOR_STEPS) / ANCHOR_STEPS,
			   &rest);
	return 0;
}

static int make_matrix(const struct tw_samples *s, DMatrixHandle *out, struct tw_err *err)
{
	struct floats f = { 0 };
	DMatrixHandle matrix = NULL;
	int rc = -1;

	if (fill_floats(s, &f, err) < 0)
		goto out;
	if (check(XGDMatrixCreateFromMat_omp(f.x, f.rows, s->cols, NAN, &matrix, 1),
		  "samples", err) < 0)
		goto out;
	if (check(XGDMatrixSetFloatInfo(matrix, "label", f.y, f.rows), "power", err) <
		    0 ||
	    check(XGDMatrixSetFloatInfo(matrix, "weight", f.weight, f.rows), "weights",
		  err) < 0)
		goto out;

	*out = matrix;
	matrix = NULL;
	rc = 0;
out:
	if (matrix != NULL)
		XGDMatrixFree(matrix);
	floats_release(&f);
	return rc;
}

/* ---- parameters ---- */

struct power {
	double least, most, mean;
};

static struct power measure_power(const struct tw_samples *s)
{
	struct power p = { HUGE_VAL, -HUGE_VAL, 0.0 };

	for (size_t i = 0; i < s->rows; i++) {
		p.least = fmin(p.least, s->y[i]);
		p.most = fmax(p.most, s->y[i]);
		p.mean += s->y[i] / (double)s->rows;
	}
	return p;
}

/* "(1,1,0)": power is monotone in the first two features, the third is unconstrained. */
static char *monotone_text(const struct tw_samples *s)
{
	struct tw_buf b = { 0 };

	for (size_t c = 0; c < s->cols; c++)
		tw_buf_addf(&b, "%s%d", c > 0 ? "," : "(", is_work(s, c));
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

static int set_parameters(BoosterHandle booster, const struct boost *how,
			  const struct tw_samples *s, double start_w, uint64_t seed,
			  struct tw_err *err)
{
	char base[32], seed_text[32];
	const char *const params[][2] = {
		{ "booster", "gbtree" },
		{ "objective", "reg:squarederror" },
		{ "tree_method", "exact" },
		{ "eta", "0.1" },
		{ "max_depth", how->max_depth },
		{ "lambda", how->lambda },
		{ "subsample", how->sampled ? "0.5" : "1" },
		{ "nthread", "1" },
		{ "verbosity", "0" },
		{ "base_score", base },
		{ "seed", seed_text },
	};

	snprintf(base, sizeof(base), "%.9g", start_w);
	snprintf(seed_text, sizeof(seed_text), "%u", (unsigned)(seed & 0x7fffffff));
	for (size_t i = 0; i < TW_COUNT(params); i++)
		if (check(XGBoosterSetParam(booster, params[i][0], params[i][1]),
			  params[i][0], err) < 0)
			return -1;
	return s->unconstrained ? 0 : set_monotone(booster, s, err);
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
	return tw_buf_check(text, err);
}

/* Append the model in XGBoost's JSON. For constant power, trees start from that power. */
static int fit(const struct tw_trainer *t, const struct tw_samples *s, uint64_t seed,
	       struct tw_buf *text, struct tw_err *err)
{
	const struct boost *how = t->how;
	DMatrixHandle matrix = NULL;
	BoosterHandle booster = NULL;
	const struct power power = measure_power(s);
	const bool constant = power.least >= power.most;
	int rc = -1;

	if (tw_samples_check(s, ROWS_MIN, err) < 0 || make_matrix(s, &matrix, err) < 0)
		goto out;
	if (check(XGBoosterCreate(&matrix, 1, &booster), "start", err) < 0)
		goto out;
	if (set_parameters(booster, how, s,
			   constant         ? power.least
			   : how->from_mean ? power.mean
					    : how->start_w,
			   seed, err) < 0)
		goto out;
	/* Constant power needs no tree, but some readers reject a model without trees. */
	if (boost(booster, matrix, constant ? 1 : ROUNDS, err) < 0)
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

/*
 * Boosted trees as scikit-learn's GradientBoostingRegressor grows them by default (J. H.
 * Friedman, Greedy Function Approximation: A Gradient Boosting Machine, Annals of
 * Statistics 29(5), 2001): depth 3 at most, starting from the mean power, and leaves that
 * are the mean residual, without a penalty.
 */
static const struct boost shallow = {
	.max_depth = "3",
	.lambda = "0",
	.from_mean = true,
};

const struct tw_trainer tw_trainer_gradient_boosting = {
	.name = "GradientBoostingRegressorTrainer",
	.summary = "boosted trees, 100 of depth 3 (XGBoost)",
	.predictor = "xgboost",
	.min_rows = ROWS_MIN,
	.cost_ns = 22000,
	.how = &shallow,
	.fit = fit,
};

/*
 * Boosted trees of depth 6 at most. Trees start from 0.5 W, the default of XGBoost, as
 * those of kepler-model-server do. On nx12's data, the errors then equal those of
 * kepler-model-server to 0.1 %; starting from the mean power, they are 1.6 % higher.
 */
static const struct boost deep = {
	.max_depth = "6",
	.lambda = "1",
	.start_w = 0.5,
};

const struct tw_trainer tw_trainer_xgboost = {
	.name = "XgboostFitTrainer",
	.summary = "boosted trees, 100 of depth 6 (XGBoost)",
	.predictor = "xgboost",
	.min_rows = ROWS_MIN,
	.cost_ns = 35000,
	.how = &deep,
	.fit = fit,
};

static const struct boost from_mean = { .max_depth = "6",
					.lambda = "1",
					.from_mean = true };

const struct tw_trainer tw_trainer_auto_boost = {
	"boosted trees, rising with each feature", .predictor = "xgboost",
	.min_rows = ROWS_MIN, .how = &from_mean, .fit = fit
};

/*
 * J. H. Friedman, Stochastic Gradient Boosting, Computational Statistics & Data Analysis
 * 38, 2002.
 */
static const struct boost sampled = {
	.max_depth = "6", .lambda = "1", .from_mean = true, .sampled = true
};

const struct tw_trainer tw_trainer_sampled_boost = { "boosted trees, sampled rows",
						     .predictor = "xgboost",
						     .min_rows = ROWS_MIN,
						     .how = &sampled, .fit = fit };
