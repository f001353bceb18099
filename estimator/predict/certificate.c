/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/certificate.h"

#include "estimator/predict/power_model.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/field/feature.h"
#include "model-db/fitness.h"
#include "model-db/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Factors of a ray. They are denser near 0, where trees have most of their steps. */
static const double places[] = { 0,       1.0 / 256, 1.0 / 64, 1.0 / 32, 1.0 / 16,
				 1.0 / 8, 3.0 / 16,  1.0 / 4,  5.0 / 16, 3.0 / 8,
				 1.0 / 2, 5.0 / 8,   3.0 / 4,  7.0 / 8,  1 };
#define PLACES TW_COUNT(places)

/* A machine cut into k parts; place is the index of 1 / k in places. */
static const struct share {
	double k;
	size_t place;
} shares[] = { { 2, 10 }, { 8, 5 }, { 32, 3 } };

#define FALL_MAX 0.01
#define RISE_MIN 1e-6 /* share of the power at the end of the ray */
#define SUM_ERROR_MAX 0.02
#define ZERO_W 1e-3

/* Cores of a machine whose specification has none. */
#define CORES 16

/* Features of a busy core, in the units of lib/field/feature.h. */
static const struct busy {
	const char *feature;
	double value;
} busy_core[] = {
	{ "bpf_block_irq", 10 },       { "bpf_cpu_time_ms", 1000 },
	{ "bpf_net_rx_irq", 100 },     { "bpf_net_tx_irq", 10 },
	{ "bpf_page_cache_hit", 1e4 }, { "cache_miss", 1e6 },
	{ "cpu_cycles", 3e9 },         { "cpu_instructions", 3e9 },
	{ "node_cpu_user_ms", 1000 },
};

struct judging {
	const struct tw_power_model *p;
	size_t cols;
	double *corner; /* the maximum of each feature */
	double *row;    /* ends of rays: rows * cols */
	size_t rows;
	uint32_t place[TW_MODEL_FEATURES_MAX]; /* columns of the tested part */
};

static bool is_main(enum tw_component c)
{
	return c == TW_PACKAGE || c == TW_PLATFORM;
}

static double of_busy_machine(const struct tw_model_info *info, const char *feature)
{
	const double cores = info->spec.cores > 0 ? info->spec.cores : CORES;

	for (size_t i = 0; i < TW_COUNT(busy_core); i++)
		if (strcmp(busy_core[i].feature, feature) == 0)
			return busy_core[i].value * cores;
	return 0;
}

/* The maximum of a feature in the training ranges of all parts. */
static double most_of(const struct tw_power_model *p, const char *feature)
{
	double most = NAN;

	for (size_t part = 0; part < tw_power_model_parts(p); part++) {
		double min, max;
		const char *name;

		for (size_t i = 0;
		     (name = tw_power_model_range(p, part, i, &min, &max)) != NULL; i++)
			if (strcmp(name, feature) == 0)
				most = fmax(most, max);
	}
	return isnan(most) ? of_busy_machine(tw_power_model_info(p), feature) : most;
}

/* The corner, the corner with each feature halved in turn, and the given rows. */
static int make_rows(struct judging *j, const double *given, size_t count,
		     struct tw_err *err)
{
	const struct tw_strs *features = &tw_power_model_info(j->p)->features;

	j->cols = features->count;
	j->rows = 1 + j->cols + count;
	j->corner = calloc((1 + j->rows) * j->cols, sizeof(*j->corner));
	if (j->corner == NULL)
		return tw_fail(err, TW_NOMEM, "certificate");
	j->row = j->corner + j->cols;
	for (size_t i = 0; i < j->cols; i++)
		j->corner[i] = most_of(j->p, features->at[i]);
	for (size_t r = 0; r <= j->cols; r++) {
		memcpy(j->row + r * j->cols, j->corner, j->cols * sizeof(*j->row));
		if (r > 0)
			j->row[r * j->cols + r - 1] /= 2;
	}
	if (count > 0)
		memcpy(j->row + (1 + j->cols) * j->cols, given,
		       count * j->cols * sizeof(*given));
	return 0;
}

/* Multiply the features that count work by t. */
static void scale_row(const struct judging *j, const double *x, double t, double *out)
{
	const struct tw_strs *features = &tw_power_model_info(j->p)->features;

	for (size_t i = 0; i < j->cols; i++)
		out[i] = tw_feature_is_work(features->at[i]) ? x[i] * t : x[i];
}

static void predict(const struct judging *j, size_t part, const double *x, size_t rows,
		    double *watts)
{
	const struct tw_rows in = {
		.x = x, .rows = rows, .stride = j->cols, .place = j->place
	};

	tw_power_model_predict(j->p, part, &in, watts);
}

/* Predict the ray to row r. */
static void predict_ray(const struct judging *j, size_t part, size_t r, double *watts)
{
	double x[PLACES * TW_MODEL_FEATURES_MAX];

	for (size_t i = 0; i < PLACES; i++)
		scale_row(j, j->row + r * j->cols, places[i], x + i * j->cols);
	predict(j, part, x, PLACES, watts);
}

static void judge_ray(const double *watts, bool main, bool must_rise,
		      struct tw_certificate *c)
{
	const double rest = watts[0], end = watts[PLACES - 1];
	double most = rest, least = rest, fall = 0;

	for (size_t i = 0; i < PLACES; i++) {
		most = fmax(most, watts[i]);
		least = fmin(least, watts[i]);
		fall = fmax(fall, most - watts[i]);
	}
	if (fall > FALL_MAX * (most - least) ||
	    (must_rise && end - rest <= RISE_MIN * end))
		c->rises = false;
	if (rest > ZERO_W)
		c->additive = false;
	for (size_t i = 0; i < TW_COUNT(shares); i++) {
		const double part = watts[shares[i].place] - rest;
		const double deviation =
			end > rest ? fabs(shares[i].k * part / (end - rest) - 1) : NAN;

		if (fabs(shares[i].k * watts[shares[i].place] - end) >
		    SUM_ERROR_MAX * end + ZERO_W)
			c->additive = false;
		if (main)
			c->share_deviation = fmax(c->share_deviation, deviation);
	}
}

/*
 * Compare the power of half of row a plus half of row b with the sum of their powers.
 * Features that are no work keep the values of row a, because they cannot be added.
 */
static void judge_sum(const struct judging *j, size_t part, size_t a, size_t b,
		      struct tw_certificate *c)
{
	const struct tw_strs *features = &tw_power_model_info(j->p)->features;
	double x[3 * TW_MODEL_FEATURES_MAX], watts[3];

	scale_row(j, j->row + a * j->cols, 0.5, x);
	scale_row(j, j->row + b * j->cols, 0.5, x + j->cols);
	for (size_t i = 0; i < j->cols; i++) {
		const bool work = tw_feature_is_work(features->at[i]);

		if (!work)
			x[j->cols + i] = x[i];
		x[2 * j->cols + i] = work ? x[i] + x[j->cols + i] : x[i];
	}
	predict(j, part, x, 3, watts);
	if (fabs(watts[0] + watts[1] - watts[2]) > SUM_ERROR_MAX * watts[2] + ZERO_W)
		c->additive = false;
}

static int judge_part(struct judging *j, size_t part, struct tw_certificate *c,
		      struct tw_err *err)
{
	const bool main = is_main(tw_power_model_component(j->p, part));
	double watts[PLACES];

	if (tw_power_model_bind(j->p, part, &tw_power_model_info(j->p)->features,
				j->place, err) < 0)
		return -1;
	for (size_t r = 0; r < j->rows; r++) {
		predict_ray(j, part, r, watts);
		judge_ray(watts, main, main && r == 0, c);
		if (r > 0 && c->additive)
			judge_sum(j, part, r - 1, r, c);
	}
	return 0;
}

int tw_certify(const struct tw_power_model *p, const double *rows, size_t count,
	       struct tw_certificate *out, struct tw_err *err)
{
	struct tw_certificate c = { .rises = true,
				    .additive = true,
				    .share_deviation = NAN };
	struct judging j = { .p = p };
	int rc = -1;

	if (make_rows(&j, rows, count, err) < 0)
		goto out;
	for (size_t part = 0; part < tw_power_model_parts(p); part++)
		if (judge_part(&j, part, &c, err) < 0)
			goto out;

	*out = c;
	rc = 0;
out:
	free(j.corner);
	return rc;
}

int tw_certify_default(const struct tw_power_model *p, struct tw_err *err)
{
	const struct tw_model_info *info = tw_power_model_info(p);
	struct tw_certificate c;

	if (tw_certify(p, NULL, 0, &c, err) < 0)
		return -1;
	if (info->output == TW_ABS_POWER && !c.rises)
		return tw_fail(err, TW_INVALID, "model '%s': %s", info->name,
			       TW_FITNESS_FALLS);
	if (info->output == TW_DYN_POWER && !c.additive)
		return tw_fail(err, TW_INVALID, "model '%s': %s", info->name,
			       TW_FITNESS_NOT_ADDITIVE);
	return 0;
}

int tw_certify_model(struct tw_model *m, struct tw_err *err)
{
	struct tw_power_model *p;
	int rc;

	if (tw_power_model_new(m, &p, err) < 0)
		return -1;
	rc = tw_certify_default(p, err);
	tw_power_model_free(p);
	return rc;
}

int tw_certificate_write(const struct tw_certificate *c, json_t *metadata,
			 struct tw_err *err)
{
	if (json_object_set_new(metadata, TW_CERTIFICATE_RISES, json_boolean(c->rises)) <
		    0 ||
	    json_object_set_new(metadata, TW_CERTIFICATE_ADDITIVE,
				json_boolean(c->additive)) < 0 ||
	    (isfinite(c->share_deviation) &&
	     json_object_set_new(metadata, TW_CERTIFICATE_SHARE_DEVIATION,
				 json_real(round(c->share_deviation * 1e4) / 1e4)) < 0))
		return tw_fail(err, TW_NOMEM, "certificate");
	return 0;
}
