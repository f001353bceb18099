/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/prior/prior_answer.h"

#include "model-db/prior/prior_variance.h"

#include <math.h>

static bool has_generation(const struct tw_prior *p, const struct tw_prior_view *v,
			   const struct tw_prior_row *r)
{
	const int generation = r->category[TW_PRIOR_GENERATION];

	for (size_t k = 0; generation >= 0 && k < v->anchors; k++)
		if (p->row[v->anchor[k].row].category[TW_PRIOR_GENERATION] == generation)
			return true;
	return false;
}

int tw_prior_answer(const struct tw_prior *p, const struct tw_prior_view *v,
		    const struct tw_prior_machine *m, struct tw_prior_curve *out,
		    struct tw_err *err)
{
	double log_w[TW_PRIOR_LOADS], variance[TW_PRIOR_LOADS];
	const struct tw_prior_misses *misses;
	struct tw_prior_row r;

	tw_prior_locate(p, m, &r);
	tw_prior_part(v, &r);
	tw_prior_view_log_w(p, v, &r, log_w);
	if (tw_prior_variance(p, v, &r, TW_PRIOR_ALL_ANCHORS, variance, err) < 0)
		return -1;
	out->view = v;
	out->later = !has_generation(p, v, &r);
	misses = out->later ? &v->later : &v->known;
	for (size_t j = 0; j < TW_PRIOR_LOADS; j++) {
		const double sd = sqrt(variance[j]);

		out->w[j] = exp(log_w[j] - variance[j]) * v->factor[j];
		if (j > 0)
			out->w[j] = fmax(out->w[j], out->w[j - 1]);
		out->low[j] = out->w[j] * exp(-sd * misses->width[j]);
		out->high[j] = out->w[j] * exp(sd * misses->width[j]);
		out->error[j] = out->w[j] * sd * misses->error[j];
	}
	return 0;
}
