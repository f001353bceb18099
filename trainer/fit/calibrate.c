/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/calibrate.h"

#include "estimator/predict/derived.h"
#include "estimator/predict/predictor.h"
#include "estimator/predict/tree.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "trainer/fit/extra_trees.h"
#include "trainer/fit/score.h"
#include "trainer/fit/trainer.h"
#include "trainer/fit/validate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* With fewer rows or groups there is only a constant interval. */
#define ROWS_MIN 100
#define GROUPS_MIN 3
/* Bins of predicted power: at most, and rows of each. */
#define BINS 6
#define BIN_ROWS 60

/*
 * Few trees, because each model of a database carries them. A leaf is the mean |error| of
 * its rows; the median would be blind to rare misses.
 */
static const struct tw_extra_trees how = { .trees = 8, .leaf = 5, .by_size = true };
/* At most this many rows grow the trees, evenly spread. */
#define FIT_ROWS_MAX 4096
/* Weight of the mean |error| beside that of the trees: leaves have few rows. */
#define MEAN_WEIGHT 0.1

/* A group with fewer rows in a part does not widen the interval. */
#define GROUP_ROWS_MIN 30

/* Another kind of interval than a constant has a score below this share of its score. */
#define BETTER_BELOW 0.97

/* Significant digits of the numbers in trees. */
#define DIGITS 5

/* With a score above this share of a constant's, a choice is replaced by the constant. */
#define WORSE_ABOVE 1.05

#define NO_GROUP SIZE_MAX

enum scheme { CONSTANT, BINNED, NORMALISED, SCHEMES };

/* Whether the row, or a measurement that it shares, is of the group. */
static bool is_of(const struct tw_calibrate_rows *w, size_t row, size_t group)
{
	return group != NO_GROUP && row >= w->wide[group].from && row < w->wide[group].to;
}

/* ---- expected errors ---- */

/*
 * Grow trees on |error| without two groups, as text or as *trees. *mean_w is the mean of
 * these rows.
 */
static int grow(const struct tw_calibrate_rows *w, size_t without, size_t nor,
		struct tw_buf *text, struct tw_trees *trees, double *mean_w,
		struct tw_err *err)
{
	const size_t step = (w->rows - 1) / FIT_ROWS_MAX + 1;
	double *x = calloc(w->rows / step + 1, w->cols * sizeof(*x));
	double *y = calloc(w->rows / step + 1, sizeof(*y));
	struct tw_samples s = { .cols = w->cols, .x = x, .y = y, .features = w->names };
	double sum = 0.0;
	int rc = -1;

	if (x == NULL || y == NULL) {
		tw_fail(err, TW_NOMEM, "%zu rows to calibrate", w->rows);
		goto out;
	}
	for (size_t r = 0; r < w->rows; r += step) {
		if (is_of(w, r, without) || is_of(w, r, nor))
			continue;
		memcpy(x + s.rows * w->cols, w->x + r * w->cols, w->cols * sizeof(*x));
		y[s.rows++] = w->error[r];
		sum += w->error[r];
	}
	if (tw_extra_trees(&s, &how, w->seed, text, trees, err) < 0)
		goto out;

	*mean_w = sum / (double)s.rows;
	rc = 0;
out:
	free(x);
	free(y);
	return rc;
}

/* Predict the rows of a group; sigma[r] is that of row r. */
static void predict_group(const struct tw_calibrate_rows *w, const struct tw_trees *trees,
			  double mean_w, size_t group, double *sigma)
{
	const struct tw_fold own = w->own[group];
	const struct tw_rows in = { .x = w->x + own.from * w->cols,
				    .rows = own.to - own.from,
				    .stride = w->cols };

	tw_trees_predict(trees, w->cols, &in, sigma + own.from);
	for (size_t r = own.from; r < own.to; r++)
		sigma[r] = (sigma[r] + MEAN_WEIGHT * mean_w) / (1.0 + MEAN_WEIGHT);
}

/* Predict the rows of the groups a and b by trees that saw neither. */
static int cross_fit(struct tw_calibrate_rows *w, size_t a, size_t b, struct tw_err *err)
{
	struct tw_trees trees = { 0 };
	double mean_w;
	int rc = -1;

	if (grow(w, a, b, NULL, &trees, &mean_w, err) < 0)
		goto out;
	predict_group(w, &trees, mean_w, a, w->sigma + b * w->rows);
	if (a != b)
		predict_group(w, &trees, mean_w, b, w->sigma + a * w->rows);
	rc = 0;
out:
	tw_trees_release(&trees);
	return rc;
}

static int expect_errors(struct tw_calibrate_rows *w, struct tw_err *err)
{
	if (TW_NEW(w->sigma, w->groups * w->rows + 1, err) < 0)
		return -1;
	for (size_t a = 0; a < w->groups; a++)
		for (size_t b = a; b < w->groups; b++)
			if (cross_fit(w, a, b, err) < 0)
				return -1;
	return 0;
}

/* The expected error of a row, without its group and without group `without`. */
static double expected_of(const struct tw_calibrate_rows *w, size_t row, size_t without)
{
	const size_t k = without == NO_GROUP ? w->group[row] : without;

	return w->sigma != NULL ? w->sigma[k * w->rows + row] : NAN;
}

/* ---- kinds of intervals ---- */

/* Rows to calibrate on: without two groups, of a bin. */
struct part {
	size_t without, nor;
	double low, high; /* predicted power, W */
	bool normalise;   /* divide by the expected error */
};

/* Gather |error| in w->scratch, group by group. of[g] is the number of rows of group g.
 */
static size_t gather(const struct tw_calibrate_rows *w, const struct part *p,
		     size_t of[TW_CALIBRATE_GROUPS])
{
	size_t n = 0;

	memset(of, 0, TW_CALIBRATE_GROUPS * sizeof(*of));
	for (size_t r = 0; r < w->rows; r++) {
		if (is_of(w, r, p->without) || is_of(w, r, p->nor) ||
		    w->watts[r] < p->low || !(w->watts[r] < p->high))
			continue;
		w->scratch[n++] = p->normalise
					  ? w->error[r] / expected_of(w, r, p->without)
					  : w->error[r];
		of[w->group[r]]++;
	}
	return n;
}

/*
 * The coverage that each group must have: TW_INTERVAL_LEVEL, less a standard error of the
 * coverage of this many rows, because the worst of several groups is partly so by chance.
 */
static double group_level(size_t rows)
{
	const double level = TW_INTERVAL_LEVEL;

	return level - sqrt(level * (1.0 - level) / (double)rows);
}

/*
 * The half-width that covers TW_INTERVAL_LEVEL of all rows of the part and, because the
 * next block of time may be like the worst, group_level() of those of each group.
 */
static double half_of(const struct tw_calibrate_rows *w, const struct part *p)
{
	size_t of[TW_CALIBRATE_GROUPS];
	const size_t n = gather(w, p, of);
	double *of_group = w->scratch, half = 0.0;

	for (size_t g = 0; g < w->groups; of_group += of[g++])
		if (of[g] >= GROUP_ROWS_MIN)
			half = fmax(half,
				    tw_conformal(of_group, of[g], group_level(of[g])));
	return n > 0 ? fmax(half, tw_conformal(w->scratch, n, TW_INTERVAL_LEVEL)) : half;
}

/* Edges of bins with about equal numbers of rows. */
static void cut_bins(const struct tw_calibrate_rows *w, size_t without, size_t nor,
		     struct tw_answer_interval *i)
{
	size_t n = 0, bins;
	double last;

	for (size_t k = 0; k < w->rows; k++) {
		const size_t r = w->by_watts[k];

		if (!is_of(w, r, without) && !is_of(w, r, nor))
			w->scratch[n++] = w->watts[r];
	}
	bins = n / BIN_ROWS < BINS ? n / BIN_ROWS : BINS;
	i->bins = 1;
	last = n > 0 ? w->scratch[0] : 0.0;
	for (size_t b = 1; b < bins; b++) {
		const double edge = w->scratch[n * b / bins];

		if (edge > last)
			i->edge[i->bins++ - 1] = last = edge;
	}
}

/* Calibrate on the rows without two groups. */
static struct tw_answer_interval calibrate(const struct tw_calibrate_rows *w,
					   enum scheme scheme, size_t without, size_t nor)
{
	struct tw_answer_interval i = { .bins = 1 };
	struct part p = { .without = without,
			  .nor = nor,
			  .low = -INFINITY,
			  .high = INFINITY,
			  .normalise = scheme == NORMALISED };

	if (scheme == NORMALISED)
		return (struct tw_answer_interval){ .factor = half_of(w, &p) };
	if (scheme == BINNED)
		cut_bins(w, without, nor, &i);
	for (size_t b = 0; b < i.bins; b++) {
		p.low = b > 0 ? i.edge[b - 1] : -INFINITY;
		p.high = b + 1 < i.bins ? i.edge[b] : INFINITY;
		i.width[b] = half_of(w, &p);
	}
	return i;
}

/* For comparison: a constant that covers TW_INTERVAL_LEVEL of all rows but a group's. */
static struct tw_answer_interval plain_constant(const struct tw_calibrate_rows *w,
						size_t without)
{
	const struct part p = {
		.without = without, .nor = NO_GROUP, .low = -INFINITY, .high = INFINITY
	};
	size_t of[TW_CALIBRATE_GROUPS];
	const size_t n = gather(w, &p, of);
	struct tw_answer_interval i = { .bins = 1 };

	if (n > 0)
		i.width[0] = tw_conformal(w->scratch, n, TW_INTERVAL_LEVEL);
	return i;
}

/* The sum of the scores of the rows of a group. */
static double score_group(const struct tw_calibrate_rows *w,
			  const struct tw_answer_interval *i, size_t group,
			  size_t without)
{
	double sum = 0.0;

	for (size_t r = w->own[group].from; r < w->own[group].to; r++)
		sum += tw_winkler(w->measured[r], w->watts[r],
				  tw_answer_interval_half(i, w->watts[r],
							  expected_of(w, r, without)));
	return sum;
}

/* The kind of interval with the best score on groups that did not calibrate it. */
static enum scheme choose(const struct tw_calibrate_rows *w, size_t without)
{
	double score[SCHEMES] = { 0 };
	enum scheme best = CONSTANT;

	if (w->sigma == NULL)
		return CONSTANT;
	for (size_t g = 0; g < w->groups; g++) {
		for (int s = 0; g != without && s < SCHEMES; s++) {
			const struct tw_answer_interval i =
				calibrate(w, (enum scheme)s, without, g);

			score[s] += score_group(w, &i, g, without);
		}
	}
	score[CONSTANT] *= BETTER_BELOW;
	for (int s = 0; s < SCHEMES; s++)
		if (score[s] < score[best])
			best = (enum scheme)s;
	return best;
}

/* ---- figures ---- */

static void judge_group(const struct tw_calibrate_rows *w, size_t g, bool constant,
			struct tw_calibrated *c)
{
	const struct tw_answer_interval plain = plain_constant(w, g);
	const struct tw_answer_interval chosen =
		constant ? plain : calibrate(w, choose(w, g), g, NO_GROUP);
	const size_t rows = w->own[g].to - w->own[g].from;
	size_t held = 0;

	for (size_t r = w->own[g].from; r < w->own[g].to; r++) {
		const double half_w = tw_answer_interval_half(&chosen, w->watts[r],
							      expected_of(w, r, g));

		held += tw_interval_holds(w->measured[r], w->watts[r], half_w);
	}
	c->coverage += (double)held / (double)w->rows;
	c->group_coverage[g] = rows > 0 ? (double)held / (double)rows : NAN;
	c->score += score_group(w, &chosen, g, g) / (double)w->rows;
	c->constant += score_group(w, &plain, g, g) / (double)w->rows;
}

static void judge_groups(const struct tw_calibrate_rows *w, bool constant,
			 struct tw_calibrated *c)
{
	c->groups = w->groups;
	c->coverage = c->score = c->constant = 0.0;
	for (size_t g = 0; g < w->groups; g++)
		judge_group(w, g, constant, c);
}

static int judge(const struct tw_calibrate_rows *w, struct tw_calibrated *c,
		 struct tw_err *err)
{
	c->interval = calibrate(w, choose(w, NO_GROUP), NO_GROUP, NO_GROUP);
	judge_groups(w, false, c);
	if (c->score > WORSE_ABOVE * c->constant) {
		c->interval = plain_constant(w, NO_GROUP);
		judge_groups(w, true, c);
	}
	if (w->sigma == NULL)
		return 0;
	for (size_t r = 0; r < w->rows; r++)
		w->scratch[r] = expected_of(w, r, NO_GROUP);
	return tw_miss_auc(w->error, w->scratch, w->rows, &c->auc, err);
}

/* ---- the file ---- */

/* Append the trees with DIGITS significant digits, which take half the bytes. */
static int add_trees(const struct tw_buf *text, struct tw_buf *out, struct tw_err *err)
{
	json_t *root = NULL;
	char *shorter = NULL;
	int rc = -1;

	if (tw_json_parse(text->data, text->len, "", &root, err) < 0)
		goto out;
	shorter = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
	if (shorter == NULL) {
		tw_fail(err, TW_NOMEM, "expected errors");
		goto out;
	}
	tw_buf_adds(out, shorter);
	rc = 0;
out:
	free(shorter);
	json_decref(root);
	return rc;
}

static int add_form(const struct tw_calibrate_rows *w, struct tw_buf *out,
		    struct tw_err *err)
{
	struct tw_buf trees = { 0 };
	double mean_w;
	int rc = -1;

	if (grow(w, NO_GROUP, NO_GROUP, &trees, NULL, &mean_w, err) < 0)
		goto out;
	tw_buf_adds(out, "{\"bias\":");
	tw_buf_add_double(out, mean_w * MEAN_WEIGHT / (1.0 + MEAN_WEIGHT));
	tw_buf_adds(out, ",\"columns\":[");
	for (size_t c = 0; c < w->cols; c++)
		tw_buf_addf(out, "%s[%u,%u,%u]", c > 0 ? "," : "", w->column[c].feature,
			    w->column[c].from, w->column[c].to);
	tw_buf_adds(out, "],\"members\":[{\"weight\":");
	tw_buf_add_double(out, 1.0 / (1.0 + MEAN_WEIGHT));
	tw_buf_adds(out, ",\"columns\":[");
	for (size_t c = 0; c < w->cols; c++)
		tw_buf_addf(out, "%s%zu", c > 0 ? "," : "", c);
	tw_buf_adds(out, "],\"predictor\":\"trees\",\"model\":");
	if (add_trees(&trees, out, err) < 0)
		goto out;
	tw_buf_adds(out, "}]}");
	if (tw_buf_check(out, err) < 0)
		goto out;
	rc = 0;
out:
	tw_buf_clear(&trees);
	return rc;
}

void tw_calibrated_write(const struct tw_calibrated *alone,
			 const struct tw_calibrated *series, double step_ms,
			 struct tw_buf *out)
{
	const bool both = series != NULL && series->form.len > 0;

	if (alone->form.len == 0)
		return;
	tw_buf_adds(out, "{\"ensemble\":{\"floor\":0,\"ceiling\":");
	tw_buf_add_double(out,
			  both ? fmax(alone->largest, series->largest) : alone->largest);
	tw_buf_adds(out, ",\"alone\":");
	tw_buf_add(out, alone->form.data, alone->form.len);
	if (both) {
		tw_buf_adds(out, ",\"step_ms\":");
		tw_buf_add_double(out, step_ms);
		tw_buf_adds(out, ",\"series\":");
		tw_buf_add(out, series->form.data, series->form.len);
	}
	tw_buf_adds(out, "}}");
}

/* ---- calibration ---- */

static bool enough(const struct tw_calibrate_rows *w, const struct tw_calibrated *c)
{
	return w->rows >= ROWS_MIN && w->groups >= GROUPS_MIN && c->largest > 0.0;
}

int tw_calibrate(const struct tw_residuals *r, uint64_t seed, struct tw_calibrated *out,
		 struct tw_err *err)
{
	struct tw_calibrate_rows w = { .samples = r->samples, .seed = seed };
	struct tw_calibrated c = { .auc = NAN };
	int rc = -1;

	if (tw_calibrate_rows_take(&w, r, err) < 0)
		goto out;
	for (size_t i = 0; i < w.rows; i++)
		c.largest = fmax(c.largest, w.error[i]);
	if (enough(&w, &c) &&
	    (expect_errors(&w, err) < 0 || add_form(&w, &c.form, err) < 0))
		goto out;
	c.rows = w.rows;
	if (w.rows > 0 && judge(&w, &c, err) < 0)
		goto out;

	*out = c;
	c = (struct tw_calibrated){ 0 };
	rc = 0;
out:
	tw_calibrated_release(&c);
	tw_calibrate_rows_release(&w);
	return rc;
}

void tw_calibrated_release(struct tw_calibrated *c)
{
	tw_buf_clear(&c->form);
	*c = (struct tw_calibrated){ 0 };
}
