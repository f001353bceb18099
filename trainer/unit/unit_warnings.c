/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/unit/unit_warnings.h"

#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "trainer/unit/unit_data.h"
#include "trainer/unit/unit_fit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* Joules by blocks twice as long that are farther than this share are a warning. */
#define FARTHER 0.05
#define R2_LOW 0.5

static int warn(struct tw_strs *out, struct tw_err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int warn(struct tw_strs *out, struct tw_err *err, const char *fmt, ...)
{
	char text[TW_ERR_TEXT];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return tw_strs_adds(out, text, err);
}

static int warn_of_hidden(const struct tw_unit_blocks *b, struct tw_strs *out,
			  struct tw_err *err)
{
	if (b->energy_counts.hidden > 0 &&
	    warn(out, err,
		 "%zu series of energy began with a high value: their energy before is "
		 "not known",
		 b->energy_counts.hidden) < 0)
		return -1;
	for (size_t k = 0; k < b->works; k++)
		if (b->work_counts[k].hidden > 0 &&
		    warn(out, err,
			 "%zu series of %s began with a high value: their units before "
			 "are not known",
			 b->work_counts[k].hidden, b->name[k]) < 0)
			return -1;
	return 0;
}

static int warn_of_counter(const struct tw_unit_blocks *b, const struct tw_unit_cost *c,
			   const char *name, struct tw_strs *out, struct tw_err *err)
{
	if (c->vif > TW_UNIT_VIF_MAX &&
	    warn(out, err,
		 "%s moves with %s (correlation %.3f): record loads of another mix for a "
		 "narrower interval",
		 name, b->name[c->partner], c->correlation) < 0)
		return -1;
	return c->joules.falls
		       ? warn(out, err,
			      "energy falls where %s rises: other work makes way for it; "
			      "count that, too",
			      name)
		       : 0;
}

static int warn_of_fit(const struct tw_unit_blocks *b, const struct tw_unit_fit *f,
		       struct tw_strs *out, struct tw_err *err)
{
	for (size_t k = 0; k < f->works; k++)
		if (warn_of_counter(b, &f->work[k], b->name[k], out, err) < 0)
			return -1;
	if (f->standing_w.falls &&
	    warn(out, err,
		 "standing power would be below 0: joules of a unit fall with load") < 0)
		return -1;
	return f->r2 < R2_LOW
		       ? warn(out, err,
			      "R2 is %.2f: most of the power follows other work", f->r2)
		       : 0;
}

static int compare(const struct tw_unit_blocks *b, const struct tw_unit_fit *f,
		   const struct tw_unit_fit *longer, struct tw_strs *out,
		   struct tw_err *err)
{
	for (size_t k = 0; k < f->works; k++) {
		const struct tw_unit_value *v = &f->work[k].joules;
		const double at = longer->work[k].joules.at;

		if ((at < v->low || at > v->high) && fabs(at - v->at) > FARTHER * v->at &&
		    warn(out, err,
			 "blocks twice as long give %.4g J for %s: its work is counted "
			 "long after it is done; pass a longer --block",
			 at, b->name[k]) < 0)
			return -1;
	}
	return 0;
}

/* Energy that is used long before or after its work is counted spoils short blocks. */
static int warn_of_blocks(struct tw_unit_data *d, const struct tw_unit_blocks *b,
			  const struct tw_unit_fit *f, struct tw_strs *out,
			  struct tw_err *err)
{
	struct tw_unit_blocks longer = { 0 };
	struct tw_unit_fit fit = { 0 };
	struct tw_err why = { 0 };
	int rc = 0;

	if (tw_unit_data_blocks(d, 2 * (uint64_t)b->block_ms, &longer, &why) == 0 &&
	    tw_unit_fit(&longer, &fit, &why) == 0)
		rc = compare(b, f, &fit, out, err);
	else if (why.code == TW_NOMEM)
		rc = tw_fail(err, TW_NOMEM, "longer blocks");
	tw_unit_blocks_release(&longer);
	tw_unit_fit_release(&fit);
	return rc;
}

int tw_unit_warnings(struct tw_unit_data *d, const struct tw_unit_blocks *b,
		     const struct tw_unit_fit *f, struct tw_strs *out, struct tw_err *err)
{
	return warn_of_hidden(b, out, err) < 0 || warn_of_fit(b, f, out, err) < 0 ||
			       warn_of_blocks(d, b, f, out, err) < 0
		       ? -1
		       : 0;
}
