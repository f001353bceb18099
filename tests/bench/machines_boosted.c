/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-machines: errors of gradient boosting, for comparison with the prior.
 *
 *	machines_boosted PLAN
 *
 * Trees of depth 3 predict log(W / (TDP chips)) from the load and from what is known of
 * the machine; "monotone-boosting" does not fall with load, cores, chips and memory.
 * Everything is learned again in each fold. Plan and lines are as
 * tests/bench/machine_figures.h has them; protocols are those of tests/bench/machines.c.
 */

#include "tests/bench/machine_figures.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xgboost/c_api.h>

#define COLUMNS (1 + TW_PRIOR_FACTS + TW_PRIOR_CATEGORIES)
#define TREES 500
#define VALUES_MAX ((size_t)TW_PRIOR_ROWS_MAX * TW_PRIOR_LOADS)

static struct tw_prior prior; /* of which only the rows count */
static struct machine_figures figures;

static void die(const char *why)
{
	fprintf(stderr, "machines_boosted: %s\n", why);
	exit(1);
}

static void check(int failed)
{
	if (failed != 0)
		die(XGBGetLastError());
}

static double tdp_of(size_t i)
{
	return prior.row[i].number[TW_PRIOR_TDP] * prior.row[i].number[TW_PRIOR_CHIPS];
}

/* Numbers, and categories as numbers; the processor itself is left out. */
static void fill(size_t i, size_t load, float *x)
{
	size_t at = 0;

	x[at++] = (float)load;
	for (size_t n = 0; n < TW_PRIOR_FACTS; n++)
		x[at++] = (float)prior.row[i].number[n];
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++)
		x[at++] = c == TW_PRIOR_PROCESSOR || prior.row[i].category[c] < 0
				  ? NAN
				  : (float)prior.row[i].category[c];
}

static DMatrixHandle matrix_of(const float *x, size_t rows)
{
	DMatrixHandle m;

	check(XGDMatrixCreateFromMat(x, rows, COLUMNS, NAN, &m));
	return m;
}

static void set_up(BoosterHandle b, bool monotone)
{
	static const char *const parameters[][2] = {
		{ "nthread", "1" },     { "max_depth", "3" },          { "eta", "0.03" },
		{ "subsample", "0.6" }, { "colsample_bytree", "0.4" }, { "seed", "1" },
		{ "verbosity", "0" },
	};

	for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++)
		check(XGBoosterSetParam(b, parameters[i][0], parameters[i][1]));
	/* Load, then cores, chips, TDP (a scale already), memory. */
	if (monotone)
		check(XGBoosterSetParam(b, "monotone_constraints",
					"(1,1,1,0,1,0,0,0,0,0,0,0,0,0,0,0,0)"));
}

static BoosterHandle learn(const bool *judged, bool monotone)
{
	float *x = calloc(VALUES_MAX * COLUMNS, sizeof(*x));
	float *y = calloc(VALUES_MAX, sizeof(*y));
	BoosterHandle b;
	DMatrixHandle m;
	size_t n = 0;

	if (x == NULL || y == NULL)
		die("out of memory");
	for (size_t i = 0; i < prior.rows; i++)
		for (size_t l = 0; !judged[i] && !isnan(tdp_of(i)) && l < TW_PRIOR_LOADS;
		     l++) {
			fill(i, l, x + n * COLUMNS);
			y[n++] = (float)log(prior.row_w[i][l] / tdp_of(i));
		}
	m = matrix_of(x, n);
	check(XGDMatrixSetFloatInfo(m, "label", y, n));
	check(XGBoosterCreate(&m, 1, &b));
	set_up(b, monotone);
	for (int t = 0; t < TREES; t++)
		check(XGBoosterUpdateOneIter(b, t, m));
	check(XGDMatrixFree(m));
	free(x);
	free(y);
	return b;
}

static void predict(BoosterHandle b, size_t i)
{
	float x[TW_PRIOR_LOADS * COLUMNS];
	const float *out;
	DMatrixHandle m;
	bst_ulong n;

	if (isnan(tdp_of(i)))
		return;
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
		fill(i, l, x + l * COLUMNS);
	m = matrix_of(x, TW_PRIOR_LOADS);
	check(XGBoosterPredict(b, m, 0, 0, 0, &n, &out));
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
		figures.w[i][l] = exp(out[l]) * tdp_of(i);
	figures.inside[i] = NAN;
	check(XGDMatrixFree(m));
}

static void judge(const bool *judged, bool monotone)
{
	BoosterHandle b = learn(judged, monotone);

	for (size_t i = 0; i < prior.rows; i++)
		if (judged[i])
			predict(b, i);
	check(XGBoosterFree(b));
}

/* All cases that share what was learned are one. */
static void judge_plan(FILE *plan, bool monotone)
{
	static struct machine_case c;
	static bool judged[TW_PRIOR_ROWS_MAX];
	char learned[MACHINE_PATH_MAX] = "", protocol[sizeof(c.protocol)] = "";
	bool more;

	rewind(plan);
	do {
		more = machine_case_next(plan, &c);
		if (*learned != '\0' && strcmp(learned, c.learned) != 0) {
			judge(judged, monotone);
			memset(judged, 0, sizeof(judged));
		}
		if (*protocol != '\0' && strcmp(protocol, c.protocol) != 0) {
			machine_figures_print(protocol, &figures, &prior);
			machine_figures_clear(&figures);
		}
		if (*learned == '\0')
			machine_prior_load(c.learned, &prior);
		memcpy(learned, c.learned, sizeof(learned));
		memcpy(protocol, c.protocol, sizeof(protocol));
		for (size_t i = 0; i < TW_PRIOR_ROWS_MAX; i++)
			judged[i] |= c.judged[i];
	} while (more);
}

int main(int argc, char **argv)
{
	FILE *plan = argc == 2 ? fopen(argv[1], "re") : NULL;

	if (plan == NULL) {
		fprintf(stderr, "usage: machines_boosted PLAN\n");
		return 2;
	}
	for (int monotone = 0; monotone < 2; monotone++) {
		figures.name = monotone ? "monotone-boosting" : "boosting";
		machine_figures_clear(&figures);
		judge_plan(plan, monotone);
	}
	fclose(plan);
	tw_prior_release(&prior);
	return 0;
}
