/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nanoseconds a row of the tree predictor, and of XGBoost's own, of one model file:
 *
 *	trees_against_xgboost MODEL.json FEATURES
 *
 * Output, one line for each size of a batch: rows, ours, XGBoost's. The answers must be
 * the same to the bit.
 */
#include "estimator/predict/predictor.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xgboost/c_api.h>

#define ROWS 10000
#define TURNS 9

struct both {
	void *ours;
	BoosterHandle theirs;
	size_t features;
	double *x;      /* ROWS rows */
	float *x_float; /* the same */
	double *watts;  /* ours */
};

static void die(const char *what)
{
	fprintf(stderr, "trees_against_xgboost: %s\n", what);
	exit(1);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void load(struct both *b, const char *path)
{
	struct tw_strs names = { 0 };
	struct tw_err err = { 0 };
	char *text = NULL, name[32];
	size_t len;

	for (size_t i = 0; i < b->features; i++) {
		snprintf(name, sizeof(name), "f%zu", i);
		if (tw_strs_adds(&names, name, &err) < 0)
			die(err.text);
	}
	if (tw_file_read(path, (size_t)64 << 20, &text, &len, &err) < 0 ||
	    tw_predictor_load(&tw_predictor_xgboost, text, len, &names, &b->ours, &err) <
		    0)
		die(err.text);
	if (XGBoosterCreate(NULL, 0, &b->theirs) != 0 ||
	    XGBoosterLoadModelFromBuffer(b->theirs, text, len) != 0 ||
	    XGBoosterSetParam(b->theirs, "nthread", "1") != 0)
		die(XGBGetLastError());
	free(text);
	tw_strs_clear(&names);
}

/* Values over the whole range in which the trees split, the same in each run. */
static void make_rows(struct both *b)
{
	uint64_t seed = 1;

	b->x = calloc(ROWS * b->features, sizeof(*b->x));
	b->x_float = calloc(ROWS * b->features, sizeof(*b->x_float));
	b->watts = calloc(ROWS, sizeof(*b->watts));
	if (b->x == NULL || b->x_float == NULL || b->watts == NULL)
		die("out of memory");
	for (size_t i = 0; i < ROWS * b->features; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		b->x[i] = (double)(seed >> 40) * 4000.0;
		b->x_float[i] = (float)b->x[i];
	}
}

static void predict_ours(const struct both *b, size_t first, size_t rows)
{
	const struct tw_rows in = { .x = b->x + first * b->features,
				    .rows = rows,
				    .stride = b->features };

	tw_predictor_xgboost.predict(b->ours, &in, b->watts + first);
}

static const float *predict_theirs(const struct both *b, size_t first, size_t rows)
{
	static const char config[] =
		"{\"type\":0,\"cache_id\":0,\"training\":false,\"iteration_begin\":0,"
		"\"iteration_end\":0,\"strict_shape\":false,\"missing\":NaN}";
	char array[192];
	const bst_ulong *shape;
	bst_ulong dims;
	const float *out;

	snprintf(array, sizeof(array),
		 "{\"data\":[%zu,false],\"shape\":[%zu,%zu],\"typestr\":\"<f4\","
		 "\"version\":3}",
		 (size_t)(uintptr_t)(b->x_float + first * b->features), rows,
		 b->features);
	if (XGBoosterPredictFromDense(b->theirs, array, config, NULL, &shape, &dims,
				      &out) != 0)
		die(XGBGetLastError());
	return out;
}

static void compare(const struct both *b)
{
	const float *theirs = predict_theirs(b, 0, ROWS);

	predict_ours(b, 0, ROWS);
	for (size_t r = 0; r < ROWS; r++)
		if ((float)b->watts[r] != theirs[r])
			die("the answers differ");
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The median of several turns over all rows. */
static double time_rows(const struct both *b, size_t batch, int ours)
{
	double ns[TURNS];

	for (int t = 0; t < TURNS; t++) {
		const double start = now_s();

		for (size_t first = 0; first + batch <= ROWS; first += batch) {
			if (ours)
				predict_ours(b, first, batch);
			else
				predict_theirs(b, first, batch);
		}
		ns[t] = (now_s() - start) * 1e9 / ROWS;
	}
	qsort(ns, TURNS, sizeof(ns[0]), by_value);
	return ns[TURNS / 2];
}

int main(int argc, char **argv)
{
	static const size_t batches[] = { 1, 100, 10000 };
	struct both b = { 0 };

	if (argc != 3) {
		fprintf(stderr, "trees_against_xgboost: see the head of its source\n");
		return 2;
	}
	b.features = strtoul(argv[2], NULL, 10);
	load(&b, argv[1]);
	make_rows(&b);
	compare(&b);
	for (size_t i = 0; i < TW_COUNT(batches); i++)
		printf("%zu %.1f %.1f\n", batches[i], time_rows(&b, batches[i], 1),
		       time_rows(&b, batches[i], 0));
	tw_predictor_free(&tw_predictor_xgboost, b.ours);
	XGBoosterFree(b.theirs);
	free(b.x);
	free(b.x_float);
	free(b.watts);
	return 0;
}
