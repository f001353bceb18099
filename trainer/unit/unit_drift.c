/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/unit/unit_drift.h"

#include "lib/core/err.h"

#include <math.h>
#include <stdint.h>

/* The newest part is this share of the blocks. */
#define NEWEST_SHARE 4
#define LEAST_CHANGE 0.05

/* Blocks from first on, borrowed. */
static struct tw_unit_blocks part(const struct tw_unit_blocks *b, size_t first,
				  size_t count)
{
	struct tw_unit_blocks p = *b;

	p.count = count;
	p.bound_ms += first;
	p.energy_j += first;
	p.idle_j += first;
	p.work += first * b->works;
	p.inner_work += first * b->works;
	p.intensity += first;
	p.batch += first;
	return p;
}

/* Difference as a multiple of what counts as drift. */
static double compare(const struct tw_unit_value *before, const struct tw_unit_value *now)
{
	const double least = fmax(hypot(before->high - before->low, now->high - now->low),
				  LEAST_CHANGE * before->at);

	return least > 0 ? fabs(now->at - before->at) / least : 0;
}

static void judge(const struct tw_unit_fit *before, const struct tw_unit_fit *now,
		  struct tw_unit_drift *out)
{
	double most = compare(&before->standing_w, &now->standing_w);

	*out = (struct tw_unit_drift){ .work = SIZE_MAX,
				       .before = before->standing_w.at,
				       .now = now->standing_w.at,
				       .seconds = now->seconds };
	for (size_t k = 0; k < before->works; k++) {
		const struct tw_unit_value *b = &before->work[k].joules;
		const struct tw_unit_value *n = &now->work[k].joules;

		if (compare(b, n) <= most)
			continue;
		most = compare(b, n);
		out->work = k;
		out->before = b->at;
		out->now = n->at;
	}
	out->state = most > 1 ? TW_UNIT_DRIFT_SEEN : TW_UNIT_DRIFT_NONE;
}

int tw_unit_drift_find(const struct tw_unit_blocks *b, struct tw_unit_drift *out,
		       struct tw_err *err)
{
	const size_t share = b->count / NEWEST_SHARE;
	const size_t newest = share > TW_UNIT_DRIFT_BLOCKS ? share : TW_UNIT_DRIFT_BLOCKS;
	struct tw_unit_fit before = { 0 }, now = { 0 };
	struct tw_unit_blocks old, new;
	struct tw_err why = { 0 };

	*out = (struct tw_unit_drift){ 0 };
	if (b->count < newest + TW_UNIT_DRIFT_BLOCKS)
		return 0;
	old = part(b, 0, b->count - newest);
	new = part(b, b->count - newest, newest);
	if (tw_unit_fit(&old, &before, &why) == 0 && tw_unit_fit(&new, &now, &why) == 0)
		judge(&before, &now, out);
	tw_unit_fit_release(&before);
	tw_unit_fit_release(&now);
	return why.code == TW_NOMEM ? tw_fail(err, TW_NOMEM, "drift of a unit") : 0;
}
