/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/validate.h"

#include "estimator/predict/predictor.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "trainer/fit/random.h"
#include "trainer/fit/workload_runs.h"

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

int tw_outside_init(struct tw_outside *out, const struct tw_samples *s,
		    struct tw_fold fold, struct tw_err *err)
{
	const struct tw_fold wide = tw_fold_widen(fold, s->overlap, s->rows);
	const size_t rows = s->rows - (wide.to - wide.from);

	out->x = malloc((rows * s->cols + 1) * sizeof(*out->x));
	out->y = malloc((rows + 1) * sizeof(*out->y));
	out->time_ms = malloc((rows + 1) * sizeof(*out->time_ms));
	if (out->x == NULL || out->y == NULL || out->time_ms == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows to train on", rows);
	copy_outside(out->x, s->x, s->rows, s->cols * sizeof(*out->x), wide);
	copy_outside(out->y, s->y, s->rows, sizeof(*out->y), wide);
	if (s->time_ms != NULL)
		copy_outside(out->time_ms, s->time_ms, s->rows, sizeof(*out->time_ms),
			     wide);
	out->samples = *s;
	out->samples.rows = rows;
	out->samples.x = out->x;
	out->samples.y = out->y;
	out->samples.time_ms = s->time_ms != NULL ? out->time_ms : NULL;
	out->samples.blocks = s->blocks > 0 ? s->blocks - 1 : 0;
	return 0;
}

void tw_outside_release(struct tw_outside *o)
{
	free(o->x);
	free(o->y);
	free(o->time_ms);
	*o = (struct tw_outside){ 0 };
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
	if (tw_predictor_load(p, text->data, text->len, &features, state, err) < 0) {
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

int tw_validate_text(const struct tw_trainer *t, const struct tw_samples *s,
		     struct tw_fold fold, const struct tw_buf *text, double *predicted,
		     double *series, struct tw_err *err)
{
	const struct tw_predictor *p;
	void *state;

	if (read_back(t, s, text, &p, &state, err) < 0)
		return -1;
	predict(p, state, s, NULL, fold, predicted);
	if (series != NULL)
		predict(p, state, s, s->time_ms, fold, series);
	tw_predictor_free(p, state);
	return 0;
}

int tw_validate_fold(const struct tw_trainer *t, const struct tw_samples *s,
		     struct tw_fold fold, uint64_t seed, double *predicted,
		     double *series, struct tw_err *err)
{
	struct tw_outside outside = { 0 };
	struct tw_buf text = { 0 };
	int rc = -1;

	if (tw_outside_init(&outside, s, fold, err) == 0 &&
	    t->fit(t, &outside.samples, seed, &text, err) == 0 &&
	    tw_validate_text(t, s, fold, &text, predicted, series, err) == 0)
		rc = 0;
	else
		tw_err_wrap(err, "without rows %zu to %zu", fold.from, fold.to - 1);
	tw_outside_release(&outside);
	tw_buf_clear(&text);
	return rc;
}

int tw_validate_fit(const struct tw_trainer *t, const struct tw_samples *s, uint64_t seed,
		    struct tw_buf *text, struct tw_err *err)
{
	const struct tw_predictor *p;
	void *state;

	if (t->fit(t, s, seed, text, err) < 0 ||
	    read_back(t, s, text, &p, &state, err) < 0)
		return -1;
	tw_predictor_free(p, state);
	return 0;
}

static int begin(const char *scheme, size_t rows, struct tw_folds *f, struct tw_err *err)
{
	f->scheme = scheme;
	return TW_NEW(f->of, rows + 1, err);
}

/*
 * f->of has an index into names for each row. Replace it by a fold number: names that
 * have rows are numbered in order.
 */
static int number_folds(struct tw_folds *f, const char *const *names, size_t count,
			size_t rows, struct tw_err *err)
{
	uint32_t *number = NULL;
	size_t held_out = 0;
	int rc = -1;

	if (TW_NEW(number, count + 1, err) < 0)
		goto out;
	for (size_t r = 0; r < rows; r++) {
		if (f->of[r] == TW_FOLD_NONE)
			continue;
		number[f->of[r]] = 1;
		held_out++;
	}
	for (size_t i = 0; i < count; i++) {
		if (number[i] == 0)
			continue;
		number[i] = (uint32_t)f->count++;
		if (tw_strs_adds(&f->names, names[i], err) < 0)
			goto out;
	}
	if (f->count == 0 || (f->count == 1 && held_out == rows)) {
		tw_fail(err, TW_INVALID,
			"%zu workloads have rows, need 2, or 1 and rows of no "
			"workload",
			f->count);
		goto out;
	}
	for (size_t r = 0; r < rows; r++)
		if (f->of[r] != TW_FOLD_NONE)
			f->of[r] = number[f->of[r]];

	rc = 0;
out:
	free(number);
	return rc;
}

int tw_folds_by_workload(const struct tw_workload_runs *w, const int64_t *time_ms,
			 size_t rows, struct tw_folds *out, struct tw_err *err)
{
	struct tw_folds f = { 0 };
	int rc = -1;

	if (begin("workload", rows, &f, err) < 0)
		goto out;
	for (size_t r = 0; r < rows; r++)
		f.of[r] = tw_workload_runs_at(w, time_ms[r]);
	if (number_folds(&f, (const char *const *)w->names.at, w->names.count, rows,
			 err) < 0)
		goto out;

	*out = f;
	f = (struct tw_folds){ 0 };
	rc = 0;
out:
	tw_folds_release(&f);
	return rc;
}

int tw_folds_by_recording(const uint32_t *recording, const char *const *names,
			  size_t count, size_t rows, struct tw_folds *out,
			  struct tw_err *err)
{
	struct tw_folds f = { 0 };
	int rc = -1;

	if (begin("workload", rows, &f, err) < 0)
		goto out;
	memcpy(f.of, recording, rows * sizeof(*f.of));
	if (number_folds(&f, names, count, rows, err) < 0)
		goto out;

	*out = f;
	f = (struct tw_folds){ 0 };
	rc = 0;
out:
	tw_folds_release(&f);
	return rc;
}

/* Shuffle as R. Fisher and F. Yates do. The bias of the remainder is negligible. */
int tw_folds_shuffled(size_t rows, size_t folds, uint64_t seed, struct tw_folds *out,
		      struct tw_err *err)
{
	struct tw_random random = { .state = seed };
	struct tw_folds f = { 0 };

	if (begin("shuffled", rows, &f, err) < 0)
		return -1;
	f.count = folds < rows ? folds : rows;
	for (size_t r = 0; r < rows; r++)
		f.of[r] = (uint32_t)(r % f.count);
	for (size_t r = rows; r > 1; r--) {
		const size_t other = tw_random_next(&random) % r;
		const uint32_t kept = f.of[r - 1];

		f.of[r - 1] = f.of[other];
		f.of[other] = kept;
	}
	*out = f;
	return 0;
}

void tw_folds_release(struct tw_folds *f)
{
	free(f->of);
	tw_strs_clear(&f->names);
	*f = (struct tw_folds){ 0 };
}

/* ---- validation ---- */

/* Rows reordered: those outside the fold first, each part in order of time. */
struct order {
	size_t *row;
	double *x, *y, *predicted;
	size_t outside;
};

static int put_in_order(const struct tw_folds *f, uint32_t k, const struct tw_samples *s,
			struct order *o, struct tw_err *err)
{
	size_t at = 0;

	if (TW_NEW(o->row, s->rows + 1, err) < 0 ||
	    tw_new(&o->x, s->rows + 1, s->cols * sizeof(*o->x), err) < 0 ||
	    TW_NEW(o->y, s->rows + 1, err) < 0 ||
	    TW_NEW(o->predicted, s->rows + 1, err) < 0)
		return -1;
	for (int inside = 0; inside < 2; inside++) {
		for (size_t r = 0; r < s->rows; r++)
			if ((f->of[r] == k) == inside)
				o->row[at++] = r;
		if (inside == 0)
			o->outside = at;
	}
	for (size_t i = 0; i < s->rows; i++) {
		memcpy(o->x + i * s->cols, s->x + o->row[i] * s->cols,
		       s->cols * sizeof(*o->x));
		o->y[i] = s->y[o->row[i]];
	}
	return 0;
}

int tw_folds_validate(const struct tw_folds *f, uint32_t k, const struct tw_trainer *t,
		      const struct tw_samples *s, uint64_t seed, double *predicted,
		      struct tw_err *err)
{
	struct tw_samples ordered = *s;
	struct order o = { 0 };
	struct tw_fold fold;
	int rc = -1;

	if (put_in_order(f, k, s, &o, err) < 0)
		goto out;
	ordered.x = o.x;
	ordered.y = o.y;
	ordered.overlap = 0; /* adjacency is lost */
	ordered.blocks = 0;
	ordered.time_ms = NULL; /* rows are not in order of time */
	fold = (struct tw_fold){ o.outside, s->rows };
	if (tw_validate_fold(t, &ordered, fold, seed, o.predicted, NULL, err) < 0)
		goto out;
	for (size_t i = fold.from; i < fold.to; i++)
		predicted[o.row[i]] = o.predicted[i - fold.from];

	rc = 0;
out:
	free(o.row);
	free(o.x);
	free(o.y);
	free(o.predicted);
	return rc;
}
