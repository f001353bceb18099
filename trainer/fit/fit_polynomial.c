/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"
#include "trainer/fit/design.h"
#include "trainer/fit/trainer.h"

#include <math.h>
#include <stdlib.h>

/*
 * A polynomial of degree 2 with interactions:
 *
 *	y = b + sum_j l_j z_j + sum_{j <= k} q_jk z_j z_k,    z_j = x_j / s_j
 *
 * with s_j the largest |x_j|. It is linear in its coefficients: the columns z_j and
 * z_j z_k are fitted by the ridge regression of trainer/fit/design.h, because the
 * products are many and nearly collinear.
 */

/* The decomposition of all products limits it: 560 columns take about a second. */
#define FEATURES_MAX 32
/* Products whose magnitude stays below this are dropped: their weights would be huge. */
#define PRODUCT_MIN 1e-9

struct polynomial {
	size_t cols; /* number of features */
	size_t terms;
	double *scale;  /* cols */
	double *weight; /* terms */
	double *x;      /* rows * terms */
};

/* Compute the terms of a row, in the order of the text. */
static void expand_row(const struct polynomial *p, const double *x, double *term)
{
	size_t t = p->cols;

	for (size_t j = 0; j < p->cols; j++)
		term[j] = x[j] / p->scale[j];
	for (size_t j = 0; j < p->cols; j++)
		for (size_t k = j; k < p->cols; k++)
			term[t++] = term[j] * term[k];
}

static void drop_small_products(struct polynomial *p, size_t rows)
{
	for (size_t t = p->cols; t < p->terms; t++) {
		double largest = 0.0;

		for (size_t r = 0; r < rows; r++)
			largest = fmax(largest, fabs(p->x[r * p->terms + t]));
		for (size_t r = 0; r < rows && largest < PRODUCT_MIN; r++)
			p->x[r * p->terms + t] = 0.0;
	}
}

static int polynomial_init(struct polynomial *p, const struct tw_samples *s,
			   struct tw_err *err)
{
	if (s->cols > FEATURES_MAX)
		return tw_fail(err, TW_INVALID, "polynomial of %zu features, limit is %d",
			       s->cols, FEATURES_MAX);
	p->cols = s->cols;
	p->terms = s->cols + s->cols * (s->cols + 1) / 2;
	if (TW_NEW(p->scale, p->cols, err) < 0 || TW_NEW(p->weight, p->terms, err) < 0 ||
	    tw_new(&p->x, s->rows, p->terms * sizeof(*p->x), err) < 0)
		return -1;
	for (size_t c = 0; c < s->cols; c++)
		p->scale[c] = tw_samples_scale(s, c, 0.0);
	for (size_t r = 0; r < s->rows; r++)
		expand_row(p, s->x + r * s->cols, p->x + r * p->terms);
	drop_small_products(p, s->rows);
	return 0;
}

static int write_text(const struct polynomial *p, double bias, struct tw_buf *text,
		      struct tw_err *err)
{
	if (!isfinite(bias))
		return tw_fail(err, TW_INVALID, "the constant is not finite");
	for (size_t t = 0; t < p->terms; t++)
		if (!isfinite(p->weight[t]))
			return tw_fail(err, TW_INVALID,
				       "the weight of term %zu is not finite", t);
	tw_buf_adds(text, "{\"polynomial\":{");
	tw_json_add_number(text, "bias", bias);
	tw_json_add_numbers(text, "scale", p->scale, p->cols);
	tw_json_add_numbers(text, "linear", p->weight, p->cols);
	tw_json_add_numbers(text, "quadratic", p->weight + p->cols, p->terms - p->cols);
	tw_buf_adds(text, "}}");
	return tw_buf_check(text, err);
}

static int fit_polynomial(const struct tw_trainer *self, const struct tw_samples *s,
			  uint64_t seed, struct tw_buf *text, struct tw_err *err)
{
	struct polynomial p = { 0 };
	struct tw_design design = { 0 };
	struct tw_samples expanded = *s;
	double bias;
	int rc = -1;

	(void)self;
	(void)seed;
	if (tw_samples_check(s, tw_trainer_polynomial.min_rows, err) < 0 ||
	    polynomial_init(&p, s, err) < 0)
		goto out;
	expanded.x = p.x;
	expanded.cols = p.terms;
	if (tw_design_init(&design, &expanded, err) < 0 ||
	    tw_design_solve_ridge(&design, p.weight, err) < 0)
		goto out;
	bias = tw_design_bias(&design, p.weight);
	for (size_t t = 0; t < p.terms; t++)
		p.weight[t] /= design.scale[t];
	if (write_text(&p, bias, text, err) < 0)
		goto out;

	rc = 0;
out:
	tw_design_release(&design);
	free(p.x);
	free(p.weight);
	free(p.scale);
	return rc;
}

const struct tw_trainer tw_trainer_polynomial = {
	.name = "PolynomialRegressionTrainer",
	.summary = "degree 2 with interactions, shrunk by cross validation",
	.predictor = "polynomial",
	.min_rows = 2,
	.cost_ns = 300,
	.fit = fit_polynomial,
};
