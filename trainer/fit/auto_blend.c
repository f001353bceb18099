/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/auto_blend.h"

#include "lib/core/err.h"
#include "trainer/fit/auto_trial.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

/* Hardly worse than the best: an error of up to this times its. */
#define HARDLY_WORSE 1.05

/* An unusual one must be plainly better than the best usual one, below this share. */
#define PLAINLY_BETTER 0.85

/* The best usual trial; NULL if all failed. */
static const struct tw_auto_trial *best_usual(const struct tw_auto_trials *t)
{
	const struct tw_auto_trial *best = NULL;

	for (size_t i = 0; i < t->count; i++) {
		const struct tw_auto_trial *at = &t->at[i];

		if (at->standing == TW_AUTO_USUAL && at->err.code == TW_OK &&
		    (best == NULL || at->mae < best->mae))
			best = at;
	}
	return best;
}

/* Whether a trial may be added. */
static bool eligible(const struct tw_auto_trials *t, const struct tw_auto_blend *b,
		     size_t trial, const struct tw_auto_trial *usual)
{
	const struct tw_auto_trial *at = &t->at[trial];

	for (size_t i = 0; i < b->count; i++)
		if (b->trial[i] == trial)
			return false;
	if (at->err.code != TW_OK || at->standing == TW_AUTO_PROBE)
		return false;
	return at->standing == TW_AUTO_USUAL || usual == NULL ||
	       tw_auto_better(at, usual, PLAINLY_BETTER);
}

/* The next trial in the order of errors, then of numbers; false if there is none. */
static bool find_next(const struct tw_auto_trials *t, const struct tw_auto_blend *b,
		      size_t *out)
{
	const struct tw_auto_trial *usual = best_usual(t);
	double least = INFINITY;
	bool found = false;

	for (size_t i = 0; i < t->count; i++) {
		if (!eligible(t, b, i, usual) || !(t->at[i].mae < least))
			continue;
		least = t->at[i].mae;
		*out = i;
		found = true;
	}
	return found;
}

double tw_auto_blend_row(const struct tw_auto_trials *t, const struct tw_auto_blend *b,
			 size_t row)
{
	double watts = 0.0;

	for (size_t i = 0; i < b->count; i++)
		watts += t->at[b->trial[i]].predicted[row] / (double)b->count;
	return watts;
}

int tw_auto_blend(const struct tw_auto_trials *t, size_t most, struct tw_auto_blend *out,
		  struct tw_err *err)
{
	const double rows = (double)t->rows.count;
	struct tw_auto_blend b = { 0 };
	size_t next;

	assert(most <= TW_AUTO_MEMBERS_MAX);
	while (b.count < most && find_next(t, &b, &next)) {
		if (b.count > 0 && t->at[next].mae > HARDLY_WORSE * t->at[b.trial[0]].mae)
			break;
		b.trial[b.count++] = next;
	}
	if (b.count == 0)
		return tw_fail(err, t->at[0].err.code, "%s", t->at[0].err.text);
	for (size_t r = 0; r < t->rows.count; r++)
		b.mae +=
			fabs(tw_auto_blend_row(t, &b, r) - tw_auto_measured(t, r)) / rows;
	*out = b;
	return 0;
}
