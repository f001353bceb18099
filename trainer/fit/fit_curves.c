/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "trainer/fit/trainer.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/field/feature.h"
#include "lib/json/writer.h"
#include "model-db/curve.h"
#include "trainer/fit/rest.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stdlib.h>

/* GSL needs at least as many rows as parameters. */
#define ROWS_MIN 2
#define PARAMS_MAX 2

struct shape_param {
	double low, high;
	double start[4]; /* start values, within the bounds */
	size_t starts;
};

/* A rising curve of the component's main feature. */
struct shape {
	const char *curve; /* name in model-db/curve.h */
	struct shape_param param[PARAMS_MAX];
	size_t params;
	/* The shape at x, 0 to 1; rises with x. */
	double (*value)(const double *param, double x);
	/* Get the weights of the curve for watts = height * value + base. */
	void (*weights)(const double *param, double height, double base, double *weight);
};

/*
 *	minimise over p  sum over rows (y - h v(p, x) - b)^2,   h >= 0,  low <= p <= high
 *
 * Linear least squares gives h and b for each p (variable projection: G. H. Golub,
 * V. Pereyra, SIAM J. Numer. Anal. 10(2), 1973). Levenberg-Marquardt (GSL) searches p
 * from several starts. The substitution
 *
 *	p = low + (high - low) (1 + sin t) / 2
 *
 * keeps the bounds; t is unconstrained. x is the feature divided by its largest value,
 * and y the power divided by its largest magnitude, so that bounds and tolerances have no
 * unit.
 */
struct problem {
	size_t rows;
	double *x, *y, *v; /* rows each; v is work space */
	double scale, y_scale;
	const struct tw_rest *rest; /* the interval of the power at 0; NULL: any */
	const struct shape *shape;
};

struct solution {
	const struct shape *shape;
	double param[PARAMS_MAX];
	double height, base, square;
};

#define ITERATIONS 60
#define TOLERANCE 1e-9

static int problem_init(struct problem *p, const struct tw_samples *s, size_t column,
			struct tw_err *err)
{
	p->rows = s->rows;
	if (TW_NEW(p->x, 3 * s->rows, err) < 0)
		return -1;
	p->y = p->x + s->rows;
	p->v = p->y + s->rows;
	for (size_t r = 0; r < s->rows; r++) {
		p->x[r] = fmax(s->x[r * s->cols + column], 0.0);
		p->scale = fmax(p->scale, p->x[r]);
		p->y_scale = fmax(p->y_scale, fabs(s->y[r]));
	}
	/* The inverse of a smaller scale is not finite. */
	p->scale = p->scale > 1e-300 ? p->scale : 1.0;
	p->y_scale = p->y_scale > 1e-300 ? p->y_scale : 1.0;
	for (size_t r = 0; r < s->rows; r++) {
		p->x[r] /= p->scale;
		p->y[r] = s->y[r] / p->y_scale;
	}
	return 0;
}

/*
 * If the curve at 0 is outside of the interval of the power at rest, set it to the
 * nearest end. The height is then that of least squares through this point.
 */
static void limit_start(const struct problem *p, struct solution *s)
{
	const double v = p->shape->value(s->param, 0.0);
	const double start = s->base + s->height * v;
	double limited, vv = 0.0, vy = 0.0;

	if (p->rest == NULL)
		return;
	limited = tw_rest_limit(p->rest, start * p->y_scale) / p->y_scale;
	if (!(limited < start || limited > start))
		return;
	for (size_t r = 0; r < p->rows; r++) {
		const double d = p->v[r] - v;

		vv += d * d;
		vy += d * (p->y[r] - limited);
	}
	s->height = vv > 1e-20 * (double)p->rows && vy > 0.0 ? vy / vv : 0.0;
	s->base = limited - s->height * v;
}

/* Get height, base and squared error for the parameters. Sets p->v. */
static void project(const struct problem *p, struct solution *s)
{
	const double n = (double)p->rows;
	double v_mean = 0.0, y_mean = 0.0, vv = 0.0, vy = 0.0;

	for (size_t r = 0; r < p->rows; r++) {
		p->v[r] = p->shape->value(s->param, p->x[r]);
		v_mean += p->v[r] / n;
		y_mean += p->y[r] / n;
	}
	for (size_t r = 0; r < p->rows; r++) {
		const double d = p->v[r] - v_mean;

		vv += d * d;
		vy += d * (p->y[r] - y_mean);
	}
	s->height = vv > 1e-20 * n && vy > 0.0 ? vy / vv : 0.0;
	s->base = y_mean - s->height * v_mean;
	limit_start(p, s);
	s->square = 0.0;
	for (size_t r = 0; r < p->rows; r++) {
		const double d = p->y[r] - s->base - s->height * p->v[r];

		s->square += d * d;
	}
}

static void bound(const struct shape *shape, const gsl_vector *t, double *param)
{
	for (size_t i = 0; i < shape->params; i++) {
		const struct shape_param *q = &shape->param[i];

		param[i] = q->low +
			   (q->high - q->low) * (1.0 + sin(gsl_vector_get(t, i))) / 2.0;
	}
}

static int residuals(const gsl_vector *t, void *arg, gsl_vector *f)
{
	const struct problem *p = arg;
	struct solution s = { 0 };

	bound(p->shape, t, s.param);
	project(p, &s);
	for (size_t r = 0; r < p->rows; r++)
		gsl_vector_set(f, r, s.height * p->v[r] + s.base - p->y[r]);
	return GSL_SUCCESS;
}

/* Search from one start. If GSL gives up, the last position is still a candidate. */
static void descend(const struct problem *p, gsl_multifit_nlinear_workspace *w,
		    const double *start, struct solution *best)
{
	gsl_multifit_nlinear_fdf problem = {
		.f = residuals,
		.n = p->rows,
		.p = p->shape->params,
		.params = (void *)(uintptr_t)p,
	};
	double room[PARAMS_MAX];
	gsl_vector_view t = gsl_vector_view_array(room, p->shape->params);
	struct solution s = { .shape = p->shape };
	int info;

	for (size_t i = 0; i < p->shape->params; i++) {
		const struct shape_param *q = &p->shape->param[i];

		room[i] = asin(2.0 * (start[i] - q->low) / (q->high - q->low) - 1.0);
	}
	if (gsl_multifit_nlinear_init(&t.vector, &problem, w) != GSL_SUCCESS)
		return;
	gsl_multifit_nlinear_driver(ITERATIONS, TOLERANCE, TOLERANCE, 0.0, NULL, NULL,
				    &info, w);
	bound(p->shape, gsl_multifit_nlinear_position(w), s.param);
	project(p, &s);
	if (s.square < best->square)
		*best = s;
}

static int try_starts(struct problem *p, struct solution *best, struct tw_err *err)
{
	const gsl_multifit_nlinear_parameters how =
		gsl_multifit_nlinear_default_parameters();
	const struct shape *shape = p->shape;
	const struct shape_param *second = &shape->param[1];
	const size_t inner = shape->params > 1 ? second->starts : 1;
	gsl_multifit_nlinear_workspace *w = gsl_multifit_nlinear_alloc(
		gsl_multifit_nlinear_trust, &how, p->rows, shape->params);

	if (w == NULL)
		return tw_fail(err, TW_NOMEM, "curve through %zu rows", p->rows);
	for (size_t i = 0; i < shape->param[0].starts; i++)
		for (size_t j = 0; j < inner; j++)
			descend(p, w,
				(double[]){ shape->param[0].start[i], second->start[j] },
				best);
	gsl_multifit_nlinear_free(w);
	return 0;
}

/* Start from the constant, which every shape includes. */
static void start_level(const struct problem *p, struct solution *s)
{
	s->shape = p->shape;
	for (size_t i = 0; i < p->shape->params; i++)
		s->param[i] = p->shape->param[i].start[0];
	project(p, s);
}

static int write_text(const struct problem *p, const struct solution *s,
		      const char *feature, struct tw_buf *text, struct tw_err *err)
{
	const struct tw_curve_kind *kind = tw_curve_kind_find(s->shape->curve);
	double weight[TW_CURVE_WEIGHTS_MAX];

	s->shape->weights(s->param, s->height * p->y_scale, s->base * p->y_scale, weight);
	tw_buf_addf(text, "{\"curve\":\"%s\",\"All_Weights\":{", kind->name);
	tw_buf_adds(text, "\"Categorical_Variables\":{},\"Numerical_Variables\":{");
	tw_json_add_object(text, feature);
	tw_json_add_number(text, "scale", p->scale);
	tw_buf_adds(text, "}},\"CurveFit_Weights\":[");
	for (size_t i = 0; i < kind->weights; i++) {
		if (!isfinite(weight[i]))
			return tw_fail(err, TW_INVALID, "weight %zu is not finite", i);
		tw_buf_adds(text, i > 0 ? "," : "");
		tw_buf_add_double(text, weight[i]);
	}
	tw_buf_adds(text, "]}}");
	return tw_buf_check(text, err);
}

/*
 * Append the text of the shape with the least error. The curve never falls: a negative
 * height becomes 0. Its power at 0 is in the interval of the power at rest
 * (trainer/fit/rest.h), unless the samples are unconstrained.
 */
static int fit(const struct tw_trainer *t, const struct tw_samples *s, uint64_t seed,
	       struct tw_buf *text, struct tw_err *err)
{
	struct problem p = { .shape = t->how };
	struct solution best = { 0 };
	struct tw_rest rest;
	size_t column;
	int rc = -1;

	(void)seed;
	if (tw_samples_check(s, ROWS_MIN, err) < 0)
		goto out;
	column = tw_main_feature(s->features, s->cols, s->component);
	if (problem_init(&p, s, column, err) < 0)
		goto out;
	if (!s->unconstrained) {
		if (tw_rest_find(s, &rest, err) < 0)
			goto out;
		p.rest = &rest;
	}
	start_level(&p, &best);
	for (const struct shape *shape = t->how; shape->curve != NULL; shape++) {
		p.shape = shape;
		if (try_starts(&p, &best, err) < 0)
			goto out;
	}
	if (write_text(&p, &best, s->features[column], text, err) < 0)
		goto out;

	rc = 0;
out:
	free(p.x);
	return rc;
}

/*
 * watts = a exp(b x) + c, as Kepler computes it (docs/wire.md, "Weights"). The curve
 * rises, so a and b have the same sign: positive if power grows faster than load,
 * negative if it levels off. The shape is (exp(b x) - 1) / b, which approaches x for
 * small b. The parameter is ln |b|.
 */
static double exponential(double b, double x)
{
	return expm1(b * x) / b;
}

static double steeper(const double *param, double x)
{
	return exponential(exp(param[0]), x);
}

static double flatter(const double *param, double x)
{
	return exponential(-exp(param[0]), x);
}

static void exponential_weights(double b, double height, double base, double *weight)
{
	weight[0] = height / b;
	weight[1] = b;
	weight[2] = base - height / b;
}

static void weights_steeper(const double *param, double height, double base,
			    double *weight)
{
	exponential_weights(exp(param[0]), height, base, weight);
}

static void weights_flatter(const double *param, double height, double base,
			    double *weight)
{
	exponential_weights(-exp(param[0]), height, base, weight);
}

/* |b| from 0.001 to 20. */
static const struct shape exponentials[] = {
	{ "exponential",
	  { { -6.9, 3.0, { -2.3, 0, 1.6 }, 3 } },
	  1,
	  steeper,
	  weights_steeper },
	{ "exponential",
	  { { -6.9, 3.0, { -2.3, 0, 1.6 }, 3 } },
	  1,
	  flatter,
	  weights_flatter },
	{ .curve = NULL },
};

const struct tw_trainer tw_trainer_exponential = {
	.name = "ExponentialRegressionTrainer",
	.summary = "a exp(b x) + c of the main feature",
	.predictor = "curvefit",
	.min_rows = ROWS_MIN,
	.cost_ns = 6200,
	.how = exponentials,
	.fit = fit,
};

/*
 * watts = a ln(b x + 1) + c, as Kepler computes it (docs/wire.md, "Weights"), a and b
 * not negative: power that rises ever more slowly. The parameter of the shape is ln b.
 *
 */
static double logarithmic_value(const double *param, double x)
{
	return log1p(exp(param[0]) * x);
}

static void logarithmic_weights(const double *param, double height, double base,
				double *weight)
{
	weight[0] = height;
	weight[1] = exp(param[0]);
	weight[2] = base;
}

/* b from 0.001 to 1e6. */
static const struct shape logarithmics[] = {
	{
		.curve = "logarithmic",
		.param = { { .low = -6.9,
			     .high = 13.8,
			     .start = { -2, 1, 4, 8 },
			     .starts = 4 } },
		.params = 1,
		.value = logarithmic_value,
		.weights = logarithmic_weights,
	},
	{ .curve = NULL },
};

const struct tw_trainer tw_trainer_logarithmic = {
	.name = "LogarithmicRegressionTrainer",
	.summary = "a ln(b x + 1) + c of the main feature",
	.predictor = "curvefit",
	.min_rows = ROWS_MIN,
	.cost_ns = 3800,
	.how = logarithmics,
	.fit = fit,
};

/*
 * watts = A / (1 + exp(-k (x - x0))) + off, as Kepler computes it (docs/wire.md,
 * "Weights"), A not negative: power between two levels. The parameters of the shape are
 * x0 and ln k.
 */
static double logistic_value(const double *param, double x)
{
	return 1.0 / (1.0 + exp(-exp(param[1]) * (x - param[0])));
}

static void logistic_weights(const double *param, double height, double base,
			     double *weight)
{
	weight[0] = height;
	weight[1] = param[0];
	weight[2] = exp(param[1]);
	weight[3] = base;
}

/* x0 from -1 to 1.5, relative to the largest x; k from 0.6 to 150. */
static const struct shape logistics[] = {
	{
		.curve = "logistic",
		.param = { { .low = -1,
			     .high = 1.5,
			     .start = { 0, 0.25, 0.6 },
			     .starts = 3 },
			   { .low = -0.5, .high = 5, .start = { 1, 2.5 }, .starts = 2 } },
		.params = 2,
		.value = logistic_value,
		.weights = logistic_weights,
	},
	{ .curve = NULL },
};

const struct tw_trainer tw_trainer_logistic = {
	.name = "LogisticRegressionTrainer",
	.summary = "A / (1 + exp(-k (x - x0))) + off of the main feature",
	.predictor = "curvefit",
	.min_rows = ROWS_MIN,
	.cost_ns = 11000,
	.how = logistics,
	.fit = fit,
};
