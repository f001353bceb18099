/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/choose_prior.h"

#include "lib/core/err.h"
#include "model-db/index/choose.h"
#include "model-db/index/index.h"
#include "model-db/index/matcher.h"
#include "model-db/model.h"
#include "model-db/prior/prior_model.h"
#include "profiler/cpu_identity.h"

#include <string.h>

/*
 * The error of the nearest machine with another processor, a share of power:
 * bench-machines measures 27 % for processors left out, and 36 % for later machines.
 */
#define NEAREST_ERROR 0.27

static bool same_processor(const char *a, const char *b)
{
	struct tw_cpu_identity x, y;

	tw_cpu_identify(a, strlen(a), NULL, &x);
	tw_cpu_identify(b, strlen(b), NULL, &y);
	return x.how[TW_CPU_VENDOR] != TW_CPU_UNKNOWN &&
	       strcmp(x.processor, y.processor) == 0;
}

int tw_choose_prior(const struct tw_index *x, const struct tw_wanted *w,
		    const struct tw_choice *chosen, struct tw_model *out,
		    struct tw_err *err)
{
	struct tw_model m = { 0 };
	const bool nearest = chosen != NULL && chosen->match == TW_MATCH_SIMILAR;

	if (x->prior.views == 0 || w->output != TW_ABS_POWER || w->trainer != NULL ||
	    w->pipeline != NULL || w->filter != NULL || w->node_type >= 0)
		return tw_fail(err, TW_NOTFOUND, "the prior is not asked");
	if (chosen != NULL &&
	    same_processor(chosen->entry->machine->spec.processor, w->spec.processor))
		return tw_fail(err, TW_NOTFOUND, "this processor was measured");
	if (tw_prior_model(&x->prior, &w->spec, w->source, &w->metrics, &m, err) < 0)
		return -1;
	if (nearest && m.info.mape_percent > 100 * NEAREST_ERROR) {
		tw_model_release(&m);
		return tw_fail(
			err, TW_NOTFOUND,
			"the error of the nearest machine is less than the prior's");
	}
	*out = m;
	return 0;
}
