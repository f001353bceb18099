/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/matcher.h"

#include "lib/core/err.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"
#include "profiler/node_types.h"

#include <stdlib.h>
#include <string.h>

static const char *find_text(const struct tw_index *x, const char *text)
{
	return text != NULL ? tw_intern_find(&x->texts, text, strlen(text)) : NULL;
}

/* Ignore metrics that no model of the index uses, and counters that are not proved. */
static int take_metrics(struct tw_matcher *m, struct tw_err *err)
{
	const struct tw_strs *metrics = &m->wanted->metrics;

	m->metric = calloc(metrics->count + 1, sizeof(*m->metric));
	m->memo = calloc(tw_feature_group_count(), sizeof(*m->memo));
	if (m->metric == NULL || m->memo == NULL)
		return tw_fail(err, TW_NOMEM, "choice of a model");
	for (size_t i = 0; i < metrics->count; i++) {
		const char *text = find_text(m->index, metrics->at[i]);

		if (i == 0)
			m->first_metric = text;
		if (m->wanted->counters_unproven && tw_feature_is_counter(metrics->at[i]))
			continue;
		if (text != NULL)
			m->metric[m->metrics++] = text;
	}
	return 0;
}

int tw_matcher_begin(struct tw_matcher *m, const struct tw_index *x,
		     const struct tw_wanted *w, struct tw_err *err)
{
	m->index = x;
	m->wanted = w;
	m->source = tw_index_source(x, w->source, w->output);
	m->pipeline = find_text(x, w->pipeline);
	m->trainer = find_text(x, w->trainer);
	m->spec_known = tw_machine_spec_known(&w->spec);
	m->exact_machine = !w->loose_node_type && (w->node_type >= 0 || m->spec_known);
	tw_likeness_of(&w->spec, &m->likeness);
	if (m->likeness.processor[0] != '\0')
		m->processor = find_text(x, m->likeness.processor);
	if (tw_filter_parse(w->filter, &m->filter, err) < 0)
		return -1;
	return take_metrics(m, err);
}

void tw_matcher_release(struct tw_matcher *m)
{
	tw_filter_release(&m->filter);
	free(m->metric);
	free(m->memo);
	*m = (struct tw_matcher){ 0 };
}

double tw_matcher_similarity(const struct tw_matcher *m,
			     const struct tw_index_machine *machine)
{
	const struct tw_machine_spec *spec = &m->wanted->spec;

	if (!m->spec_known)
		return 0;
	if (tw_node_equal(spec, &machine->spec))
		return 1;
	return tw_likeness(&m->likeness, &machine->likeness);
}

static bool measures(const struct tw_matcher *m, const char *feature)
{
	for (size_t i = 0; i < m->metrics; i++)
		if (m->metric[i] == feature)
			return true;
	return false;
}

/* The first feature that the client does not measure, or NULL. */
static const char *find_missing(const struct tw_matcher *m,
				const struct tw_index_entry *e)
{
	struct tw_matcher_memo *memo = &m->memo[e->group - tw_feature_group_at(0)];

	if (memo->features == e->features)
		return memo->missing;
	*memo = (struct tw_matcher_memo){ .features = e->features };
	for (size_t i = 0; i < e->feature_count && memo->missing == NULL; i++)
		if (!measures(m, e->features[i]))
			memo->missing = e->features[i];
	return memo->missing;
}

static bool is_other_machine(const struct tw_matcher *m, const struct tw_index_entry *e)
{
	if (!m->exact_machine)
		return false;
	if (m->wanted->node_type >= 0)
		return m->wanted->node_type != e->node_type;
	return !tw_node_equal(&m->wanted->spec, &e->machine->spec);
}

static bool can_use_weights(const struct tw_wanted *w, const struct tw_index_entry *e,
			    const char *first_metric)
{
	if (!tw_index_has_weights(e, w->client))
		return false;
	/* Kepler reads the weights of trees as 0 W and reports no error. */
	if (tw_index_is_trees(e) && !w->trees)
		return false;
	/* Kepler takes the first metric for the curve's, whatever it is. */
	if (e->first_metric != NULL)
		return e->first_metric == first_metric;
	/* Without a trainer's name: only weights that every client can use. */
	return w->trainer != NULL || tw_index_has_weights(e, TW_CLIENT_0_7);
}

static bool can_use(const struct tw_matcher *m, const struct tw_index_entry *e)
{
	const struct tw_wanted *w = m->wanted;

	if (m->shares_of != NULL && !e->serves_shares)
		return false;
	if (w->weight)
		return can_use_weights(w, e, m->first_metric);
	if (m->only_trees && !tw_index_is_trees(e))
		return false;
	if (w->default_trainer)
		return tw_index_has_weights(e, w->client);
	if (w->trainer != NULL)
		return true;
	return e->fitness != TW_UNFIT && (w->ensembles || !tw_index_is_ensemble(e));
}

static const char *tell_why_unusable(const struct tw_matcher *m,
				     const struct tw_index_entry *e)
{
	if (e->fitness == TW_UNFIT)
		return e->unfit_why;
	return m->wanted->weight ? "no weights for this client"
				 : "only ensembles, which this client does not read";
}

static bool is_given_up(const struct tw_matcher *m, const struct tw_index_entry *e)
{
	if (m->wanted->weight)
		return tw_index_given_up_weights(m->index, e, m->wanted->client);
	if (m->wanted->trainer == NULL)
		return tw_index_given_up_default(m->index, e);
	return tw_index_given_up(m->index, e);
}

enum tw_mismatch tw_matcher_check(const struct tw_matcher *m,
				  const struct tw_index_entry *e, const char **detail)
{
	if (m->wanted->pipeline != NULL && m->pipeline != e->pipeline)
		return TW_MISMATCH_PIPELINE;
	if (m->wanted->trainer != NULL && m->trainer != e->trainer &&
	    !(m->any_linear && tw_index_is_linear(e)))
		return TW_MISMATCH_TRAINER;
	*detail = find_missing(m, e);
	if (*detail != NULL)
		return TW_MISMATCH_METRIC;
	if (is_other_machine(m, e))
		return TW_MISMATCH_MACHINE;
	if (!can_use(m, e)) {
		*detail = tell_why_unusable(m, e);
		return TW_MISMATCH_CLIENT;
	}
	if (!tw_filter_pass(&m->filter, e, detail))
		return TW_MISMATCH_FILTER;
	return is_given_up(m, e) ? TW_MISMATCH_BROKEN : TW_MATCHES;
}

void tw_wanted_release(struct tw_wanted *w)
{
	tw_strs_clear(&w->metrics);
	free(w->trainer);
	free(w->pipeline);
	free(w->filter);
	*w = (struct tw_wanted){ 0 };
}

bool tw_wanted_series(const struct tw_wanted *w)
{
	return w->ensembles && !w->weight;
}

bool tw_trainer_is_default(const char *trainer)
{
	return trainer != NULL && strcmp(trainer, "SGDRegressorTrainer") == 0;
}

bool tw_matcher_yields(const struct tw_matcher *m, const struct tw_index_entry *e)
{
	return tw_wanted_series(m->wanted) ? e->series_yields : e->yields;
}
