/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-machines: errors of gradient boosting, for comparison with the prior.
 *
 *	machines_boosted TABLE.csv
 *
 * Trees of depth 3 predict log(W / (TDP chips)) from the load and from what is known of
 * the machine; "monotone-boosting" does not fall with load, cores, chips and memory.
 * Everything is learned again in each fold. Lines are as tests/bench/machine_figures.h
 * has them; protocols are those of tests/bench/machines.c.
 */

#include "lib/core/err.h"
#include "tests/bench/machine_figures.h"
#include "trainer/machines/machine_table.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xgboost/c_api.h>

#define COLUMNS (1 + TW_PRIOR_FACTS + TW_PRIOR_CATEGORIES)
#define TREES 500
#define VALUES_MAX ((size_t)TW_PRIOR_ROWS_MAX * TW_PRIOR_LOADS)

static struct tw_machine_table table;
static struct tw_prior_row row[TW_PRIOR_ROWS_MAX];
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

static void locate_all(void)
{
	struct tw_prior p = { 0 };
	struct tw_err err = { 0 };

	for (size_t i = 0; i < table.count; i++) {
		const struct tw_prior_machine *m = &table.machine[i].machine;

		for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++)
			if (m->category[c][0] != '\0' &&
			    !tw_strs_has(&p.names[c], m->category[c]) &&
			    tw_strs_adds(&p.names[c], m->category[c], &err) < 0)
				die(err.text);
		tw_prior_locate(&p, m, &row[i]);
	}
	tw_prior_release(&p);
}

static double tdp_of(size_t i)
{
	return row[i].number[TW_PRIOR_TDP] * row[i].number[TW_PRIOR_CHIPS];
}

/* Numbers, and categories as numbers; the processor itself is left out. */
static void fill(size_t i, size_t load, float *x)
{
	size_t at = 0;

	x[at++] = (float)load;
	for (size_t n = 0; n < TW_PRIOR_FACTS; n++)
		x[at++] = (float)row[i].number[n];
	for (size_t c = 0; c < TW_PRIOR_CATEGORIES; c++)
		x[at++] = c == TW_PRIOR_PROCESSOR || row[i].category[c] < 0
				  ? NAN
				  : (float)row[i].category[c];
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

static BoosterHandle learn(const bool *use, bool monotone)
{
	float *x = calloc(VALUES_MAX * COLUMNS, sizeof(*x));
	float *y = calloc(VALUES_MAX, sizeof(*y));
	BoosterHandle b;
	DMatrixHandle m;
	size_t n = 0;

	if (x == NULL || y == NULL)
		die("out of memory");
	for (size_t i = 0; i < table.count; i++)
		for (size_t l = 0; use[i] && !isnan(tdp_of(i)) && l < TW_PRIOR_LOADS;
		     l++) {
			fill(i, l, x + n * COLUMNS);
			y[n++] = (float)log(table.machine[i].w[l] / tdp_of(i));
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

static void judge(const bool *use, bool monotone)
{
	BoosterHandle b = learn(use, monotone);

	for (size_t i = 0; i < table.count; i++)
		if (!use[i])
			predict(b, i);
	check(XGBoosterFree(b));
}

int main(int argc, char **argv)
{
	static bool use[TW_PRIOR_ROWS_MAX];
	struct tw_err err = { 0 };

	if (argc != 2) {
		fprintf(stderr, "usage: machines_boosted TABLE.csv\n");
		return 2;
	}
	if (tw_machine_table_load(argv[1], &table, &err) < 0)
		die(err.text);
	locate_all();
	for (int monotone = 0; monotone < 2; monotone++) {
		figures.name = monotone ? "monotone-boosting" : "boosting";
		machine_figures_clear(&figures);
		for (size_t i = 0; i < table.count; i++)
			use[i] = table.machine[i].year <= MACHINE_SPLIT_YEAR;
		judge(use, monotone);
		machine_figures_print("2016", &figures, &table);
		machine_figures_clear(&figures);
		for (size_t fold = 0; fold < MACHINE_FOLDS; fold++) {
			for (size_t i = 0; i < table.count; i++)
				use[i] = machine_fold_of(table.machine[i].processor) !=
					 fold;
			judge(use, monotone);
		}
		machine_figures_print("processor", &figures, &table);
	}
	tw_machine_table_release(&table);
	return 0;
}
