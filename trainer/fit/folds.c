/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/folds.h"

#include "lib/core/err.h"
#include "trainer/fit/random.h"
#include "trainer/fit/trainer.h"
#include "trainer/fit/validate.h"
#include "trainer/fit/workload_runs.h"

#include <stdlib.h>
#include <string.h>

static int begin(const char *scheme, size_t rows, struct tw_folds *f, struct tw_err *err)
{
	f->scheme = scheme;
	f->of = calloc(rows + 1, sizeof(*f->of));
	if (f->of == NULL)
		return tw_fail(err, TW_NOMEM, "folds of %zu rows", rows);
	return 0;
}

/*
 * f->of has an index into names for each row. Replace it by a fold number: names that
 * have rows are numbered in order.
 */
static int number_folds(struct tw_folds *f, const char *const *names, size_t count,
			size_t rows, struct tw_err *err)
{
	uint32_t *number = calloc(count + 1, sizeof(*number));
	size_t held_out = 0;
	int rc = -1;

	if (number == NULL) {
		tw_fail(err, TW_NOMEM, "%zu workloads", count);
		goto out;
	}
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

	o->row = calloc(s->rows + 1, sizeof(*o->row));
	o->x = calloc(s->rows + 1, s->cols * sizeof(*o->x));
	o->y = calloc(s->rows + 1, sizeof(*o->y));
	o->predicted = calloc(s->rows + 1, sizeof(*o->predicted));
	if (o->row == NULL || o->x == NULL || o->y == NULL || o->predicted == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows to validate", s->rows);
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
	ordered.overlap = 0;    /* adjacency is lost */
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
