/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/causes.h"

#include "collector/workloads/schedule.h"

#include <math.h>

/* Units of causes: any typical value does, since weights are learned. */
#define CLOCK_GHZ 3.0
#define INSTRUCTIONS_OF_NS 3.0
/* The most of CLOCK_GHZ: more is a glitch of the counters. */
#define CLOCK_MAX 3.0

/*
 * The longest that a miss makes a core wait, in ns. Too long is no harm: the weight of
 * misses makes up for it.
 */
#define MISS_NS 100.0

/* Least part of the time that a busy core does not wait. */
#define RUNS_MIN 0.1

/* Rows fade to a half within so many: half a day of ticks of 3 s. */
#define HALF_ROWS 14400.0
#define FADE (1 - 0.69 / HALF_ROWS)

/* The prior is worth this many rows of one busy CPU. */
#define PRIOR_ROWS 1.0

/* Errors of predictions fade within this many rows. */
#define JUDGED_ROWS 200.0

/* Rows before the weights may be ready, and the most that their predictions may miss. */
#define ROWS_MIN 100.0
#define ERROR_MAX 0.1

#define SWEEPS 50

/*
 * Relative weights where nothing is known: a busy core by its frequency, of which half
 * while it waits; 0.65 of that for each of two siblings, a third for a small core.
 */
static const double prior[TW_CAUSE_COUNT] = {
	[TW_CAUSE_ALONE] = 0.3,        [TW_CAUSE_ALONE_FAST] = 0.3,
	[TW_CAUSE_ALONE_RUNS] = 0.2,   [TW_CAUSE_SHARED] = 0.2,
	[TW_CAUSE_SHARED_FAST] = 0.2,  [TW_CAUSE_SHARED_RUNS] = 0.13,
	[TW_CAUSE_INSTRUCTIONS] = 0.2, [TW_CAUSE_MISSES] = 0.2,
	[TW_CAUSE_AWAKE] = 1,          [TW_CAUSE_SMALL] = 0.1,
	[TW_CAUSE_SMALL_FAST] = 0.1,   [TW_CAUSE_SMALL_RUNS] = 0.07,
};

static void time_causes(double ns, double runs, double cube, double *x)
{
	x[0] = ns;
	x[1] = ns * cube;
	x[2] = ns * runs * cube;
}

void tw_causes_of(const struct tw_package_use *u, double x[TW_CAUSE_COUNT])
{
	const double ns = (double)tw_package_use_ns(u);
	const double clock =
		ns > 0 ? fmin((double)u->cycles / ns / CLOCK_GHZ, CLOCK_MAX) : 0;
	const double runs = ns > 0 ? 1 - MISS_NS * (double)u->misses / ns : 0;
	const double cube = clock * clock * clock;

	time_causes((double)u->alone_ns, fmax(runs, RUNS_MIN), cube, &x[TW_CAUSE_ALONE]);
	time_causes((double)u->shared_ns, fmax(runs, RUNS_MIN), cube,
		    &x[TW_CAUSE_SHARED]);
	time_causes((double)u->small_ns, fmax(runs, RUNS_MIN), cube, &x[TW_CAUSE_SMALL]);
	x[TW_CAUSE_INSTRUCTIONS] = (double)u->instructions / INSTRUCTIONS_OF_NS;
	x[TW_CAUSE_MISSES] = (double)u->misses * MISS_NS;
	x[TW_CAUSE_AWAKE] = (double)u->awake_ns;
}

double tw_causes_weigh(const struct tw_causes *w, const double x[TW_CAUSE_COUNT])
{
	double sum = 0;

	for (int i = 0; i < TW_CAUSE_COUNT; i++)
		sum += w->weight[i] * x[i];
	return sum;
}

bool tw_causes_ready(const struct tw_causes *w)
{
	return w->rows >= ROWS_MIN && w->error < ERROR_MAX * w->power &&
	       w->error < w->plain_error;
}

/* How far the predictions of a row that was not seen yet are off. */
static void judge(struct tw_causes *w, const double x[TW_CAUSE_COUNT], double plain,
		  double power)
{
	const double keep = 1 - 1 / JUDGED_ROWS;
	const double plain_w = w->plain_xx > 0 ? w->plain_xy / w->plain_xx * plain : 0;

	w->error = keep * w->error + fabs(tw_causes_weigh(w, x) - power);
	w->plain_error = keep * w->plain_error + fabs(plain_w - power);
	w->power = keep * w->power + power;
}

/* The factor by which the prior fits best. */
static double prior_scale(const struct tw_causes *w)
{
	double xx = 0, xy = 0;

	for (int i = 0; i < TW_CAUSE_COUNT; i++) {
		xy += prior[i] * w->xy[i];
		for (int k = 0; k < TW_CAUSE_COUNT; k++)
			xx += prior[i] * prior[k] * w->xx[i][k];
	}
	return xx > 0 ? xy / xx : 0;
}

/*
 * Least squares with weights of 0 or more, by coordinates: each sweep begins where the
 * last row's ended.
 */
static void solve(struct tw_causes *w)
{
	const double scale = prior_scale(w);

	for (int sweep = 0; sweep < SWEEPS; sweep++)
		for (int i = 0; i < TW_CAUSE_COUNT; i++) {
			double rest = w->xy[i] + PRIOR_ROWS * scale * prior[i];

			for (int k = 0; k < TW_CAUSE_COUNT; k++)
				rest -= k != i ? w->xx[i][k] * w->weight[k] : 0;
			w->weight[i] = fmax(rest / (w->xx[i][i] + PRIOR_ROWS), 0);
		}
}

void tw_causes_learn(struct tw_causes *w, const double x[TW_CAUSE_COUNT], double plain,
		     uint64_t energy_uj, uint64_t over_ns)
{
	const double power = (double)energy_uj * 1e3 / (double)over_ns;
	double of[TW_CAUSE_COUNT];

	for (int i = 0; i < TW_CAUSE_COUNT; i++)
		of[i] = x[i] / (double)over_ns;
	plain /= (double)over_ns;
	judge(w, of, plain, power);
	w->rows = FADE * w->rows + 1;
	for (int i = 0; i < TW_CAUSE_COUNT; i++) {
		for (int k = 0; k < TW_CAUSE_COUNT; k++)
			w->xx[i][k] = FADE * w->xx[i][k] + of[i] * of[k];
		w->xy[i] = FADE * w->xy[i] + of[i] * power;
	}
	w->plain_xx = FADE * w->plain_xx + plain * plain;
	w->plain_xy = FADE * w->plain_xy + plain * power;
	solve(w);
}
