/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/drift.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/line.h"
#include "lib/core/num.h"
#include "lib/field/feature.h"
#include "trainer/fit/trainer.h"
#include "trainer/fit/validate.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Rows of equal load are compared over time, in this many bins of load. */
#define BINS 8
/* The variance of a bin is that of the means of short cells of time, and that of the
 * slope that of a jackknife of long blocks: errors that are alike for a time are no
 * trend.
 */
#define CELLS 48
#define BLOCKS 6
/* Without a drift, Student's t is as large with this probability. */
#define CHANCE 0.002
/* Least share of the variance of time that is within the bins: a load that only rises
 * cannot be told from a drift. */
#define SHARE_MIN 0.25
/* Least variance of a bin, as a share of the mean of all bins: noise of 1 %. */
#define VARIANCE_MIN 1e-4
/* Less in the recording is no drift. */
#define WATTS_MIN 0.01
#define MS_PER_HOUR 3.6e6

/* Arrays of `rows` numbers. */
struct rows {
	const double *measured; /* W */
	double *predicted;
	double *load; /* any unit */
	double *sorted;
	const int64_t *time_ms;
	size_t rows;
};

/* Sums of its rows. */
struct cell {
	double rows, hours, error;
};

struct bin {
	struct cell cell[CELLS];
	struct tw_line line; /* errors over hours */
	double weight;
};

static double hours_at(const struct rows *r, size_t row)
{
	return (double)(r->time_ms[row] - r->time_ms[0]) / MS_PER_HOUR;
}

/* A change between two recordings is no drift of a machine. */
static bool has_pause(const struct rows *r)
{
	const double most = hours_at(r, r->rows - 1) / BLOCKS;

	for (size_t i = 1; i < r->rows; i++)
		if (hours_at(r, i) - hours_at(r, i - 1) > most)
			return true;
	return false;
}

/* Equal loads share a bin. */
static void fill(struct bin *bin, const struct rows *r)
{
	memcpy(r->sorted, r->load, r->rows * sizeof(*r->sorted));
	qsort(r->sorted, r->rows, sizeof(*r->sorted), tw_compare_doubles);
	for (size_t i = 0; i < r->rows; i++) {
		const double error = r->measured[i] - r->predicted[i];
		const double hours = hours_at(r, i);
		struct cell *c;
		size_t b = 0;

		while (b + 1 < BINS && r->load[i] > r->sorted[r->rows * (b + 1) / BINS])
			b++;
		c = &bin[b].cell[i * CELLS / r->rows];
		c->rows++;
		c->hours += hours;
		c->error += error;
		tw_line_add(&bin[b].line, hours, error);
	}
}

/* Variance, for one row, of the cells about the line; of few cells, that of the rows. */
static double variance_of(const struct bin *b)
{
	double sum = 2 * tw_line_variance(&b->line);
	size_t cells = 0;

	for (size_t k = 0; k < CELLS; k++) {
		const struct cell *c = &b->cell[k];
		double off;

		if (c->rows == 0)
			continue;
		off = c->error / c->rows - tw_line_at(&b->line, c->hours / c->rows);
		sum += c->rows * off * off;
		cells++;
	}
	return sum / (double)cells;
}

/*
 * Weigh the bins: a bin with little noise, often the rows of rest, shows a drift best.
 * False: no bin has noise.
 */
static bool weigh(struct bin *bin)
{
	double variance[BINS], mean = 0;

	for (size_t b = 0; b < BINS; b++) {
		variance[b] = bin[b].line.n > 2 ? variance_of(&bin[b]) : INFINITY;
		if (isfinite(variance[b]))
			mean += variance[b] / BINS;
	}
	for (size_t b = 0; b < BINS; b++)
		bin[b].weight = 1 / fmax(variance[b], VARIANCE_MIN * mean);
	return mean > 0;
}

/* The slope of the errors over time that bins of different levels share, in W an hour,
 * without the cells of a block (BLOCKS: of all). NaN: unknown. */
static double find_slope(const struct bin *bin, size_t omitted)
{
	double tt = 0, te = 0, weights = 0, hours = 0, total = 0;

	for (size_t b = 0; b < BINS; b++) {
		struct cell s = { 0 };
		double squares = 0, products = 0;

		for (size_t k = 0; k < CELLS; k++) {
			const struct cell *c = &bin[b].cell[k];

			if (c->rows == 0 || k * BLOCKS / CELLS == omitted)
				continue;
			s.rows += c->rows;
			s.hours += c->hours;
			s.error += c->error;
			squares += c->hours * c->hours / c->rows;
			products += c->hours * c->error / c->rows;
		}
		if (s.rows == 0)
			continue;
		tt += bin[b].weight * (squares - s.hours * s.hours / s.rows);
		te += bin[b].weight * (products - s.hours * s.error / s.rows);
		weights += bin[b].weight * s.rows;
		hours += bin[b].weight * s.hours;
		total += bin[b].weight * squares;
	}
	if (!(tt > SHARE_MIN * (total - hours * hours / weights)))
		return NAN;
	return te / tt;
}

/* The slope, or 0 if it is not certain: by its jackknife over blocks of time. */
static double find_certain_slope(const struct bin *bin)
{
	const double all = find_slope(bin, BLOCKS);
	const double limit = gsl_cdf_tdist_Qinv(CHANCE / 2, BLOCKS - 2);
	double without[BLOCKS], mean = 0, variance = 0;

	for (size_t k = 0; k < BLOCKS; k++) {
		without[k] = find_slope(bin, k);
		mean += without[k] / BLOCKS;
	}
	for (size_t k = 0; k < BLOCKS; k++)
		variance +=
			(without[k] - mean) * (without[k] - mean) * (BLOCKS - 1) / BLOCKS;
	return fabs(all) > limit * sqrt(variance) ? all : 0;
}

/* Predict all rows by a line that is fitted on them. False: there is no such line. */
static bool predict(const struct tw_samples *s, double *predicted, struct tw_err *err)
{
	const struct tw_trainer *line = &tw_trainer_linear;
	struct tw_buf text = { 0 };
	const bool done = line->fit(line, s, 0, &text, err) == 0 &&
			  tw_validate_text(line, s, (struct tw_fold){ 0, s->rows }, &text,
					   predicted, NULL, err) == 0;

	tw_buf_clear(&text);
	return done;
}

static struct tw_drift find(const struct rows *r)
{
	struct bin bin[BINS] = { 0 };
	double slope = 0, watts;

	fill(bin, r);
	if (weigh(bin))
		slope = find_certain_slope(bin);
	watts = slope * hours_at(r, r->rows - 1);
	return fabs(watts) > WATTS_MIN ? (struct tw_drift){ slope, watts }
				       : (struct tw_drift){ 0 };
}

int tw_drift_find(const struct tw_samples *s, struct tw_drift *out, struct tw_err *err)
{
	struct rows r = { .measured = s->y, .time_ms = s->time_ms, .rows = s->rows };
	struct tw_err unfit = { 0 };
	int rc = -1;

	if (r.rows < (size_t)2 * CELLS || has_pause(&r)) {
		*out = (struct tw_drift){ 0 };
		return 0;
	}
	if (TW_NEW(r.predicted, 3 * r.rows, err) < 0)
		goto out;
	r.load = r.predicted + r.rows;
	r.sorted = r.load + r.rows;
	tw_samples_column(s, tw_main_feature(s->features, s->cols, s->component), r.load);
	if (predict(s, r.predicted, &unfit)) {
		*out = find(&r);
	} else if (unfit.code == TW_NOMEM) {
		*err = unfit;
		goto out;
	} else {
		*out = (struct tw_drift){ 0 };
	}

	rc = 0;
out:
	free(r.predicted);
	return rc;
}
