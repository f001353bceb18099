/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/certificate.h"

#include "estimator/predict/power_model.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
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
#define NEGATIVE_MAX 0.01 /* share of the range */
#define REST_ERROR_MAX 0.01
#define JUMP_MAX 0.05
#define STEPS 64      /* places of a ray within the lowest loads */
#define BOX 2.0       /* the box ends at this multiple of the corner */
#define BOX_RANDOM 64 /* random places in the box */
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
	const struct tw_rest_evidence *evidence; /* of the tested part; or NULL */
	double range_w; /* power of the tested part: range from rest to the ends of rays
			 */
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

/* ---- rest ---- */

/* Find a step within the lowest loads on the ray to row r. */
static void judge_jump(const struct judging *j, size_t part, size_t r,
		       struct tw_certificate *c)
{
	const struct tw_strs *features = &tw_power_model_info(j->p)->features;
	const ptrdiff_t column = tw_strs_find(features, j->evidence->load);
	const double *row = j->row + r * j->cols;
	const double unsure =
		j->evidence->rested ? j->evidence->high - j->evidence->low : 0;
	const double step = fmax(JUMP_MAX * j->range_w, unsure) + ZERO_W;
	double x[(1 + STEPS) * TW_MODEL_FEATURES_MAX], watts[1 + STEPS];
	double end;

	if (column < 0 || !(row[column] > 0))
		return;
	end = fmin(j->evidence->low_load / row[column], 1.0);
	for (size_t i = 0; i <= STEPS; i++)
		scale_row(j, row, end * (double)i / STEPS, x + i * j->cols);
	predict(j, part, x, 1 + STEPS, watts);
	for (size_t i = 1; i <= STEPS; i++)
		if (watts[i] - watts[i - 1] > step)
			c->no_jump = false;
}

static void judge_rest(const struct judging *j, size_t part, struct tw_certificate *c)
{
	const double margin = REST_ERROR_MAX * j->range_w + ZERO_W;
	double watts[PLACES];

	c->recorded = true;
	for (size_t r = 0; r < j->rows; r++) {
		predict_ray(j, part, r, watts);
		if (watts[0] < j->evidence->low - margin ||
		    watts[0] > j->evidence->high + margin)
			c->rest = false;
		judge_jump(j, part, r, c);
	}
}

/* ---- the box ---- */

/* A number from 0 to 1 of a fixed sequence: D. E. Knuth's MMIX generator. */
static double next_share(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (double)(*state >> 11) / 9007199254740992.0;
}

static void judge_box_place(const struct judging *j, size_t part, const double *x,
			    struct tw_certificate *c)
{
	const struct tw_rows in = {
		.x = x, .rows = 1, .stride = j->cols, .place = j->place
	};
	double watts;

	tw_power_model_predict_raw(j->p, part, &in, &watts);
	if (!(watts >= -(NEGATIVE_MAX * j->range_w + ZERO_W)))
		c->non_negative = false;
}

/* Rest, the far corner, each feature alone, all but each, and random places. */
static void judge_box(const struct judging *j, size_t part, struct tw_certificate *c)
{
	double none[TW_MODEL_FEATURES_MAX] = { 0 }, all[TW_MODEL_FEATURES_MAX];
	uint64_t state = 1;

	for (size_t i = 0; i < j->cols; i++)
		all[i] = BOX * j->corner[i];
	judge_box_place(j, part, none, c);
	judge_box_place(j, part, all, c);
	for (size_t i = 0; i < j->cols; i++) {
		const double end = all[i];

		none[i] = end;
		judge_box_place(j, part, none, c);
		none[i] = 0;
		all[i] = 0;
		judge_box_place(j, part, all, c);
		all[i] = end;
	}
	for (size_t k = 0; k < BOX_RANDOM; k++) {
		for (size_t i = 0; i < j->cols; i++)
			none[i] = all[i] * next_share(&state);
		judge_box_place(j, part, none, c);
	}
}

static int judge_part(struct judging *j, size_t part, struct tw_certificate *c,
		      struct tw_err *err)
{
	const bool main = is_main(tw_power_model_component(j->p, part));
	double watts[PLACES];

	j->range_w = 0;
	if (tw_power_model_bind(j->p, part, &tw_power_model_info(j->p)->features,
				j->place, err) < 0)
		return -1;
	for (size_t r = 0; r < j->rows; r++) {
		predict_ray(j, part, r, watts);
		judge_ray(watts, main, main && r == 0, c);
		for (size_t i = 0; i < PLACES; i++)
			j->range_w = fmax(j->range_w, fabs(watts[i] - watts[0]));
		if (r > 0 && c->additive)
			judge_sum(j, part, r - 1, r, c);
	}
	judge_box(j, part, c);
	if (j->evidence != NULL)
		judge_rest(j, part, c);
	return 0;
}

int tw_certify(const struct tw_power_model *p, const double *rows, size_t count,
	       const struct tw_rest_evidence *evidence, struct tw_certificate *out,
	       struct tw_err *err)
{
	struct tw_certificate c = { .rises = true,
				    .additive = true,
				    .share_deviation = NAN,
				    .non_negative = true,
				    .rest = true,
				    .no_jump = true };
	struct judging j = { .p = p };
	int rc = -1;

	if (make_rows(&j, rows, count, err) < 0)
		goto out;
	for (size_t part = 0; part < tw_power_model_parts(p); part++) {
		j.evidence = evidence != NULL ? &evidence[part] : NULL;
		if (judge_part(&j, part, &c, err) < 0)
			goto out;
	}

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

	if (tw_certify(p, NULL, 0, NULL, &c, err) < 0)
		return -1;
	if (info->output == TW_ABS_POWER && !c.rises)
		return tw_fail(err, TW_INVALID, "model '%s': %s", info->name,
			       TW_FITNESS_FALLS);
	if (info->output == TW_DYN_POWER && !c.additive)
		return tw_fail(err, TW_INVALID, "model '%s': %s", info->name,
			       TW_FITNESS_NOT_ADDITIVE);
	if (!c.non_negative)
		return tw_fail(err, TW_INVALID, "model '%s': %s", info->name,
			       TW_FITNESS_NEGATIVE);
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

static int set_flag(json_t *metadata, const char *key, bool v)
{
	return json_object_set_new(metadata, key, json_boolean(v));
}

int tw_certificate_write(const struct tw_certificate *c, json_t *metadata,
			 struct tw_err *err)
{
	if (set_flag(metadata, TW_CERTIFICATE_RISES, c->rises) < 0 ||
	    set_flag(metadata, TW_CERTIFICATE_ADDITIVE, c->additive) < 0 ||
	    set_flag(metadata, TW_CERTIFICATE_NON_NEGATIVE, c->non_negative) < 0 ||
	    (c->recorded &&
	     (set_flag(metadata, TW_CERTIFICATE_REST, c->rest) < 0 ||
	      set_flag(metadata, TW_CERTIFICATE_NO_JUMP, c->no_jump) < 0)) ||
	    (isfinite(c->share_deviation) &&
	     json_object_set_new(metadata, TW_CERTIFICATE_SHARE_DEVIATION,
				 json_real(round(c->share_deviation * 1e4) / 1e4)) < 0))
		return tw_fail(err, TW_NOMEM, "certificate");
	return 0;
}
