/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/explain.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"
#include "model-db/index/choose.h"
#include "model-db/index/index.h"
#include "model-db/model.h"
#include "model-db/prior/prior_file.h"
#include "model-db/prior/prior_model.h"
#include "profiler/node_types.h"

#include <math.h>

/* Similarity as a choice counts it: less than TW_SIMILAR_ENOUGH counts as 0. */
static double similarity_in_choice(const struct tw_matcher *m,
				   const struct tw_index_entry *e)
{
	const double s = tw_matcher_similarity(m, e->machine);

	return s >= TW_SIMILAR_ENOUGH ? s : 0;
}

/* ---- why a model is no candidate ---- */

/* Append the reason; false if the model is a candidate. */
static bool add_mismatch(const struct tw_matcher *m, const struct tw_index_entry *e,
			 struct tw_buf *b)
{
	const char *detail;

	switch (tw_matcher_check(m, e, &detail)) {
	case TW_MISMATCH_METRIC:
		tw_buf_addf(b, "needs metric '%s'", detail);
		return true;
	case TW_MISMATCH_PIPELINE:
		tw_buf_adds(b, "of another pipeline");
		return true;
	case TW_MISMATCH_TRAINER:
		tw_buf_adds(b, "of another trainer");
		return true;
	case TW_MISMATCH_MACHINE:
		tw_buf_adds(b, m->wanted->node_type >= 0 ? "of another node type"
							 : "of another machine");
		return true;
	case TW_MISMATCH_CLIENT:
		tw_buf_adds(b, detail);
		return true;
	case TW_MISMATCH_FILTER:
		tw_buf_addf(b, "filter '%s' not passed", detail);
		return true;
	case TW_MISMATCH_BROKEN:
		tw_buf_adds(b, "it cannot be read");
		return true;
	case TW_MATCHES:
		break;
	}
	return false;
}

/* ---- why a candidate lost ---- */

static void add_rank(const struct tw_matcher *m, const struct tw_index_entry *e,
		     const struct tw_index_entry *best, struct tw_buf *b)
{
	const bool series = tw_wanted_series(m->wanted);
	const char *key = tw_index_error_key(m->index, series);
	const double error = series ? e->series_error : e->error,
		     least = series ? best->series_error : best->error;

	if (e->machine != best->machine)
		tw_buf_addf(b,
			    "node type %lld of pipeline '%s' comes later in the order of "
			    "preference",
			    e->node_type, e->pipeline);
	else if (e->fitness == TW_UNFIT && best->fitness != TW_UNFIT)
		tw_buf_addf(b, "it has no certificate: %s", e->unfit_why);
	else if (error > least || (isnan(error) && !isnan(least)))
		tw_buf_addf(b, "its %s%s is %s", key, series ? " as a series" : "",
			    tw_index_figure_more_is_better(key) ? "lower" : "higher");
	else if (e->feature_count > best->feature_count)
		tw_buf_adds(b, "it needs more features");
	else
		tw_buf_adds(b, "its name comes later");
}

static void add_loss(const struct tw_matcher *m, const struct tw_index_entry *e,
		     const struct tw_index_entry *best, struct tw_buf *b)
{
	const struct tw_wanted *w = m->wanted;
	const bool by_number = w->node_type >= 0 && best->node_type == w->node_type;
	const double s = similarity_in_choice(m, e),
		     best_s = similarity_in_choice(m, best);

	if (by_number && e->node_type != w->node_type)
		tw_buf_adds(b, "of another node type");
	else if (!by_number && s < best_s)
		tw_buf_adds(b, "its machine is less similar");
	else if (!by_number && best_s > 0 && e->machine->members < best->machine->members)
		tw_buf_adds(b, "fewer machines of its type were measured");
	else if (w->weight && w->output == TW_ABS_POWER && !e->idle_power &&
		 best->idle_power)
		tw_buf_adds(b, "it gives no power at zero use");
	else if (tw_matcher_yields(m, e) && !tw_matcher_yields(m, best))
		tw_buf_adds(
			b, "its mean error is above a third of the certificate's limits");
	else
		add_rank(m, e, best, b);
}

/* ---- JSON ---- */

static void add_model(const struct tw_matcher *m, const struct tw_index_entry *e,
		      struct tw_buf *b)
{
	tw_json_add_text(b, "pipeline", e->pipeline);
	tw_json_add_text(b, "model_name", e->name);
	tw_json_add_text(b, "feature_group", e->group->name);
	tw_json_add_int(b, "node_type", e->node_type);
	tw_json_add_number(b, "mae", e->mae_w);
	tw_json_add_number(b, "series_mae", tw_index_series_figure(e, "mae"));
	tw_json_add_number(b, "mape", e->mape_percent);
	if (e->fitness == TW_FITNESS_UNKNOWN)
		tw_json_add_null(b, "certificate");
	else
		tw_json_add_text(b, "certificate",
				 e->fitness == TW_FIT ? "yes" : e->unfit_why);
	if (tw_machine_spec_known(&m->wanted->spec))
		tw_json_add_number(b, "similarity", tw_matcher_similarity(m, e->machine));
	else
		tw_json_add_null(b, "similarity");
}

/* The certainty that the machine is of the chosen node type of its pipeline. */
static void add_certainty(const struct tw_matcher *m, const struct tw_index_entry *e,
			  struct tw_buf *b)
{
	const struct tw_index_pipeline *p = tw_index_pipeline_find(m->index, e->pipeline);
	struct tw_node_choice choice;

	if (!tw_machine_spec_known(&m->wanted->spec) || p == NULL ||
	    !tw_node_judge(&p->types, &m->wanted->spec, (uint32_t)e->node_type,
			   &choice)) {
		tw_json_add_null(b, "uncertainty");
		tw_json_add_null(b, "looseness");
		return;
	}
	tw_json_add_number(b, "uncertainty", choice.uncertainty);
	tw_json_add_number(b, "looseness", choice.looseness);
}

static void add_candidate(const struct tw_matcher *m, const struct tw_index_entry *e,
			  const struct tw_index_entry *best, struct tw_buf *b)
{
	struct tw_buf why = { 0 };

	/* best is NULL if another request just found the last candidate broken. */
	if (e != best && !add_mismatch(m, e, &why) && best != NULL)
		add_loss(m, e, best, &why);
	tw_json_add_object(b, NULL);
	add_model(m, e, b);
	if (e == best)
		tw_json_add_null(b, "lost");
	else
		tw_json_add_text(b, "lost", why.data != NULL ? why.data : "");
	tw_json_end_object(b);
	b->failed |= tw_buf_failed(&why);
	tw_buf_clear(&why);
}

static void add_candidates(const struct tw_matcher *m, const struct tw_index_entry *best,
			   struct tw_buf *b)
{
	size_t listed = 0, left_out = 0;

	tw_json_add_array(b, "candidates");
	for (size_t i = 0; i < m->index->count; i++) {
		const struct tw_index_entry *e = m->index->by_rank[i];

		if (e->source != m->source || e->output != m->wanted->output)
			continue;
		if (listed == TW_EXPLAIN_MAX && e != best) {
			left_out++;
			continue;
		}
		listed++;
		add_candidate(m, e, best, b);
	}
	tw_json_end_array(b);
	tw_json_add_uint(b, "left_out", left_out);
}

/* The prior's model of the machine, with its intervals and expected errors. */
static void add_prior(const struct tw_model *m, struct tw_buf *b)
{
	tw_json_add_object(b, "chosen");
	tw_json_add_text(b, "pipeline", TW_PRIOR_DIRECTORY);
	tw_json_add_text(b, "model_name", m->info.name);
	tw_json_add_text(b, "feature_group", m->info.group->name);
	tw_json_add_number(b, "mae", m->info.mae_w);
	tw_json_add_number(b, "mape", m->info.mape_percent);
	tw_json_add_text(b, "match", "prior");
	tw_json_add_value(b, "prior", m->info.metadata);
	tw_json_end_object(b);
}

/* A calibrated prior is of the machine, and its curve is mostly of others. */
static const char *match_of(const struct tw_choice *c)
{
	if (c->match == TW_MATCH_SPEC && tw_index_figure(c->entry, TW_PRIOR_READINGS) > 0)
		return TW_PRIOR_CALIBRATED;
	return tw_match_name(c->match);
}

int tw_explain(const struct tw_index *x, const struct tw_wanted *w, struct tw_buf *out,
	       struct tw_err *err)
{
	struct tw_matcher m = { 0 };
	struct tw_choice choice;
	struct tw_err why = { 0 }, no_prior = { 0 };
	struct tw_model prior = { 0 };
	int rc = -1;

	if (tw_matcher_begin(&m, x, w, err) < 0)
		goto out;
	tw_choose_matching(&m, &choice);
	tw_json_add_object(out, NULL);
	if (tw_choose_prior(x, w, choice.entry != NULL ? &choice : NULL, &prior,
			    &no_prior) == 0) {
		add_prior(&prior, out);
		tw_model_release(&prior);
		choice.entry = NULL;
	} else if (choice.entry == NULL || no_prior.code == TW_INVALID) {
		if (no_prior.code != TW_INVALID)
			tw_choose_not_found(&m, &why);
		tw_json_add_null(out, "chosen");
		tw_json_add_text(out, "error",
				 no_prior.code == TW_INVALID ? no_prior.text : why.text);
		choice.entry = NULL;
	} else {
		tw_json_add_object(out, "chosen");
		add_model(&m, choice.entry, out);
		tw_json_add_text(out, "match", match_of(&choice));
		add_certainty(&m, choice.entry, out);
		tw_json_end_object(out);
	}
	add_candidates(&m, choice.entry, out);
	tw_json_end_object(out);
	rc = 0;
out:
	tw_matcher_release(&m);
	return rc;
}
