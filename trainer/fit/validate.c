/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/validate.h"

#include "estimator/predict/predictor.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct tw_fold tw_fold_at(size_t rows, size_t folds, size_t i)
{
	const size_t each = rows / folds, larger = rows % folds;
	const size_t from = i * each + (i < larger ? i : larger);

	assert(i < folds && folds <= rows);
	return (struct tw_fold){ from, from + each + (i < larger) };
}

struct tw_fold tw_fold_widen(struct tw_fold fold, size_t overlap, size_t rows)
{
	fold.from = fold.from > overlap ? fold.from - overlap : 0;
	fold.to = rows - fold.to > overlap ? fold.to + overlap : rows;
	return fold;
}

/* Copy the rows outside the block; a row has `width` bytes. */
static void copy_outside(void *to, const void *from, size_t rows, size_t width,
			 struct tw_fold fold)
{
	memcpy(to, from, fold.from * width);
	memcpy((char *)to + fold.from * width, (const char *)from + fold.to * width,
	       (rows - fold.to) * width);
}

static int fit_outside(const struct tw_trainer *t, const struct tw_samples *s,
		       struct tw_fold fold, uint64_t seed, struct tw_buf *text,
		       struct tw_err *err)
{
	const size_t rows = s->rows - (fold.to - fold.from);
	double *x = malloc((rows * s->cols + 1) * sizeof(*x));
	double *y = malloc((rows + 1) * sizeof(*y));
	int64_t *time_ms = malloc((rows + 1) * sizeof(*time_ms));
	struct tw_samples part = *s;
	int rc = -1;

	if (x == NULL || y == NULL || time_ms == NULL) {
		tw_fail(err, TW_NOMEM, "%zu rows to train on", rows);
		goto out;
	}
	copy_outside(x, s->x, s->rows, s->cols * sizeof(*x), fold);
	copy_outside(y, s->y, s->rows, sizeof(*y), fold);
	if (s->time_ms != NULL) {
		copy_outside(time_ms, s->time_ms, s->rows, sizeof(*time_ms), fold);
		part.time_ms = time_ms;
	}
	part.rows = rows;
	part.x = x;
	part.y = y;
	if (t->fit(&part, seed, text, err) < 0)
		goto out;

	rc = 0;
out:
	free(x);
	free(y);
	free(time_ms);
	return rc;
}

/* Load the text into the predictor. *state is the caller's: (*predictor)->free(). */
static int read_back(const struct tw_trainer *t, const struct tw_samples *s,
		     const struct tw_buf *text, const struct tw_predictor **predictor,
		     void **state, struct tw_err *err)
{
	const struct tw_predictor *p = tw_predictor_find(t->predictor);
	struct tw_strs features = { 0 };
	int rc = -1;

	if (p == NULL) {
		tw_fail(err, TW_UNSUPPORTED, "no predictor '%s'", t->predictor);
		goto out;
	}
	for (size_t c = 0; c < s->cols; c++)
		if (tw_strs_adds(&features, s->features[c], err) < 0)
			goto out;
	if (p->load(text->data, text->len, &features, state, err) < 0) {
		tw_err_wrap(err, "reading the fitted model back");
		goto out;
	}

	*predictor = p;
	rc = 0;
out:
	tw_strs_clear(&features);
	return rc;
}

static void predict(const struct tw_predictor *p, const void *state,
		    const struct tw_samples *s, const int64_t *time_ms,
		    struct tw_fold fold, double *predicted)
{
	const struct tw_rows in = {
		.x = s->x + fold.from * s->cols,
		.rows = fold.to - fold.from,
		.stride = s->cols,
		.time_ms = time_ms != NULL ? time_ms + fold.from : NULL,
	};

	p->predict(state, &in, predicted);
	/* A served model clamps at 0 W, too. NaN is kept: tw_score() rejects it. */
	for (size_t i = 0; i < in.rows; i++)
		if (predicted[i] < 0.0)
			predicted[i] = 0.0;
}

int tw_validate_fold(const struct tw_trainer *t, const struct tw_samples *s,
		     struct tw_fold fold, uint64_t seed, double *predicted,
		     double *series, struct tw_err *err)
{
	const struct tw_predictor *p = NULL;
	struct tw_buf text = { 0 };
	void *state = NULL;
	int rc = -1;

	if (fit_outside(t, s, tw_fold_widen(fold, s->overlap, s->rows), seed, &text,
			err) < 0 ||
	    read_back(t, s, &text, &p, &state, err) < 0) {
		tw_err_wrap(err, "without rows %zu to %zu", fold.from, fold.to - 1);
		goto out;
	}
	predict(p, state, s, NULL, fold, predicted);
	if (series != NULL)
		predict(p, state, s, s->time_ms, fold, series);

	rc = 0;
out:
	if (p != NULL)
		p->free(state);
	tw_buf_clear(&text);
	return rc;
}

int tw_validate_fit(const struct tw_trainer *t, const struct tw_samples *s, uint64_t seed,
		    struct tw_buf *text, struct tw_err *err)
{
	const struct tw_predictor *p;
	void *state;

	if (t->fit(s, seed, text, err) < 0 || read_back(t, s, text, &p, &state, err) < 0)
		return -1;
	p->free(state);
	return 0;
}
