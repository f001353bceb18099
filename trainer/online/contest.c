/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/online/contest.h"

#include "estimator/predict/power_model.h"
#include "lib/core/err.h"
#include "lib/zip/fileset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* <source>/<output>/<group>/<name> */
#define BASE_MAX 512

static int measure(const struct tw_power_model *p, const struct tw_contest_terms *t,
		   struct tw_online_error *out, struct tw_err *err)
{
	for (size_t i = 0; i < t->count; i++)
		if (tw_online_error_add(out, p, t->held[i], err) < 0)
			return -1;
	return 0;
}

/* The error to beat, W: that of the counterpart, else that of the mean. */
static int measure_rival(const struct tw_online_models *serving,
			 const struct tw_online_model *candidate,
			 const struct tw_online_error *own,
			 const struct tw_contest_terms *t, double *out,
			 struct tw_err *err)
{
	const size_t i = tw_online_models_find(serving, candidate->model);
	struct tw_online_error rival = { 0 };

	*out = own->mean_error_sum_w / (double)own->rows;
	if (i == serving->count)
		return 0;
	if (measure(serving->at[i].model, t, &rival, err) < 0)
		return -1;
	if (rival.rows > 0)
		*out = tw_online_error_mae_w(&rival);
	/* A certificate is worth the margin. */
	if (candidate->certified && !serving->at[i].certified)
		*out /= 1.0 - t->margin;
	return 0;
}

static int judge(const struct tw_online_models *candidates,
		 const struct tw_online_models *serving, size_t i,
		 const struct tw_contest_terms *t, struct tw_contest *c,
		 struct tw_err *err)
{
	const struct tw_online_model *candidate = &candidates->at[i];
	struct tw_online_error own = { 0 };
	double rival_w = NAN, own_w;
	bool better;

	if (measure(candidate->model, t, &own, err) < 0)
		return -1;
	if (own.rows < t->rows_min)
		return 0;
	if (measure_rival(serving, candidate, &own, t, &rival_w, err) < 0)
		return -1;
	own_w = tw_online_error_mae_w(&own);
	better = own_w <= rival_w * (1.0 - t->margin);
	c->won[i] = better && candidate->certified;
	c->uncertified += better && !candidate->certified;
	if (c->rows > 0 && (c->won[c->best] > c->won[i] ||
			    (c->won[c->best] == c->won[i] && c->candidate_w <= own_w)))
		goto count;
	c->best = i;
	c->rows = own.rows;
	c->candidate_w = own_w;
	c->serving_w = rival_w;
	c->reason = candidate->reason;
count:
	c->wins += c->won[i];
	return 0;
}

int tw_contest_run(const struct tw_online_models *candidates,
		   const struct tw_online_models *serving,
		   const struct tw_contest_terms *terms, struct tw_contest *out,
		   struct tw_err *err)
{
	out->won = calloc(candidates->count + 1, sizeof(*out->won));
	if (out->won == NULL)
		return tw_fail(err, TW_NOMEM, "contest of %zu models", candidates->count);
	for (size_t i = 0; i < candidates->count; i++)
		if (judge(candidates, serving, i, terms, out, err) < 0)
			return -1;
	return 0;
}

void tw_contest_release(struct tw_contest *c)
{
	free(c->won);
	*c = (struct tw_contest){ 0 };
}

/* ---- losers ---- */

static bool is_file_of(const char *name, const struct tw_model_info *i,
		       const char *output)
{
	char base[BASE_MAX];
	size_t len;

	snprintf(base, sizeof(base), "%s/%s/%s/%s", i->source->name, output,
		 i->group->name, i->name);
	len = strlen(base);
	return strncmp(name, base, len) == 0 && (name[len] == '.' || name[len] == '/');
}

static bool is_of_loser(const char *name, const struct tw_contest *c,
			const struct tw_online_models *candidates)
{
	for (size_t i = 0; i < candidates->count; i++) {
		const struct tw_model_info *info =
			tw_power_model_info(candidates->at[i].model);

		if (!c->won[i] && (is_file_of(name, info, tw_output_name(TW_ABS_POWER)) ||
				   is_file_of(name, info, tw_output_name(TW_DYN_POWER))))
			return true;
	}
	return false;
}

void tw_contest_drop_losers(const struct tw_contest *c,
			    const struct tw_online_models *candidates,
			    struct tw_fileset *pipeline)
{
	size_t kept = 0;

	for (size_t i = 0; i < pipeline->count; i++) {
		if (!is_of_loser(pipeline->at[i].name, c, candidates)) {
			pipeline->at[kept++] = pipeline->at[i];
			continue;
		}
		free(pipeline->at[i].name);
		free(pipeline->at[i].data);
	}
	pipeline->count = kept;
}
