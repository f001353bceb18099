/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/choose_prior.h"

#include "lib/core/err.h"
#include "model-db/index/choose.h"
#include "model-db/index/index.h"
#include "model-db/index/matcher.h"
#include "model-db/model.h"
#include "model-db/prior/prior_model.h"
#include "profiler/likeness.h"

#include <math.h>
#include <string.h>

/* The expected error of a measured machine's model, a share of power, by its likeness. */
static double nearest_error(const struct tw_prior *p, const struct tw_likeness *mine,
			    const struct tw_likeness *measured)
{
	const double l = tw_likeness(mine, measured);

	return p->nearest_error[(size_t)lround(l * (TW_PRIOR_LIKENESSES - 1))];
}

int tw_choose_prior(const struct tw_index *x, const struct tw_wanted *w,
		    const struct tw_choice *chosen, struct tw_model *out,
		    struct tw_err *err)
{
	struct tw_prior_estimate e;
	const struct tw_likeness *measured =
		chosen != NULL ? &chosen->entry->machine->likeness : NULL;
	struct tw_likeness mine;

	if (x->prior.views == 0 || w->output != TW_ABS_POWER ||
	    (w->trainer != NULL && !w->default_trainer) || w->pipeline != NULL ||
	    w->filter != NULL || w->node_type >= 0)
		return tw_fail(err, TW_NOTFOUND, "the prior is not asked");
	if (measured != NULL && !w->weight && !w->classes && w->trainer == NULL &&
	    tw_index_is_trees(chosen->entry))
		return tw_fail(err, TW_NOTFOUND, "the client reads trees only");
	tw_likeness_of(&w->spec, &mine);
	if (measured != NULL && mine.vendor[0] != '\0' &&
	    strcmp(mine.processor, measured->processor) == 0)
		return tw_fail(err, TW_NOTFOUND, "this processor was measured");
	if (tw_prior_estimate(&x->prior, &w->spec, &e, err) < 0)
		return -1;
	/* Both errors are of wall power. */
	if (measured != NULL && chosen->match == TW_MATCH_SIMILAR &&
	    e.error > nearest_error(&x->prior, &mine, measured))
		return tw_fail(
			err, TW_NOTFOUND,
			"the error of the nearest machine is less than the prior's");
	return tw_prior_model_of(&e, &w->spec, w->source, &w->metrics, out, err);
}
