/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/choose.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "model-db/index/index.h"
#include "model-db/index/index_use.h"
#include "model-db/model.h"
#include "model-db/prior/prior_model.h"
#include "profiler/likeness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const match_names[] = {
	[TW_MATCH_ANY] = "any",
	[TW_MATCH_SIMILAR] = "similar",
	[TW_MATCH_SPEC] = "machine_spec",
	[TW_MATCH_NODE_TYPE] = "node_type",
};

const char *tw_match_name(enum tw_match m)
{
	return match_names[m];
}

/* ---- search ---- */

/* How well a machine fits a request. All zero: as well as any other. */
struct fit {
	bool node_type;    /* it has the node type that was asked for */
	double similarity; /* 0: less than TW_SIMILAR_ENOUGH, or not compared */
	size_t members;    /* of a similar machine's node type */
};

/* The best model so far. */
struct best {
	struct fit fit;
	const struct tw_index_entry *entry;
};

static int compare_fits(const struct fit *a, const struct fit *b)
{
	if (a->node_type != b->node_type)
		return a->node_type ? 1 : -1;
	if (a->similarity < b->similarity || a->similarity > b->similarity)
		return a->similarity > b->similarity ? 1 : -1;
	return (a->members > b->members) - (a->members < b->members);
}

static enum tw_match match_of(const struct fit *f)
{
	if (f->node_type)
		return TW_MATCH_NODE_TYPE;
	if (f->similarity >= 1)
		return TW_MATCH_SPEC;
	return f->similarity > 0 ? TW_MATCH_SIMILAR : TW_MATCH_ANY;
}

static struct fit fit_of(const struct tw_matcher *m,
			 const struct tw_index_machine *machine, const struct fit *best)
{
	const struct tw_wanted *w = m->wanted;
	struct fit f = { .node_type = w->node_type >= 0 &&
				      w->node_type == machine->node_type };

	if (f.node_type || best->node_type)
		return f;
	f.similarity = tw_matcher_similarity(m, machine);
	if (f.similarity >= TW_SIMILAR_ENOUGH)
		f.members = machine->members;
	else
		f.similarity = 0;
	return f;
}

static bool wants_idle_power(const struct tw_wanted *w)
{
	return (w->weight || w->default_trainer) && w->output == TW_ABS_POWER;
}

/*
 * The grade of a model, which goes before the order of preference: it has power at rest
 * if the client needs that, and it does not yield to models without a bias.
 */
#define GRADE_BEST 3

static int grade(const struct tw_matcher *m, const struct tw_index_entry *e)
{
	const bool rests = e->idle_power || !wants_idle_power(m->wanted);

	return 2 * rests + !tw_matcher_yields(m, e);
}

/* Whether no later model of an equally good fit can be better. */
static bool is_final(const struct tw_matcher *m, const struct tw_index_entry *e)
{
	return grade(m, e) == GRADE_BEST;
}

/* Search the models of a family. They fit equally well and are sorted by rank. */
static void search_family(const struct tw_matcher *m, const struct tw_index_family *f,
			  const struct fit *fit, struct best *best)
{
	bool better = best->entry == NULL || compare_fits(fit, &best->fit) > 0;

	for (size_t i = 0; i < f->count; i++) {
		const struct tw_index_entry *e =
			tw_wanted_series(m->wanted) ? f->by_series[i] : f->model[i];
		const char *detail;

		if (!better && grade(m, e) <= grade(m, best->entry))
			continue;
		if (tw_matcher_check(m, e, &detail) != TW_MATCHES)
			continue;
		*best = (struct best){ *fit, e };
		if (is_final(m, e))
			return;
		better = false;
	}
}

static bool is_of_request(const struct tw_matcher *m, const struct tw_index_family *f)
{
	const struct tw_wanted *w = m->wanted;

	return f->source == m->source && f->output == w->output &&
	       (w->pipeline == NULL || f->machine->pipeline == m->pipeline) &&
	       (m->shares_of == NULL || f->machine == m->shares_of);
}

/*
 * Scan the families. They come in order of rank, so of equal fits the first is better.
 * processor: NULL, or only machines with this processor.
 */
static struct best scan(const struct tw_matcher *m, const char *processor)
{
	const bool all_fit_equally = m->wanted->node_type < 0 && !m->spec_known;
	struct best best = { 0 };

	for (size_t i = 0; i < m->index->family_count; i++) {
		const struct tw_index_family *f = &m->index->family[i];
		struct fit fit;
		int d;

		if (!is_of_request(m, f) ||
		    (processor != NULL && f->machine->processor != processor))
			continue;
		fit = fit_of(m, f->machine, &best.fit);
		if (m->exact_machine && match_of(&fit) < TW_MATCH_SPEC)
			continue;
		d = best.entry == NULL ? 1 : compare_fits(&fit, &best.fit);
		if (d < 0 || (d == 0 && is_final(m, best.entry)))
			continue;
		search_family(m, f, &fit, &best);
		if (best.entry != NULL && is_final(m, best.entry) &&
		    (best.fit.node_type || all_fit_equally))
			break;
	}
	return best;
}

static struct best search(const struct tw_matcher *m)
{
	const struct tw_wanted *w = m->wanted;
	struct best best = { 0 };

	/* The index knows the trainers of all its models. */
	if (w->trainer != NULL && m->trainer == NULL && !m->any_linear)
		return best;
	/* Most requests find their processor and need not compute other similarities. */
	if (w->node_type < 0 && m->processor != NULL)
		best = scan(m, m->processor);
	if (best.fit.similarity > TW_LIKENESS_OTHER_PROCESSOR_MAX)
		return best;
	return scan(m, NULL);
}

/*
 * Whether the request's machine is at most half of m. A small machine works in the range
 * where trees of a whole machine are flat: they would predict no power for it.
 */
static bool is_share(const struct tw_wanted *w, const struct tw_index_machine *m)
{
	return w->output == TW_ABS_POWER && w->trainer == NULL && w->spec.cores > 0 &&
	       2 * (uint64_t)w->spec.cores <= m->spec.cores;
}

/*
 * The named trainer's model; for a default trainer, a linear model of another trainer if
 * its machine is nearer.
 */
static struct best search_named(struct tw_matcher *m)
{
	const struct best named = search(m);
	struct best linear;

	/* Without a model the match is TW_MATCH_ANY. */
	if (!m->wanted->default_trainer || match_of(&named.fit) >= TW_MATCH_SPEC)
		return named;
	m->any_linear = true;
	linear = search(m);
	m->any_linear = false;
	return named.entry == NULL || match_of(&linear.fit) > match_of(&named.fit)
		       ? linear
		       : named;
}

void tw_choose_matching(struct tw_matcher *m, struct tw_choice *out)
{
	const struct tw_wanted *w = m->wanted;
	struct best best, share;

	m->only_trees = !w->weight && !w->classes && w->trainer == NULL;
	best = search_named(m);
	if (best.entry == NULL && m->only_trees) {
		m->only_trees = false;
		best = search(m);
	}
	*out = (struct tw_choice){ best.entry, match_of(&best.fit) };
	if (best.entry != NULL && !best.entry->serves_shares &&
	    is_share(w, best.entry->machine)) {
		m->shares_of = best.entry->machine;
		share = search(m);
		if (share.entry != NULL)
			out->entry = share.entry;
		m->shares_of = NULL;
	}
	m->only_trees = false;
}

int tw_choose(const struct tw_index *x, const struct tw_wanted *w, struct tw_choice *out,
	      struct tw_err *err)
{
	struct tw_matcher m = { 0 };
	struct tw_choice choice;
	int rc = -1;

	if (tw_matcher_begin(&m, x, w, err) < 0)
		goto out;
	tw_choose_matching(&m, &choice);
	if (choice.entry == NULL) {
		tw_choose_not_found(&m, err);
		goto out;
	}

	*out = choice;
	rc = 0;
out:
	tw_matcher_release(&m);
	return rc;
}

/* The first model of the group that is fit, passes the filter and can be read. */
static const struct tw_index_entry *find_best(const struct tw_index *x,
					      const struct tw_index_family *f,
					      const struct tw_feature_group *group,
					      const struct tw_filter *filter)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct tw_index_entry *e = f->model[i];

		if (e->group == group && e->fitness != TW_UNFIT &&
		    tw_filter_pass(filter, e, NULL) && !tw_index_given_up_default(x, e))
			return e;
	}
	return NULL;
}

const struct tw_index_entry *
tw_choose_best(const struct tw_index *x, const struct tw_energy_source *source,
	       enum tw_output output, const struct tw_feature_group *group,
	       long long node_type, const struct tw_filter *filter)
{
	source = tw_index_source(x, source, output);
	for (size_t i = 0; i < x->family_count; i++) {
		const struct tw_index_family *f = &x->family[i];
		const struct tw_index_entry *e;

		if (f->source != source || f->output != output ||
		    (node_type >= 0 && f->machine->node_type != node_type))
			continue;
		e = find_best(x, f, group, filter);
		if (e != NULL)
			return e;
	}
	return NULL;
}

/* ---- why no model matches ---- */

/* The mismatch of the model of a group that passed most checks. 0: no model. */
struct reason {
	enum tw_mismatch mismatch;
	const char *detail;
};

static void add_reason(struct tw_buf *b, const struct tw_wanted *w,
		       const struct reason *r)
{
	switch (r->mismatch) {
	case TW_MISMATCH_METRIC:
		tw_buf_addf(b, "needs metric '%.40s'", r->detail);
		break;
	case TW_MISMATCH_PIPELINE:
		tw_buf_addf(b, "no model in pipeline '%.40s'", w->pipeline);
		break;
	case TW_MISMATCH_TRAINER:
		tw_buf_addf(b, "no '%.40s' model", w->trainer);
		break;
	case TW_MISMATCH_MACHINE:
		if (w->node_type >= 0)
			tw_buf_addf(b, "no model for node type %lld", w->node_type);
		else
			tw_buf_adds(b, "no model for this machine");
		break;
	case TW_MISMATCH_CLIENT:
		tw_buf_adds(b, r->detail);
		break;
	case TW_MISMATCH_FILTER:
		tw_buf_addf(b, "filter '%.40s' not passed", r->detail);
		break;
	case TW_MISMATCH_BROKEN:
	case TW_MATCHES: /* it was given up since the search */
		tw_buf_adds(b, "its models cannot be read");
		break;
	}
}

static bool is_worth_naming(const struct tw_feature_group *g, const struct tw_wanted *w)
{
	/*
	 * Most clients lack features of the node, features of old releases, and groups of
	 * users.
	 */
	return g->count > 0 &&
	       ((!g->of_node && !g->by_name) || tw_feature_group_valid(g, &w->metrics));
}

/* Whether a model of a group whose metrics the client has fails for another reason. */
static bool has_metrics(const struct reason *reasons)
{
	for (size_t g = 0; g < tw_feature_group_count(); g++)
		if (reasons[g].mismatch > TW_MISMATCH_METRIC)
			return true;
	return false;
}

/*
 * "BPFOnly: needs metric 'a'; Basic: no 'b' model; no models in Full". What other groups
 * need is no reason if the client has the metrics of one.
 */
static void add_reasons(struct tw_buf *b, const struct tw_wanted *w,
			const struct reason *reasons)
{
	const char *separator = ": ", *none = "; no models in ";
	const bool skip = has_metrics(reasons);

	for (size_t g = 0; g < tw_feature_group_count(); g++) {
		if (reasons[g].mismatch == 0 ||
		    (skip && reasons[g].mismatch == TW_MISMATCH_METRIC))
			continue;
		tw_buf_addf(b, "%s%s: ", separator, tw_feature_group_at(g)->name);
		add_reason(b, w, &reasons[g]);
		separator = "; ";
	}
	for (size_t g = 0; b->len > 0 && g < tw_feature_group_count(); g++) {
		const struct tw_feature_group *group = tw_feature_group_at(g);

		if (reasons[g].mismatch != 0 || !is_worth_naming(group, w))
			continue;
		tw_buf_addf(b, "%s%s", none, group->name);
		none = ", ";
	}
}

static void find_reasons(const struct tw_matcher *m, const struct tw_index_family *f,
			 struct reason *reasons)
{
	for (size_t i = 0; i < f->count; i++) {
		const struct tw_index_entry *e = f->model[i];
		struct reason *so_far = &reasons[e->group - tw_feature_group_at(0)];
		struct reason r;

		r.mismatch = tw_matcher_check(m, e, &r.detail);
		if (r.mismatch > so_far->mismatch)
			*so_far = r;
	}
}

int tw_choose_not_found(const struct tw_matcher *m, struct tw_err *err)
{
	struct reason *reasons = calloc(tw_feature_group_count(), sizeof(*reasons));
	const struct tw_wanted *w = m->wanted;
	struct tw_buf b = { 0 };

	if (reasons == NULL)
		return tw_fail(err, TW_NOMEM, "choice of a model");
	for (size_t i = 0; i < m->index->family_count; i++) {
		const struct tw_index_family *f = &m->index->family[i];

		if (f->source == m->source && f->output == w->output)
			find_reasons(m, f, reasons);
	}
	add_reasons(&b, w, reasons);
	tw_fail(err, tw_buf_failed(&b) ? TW_NOMEM : TW_NOTFOUND,
		"no model of %s for %s%s", tw_output_name(w->output), w->source->name,
		b.data != NULL ? b.data : ": there are none of this source");
	tw_buf_clear(&b);
	free(reasons);
	return -1;
}

/* ---- the prior ---- */

/* The expected error of a measured machine's model, a share of power, by its likeness. */
static double nearest_error(const struct tw_prior *p, const struct tw_likeness *mine,
			    const struct tw_likeness *measured)
{
	const double l = tw_likeness(mine, measured);

	return p->nearest_error[(size_t)lround(l * (TW_PRIOR_LIKENESSES - 1))];
}

/*
 * Whether the client describes its machine, but not by a processor and a number of CPUs:
 * no measured machine is known to be like it.
 */
static bool is_vague(const struct tw_wanted *w, const struct tw_likeness *mine)
{
	return (w->spec_sent || tw_machine_spec_known(&w->spec)) &&
	       (mine->processor[0] == '\0' || w->spec.cores == 0);
}

int tw_choose_prior(const struct tw_index *x, const struct tw_wanted *w,
		    const struct tw_choice *chosen, struct tw_model *out,
		    struct tw_err *err)
{
	struct tw_prior_estimate e;
	const struct tw_likeness *measured =
		chosen != NULL ? &chosen->entry->machine->likeness : NULL;
	enum tw_code otherwise = TW_NOTFOUND;
	struct tw_err why = { 0 };
	struct tw_likeness mine;

	if (x->prior.views == 0 || w->output != TW_ABS_POWER ||
	    (w->trainer != NULL && !w->default_trainer) || w->pipeline != NULL ||
	    w->filter != NULL || w->node_type >= 0)
		return tw_fail(err, TW_NOTFOUND, "the prior is not asked");
	tw_likeness_of(&w->spec, &mine);
	if (measured != NULL && mine.processor[0] != '\0' &&
	    strcmp(mine.processor, measured->processor) == 0)
		return tw_fail(err, TW_NOTFOUND, "this processor was measured");
	if (is_vague(w, &mine))
		otherwise = TW_INVALID;
	if (tw_prior_estimate(&x->prior, &w->spec, &e, &why) < 0)
		return tw_fail(err, why.code == TW_UNSUPPORTED ? TW_INVALID : otherwise,
			       "%s", why.text);
	/* Both errors are of wall power. */
	if (measured != NULL && chosen->match == TW_MATCH_SIMILAR &&
	    !chosen->entry->biased && e.error > nearest_error(&x->prior, &mine, measured))
		return tw_fail(
			err, TW_NOTFOUND,
			"the error of the nearest machine is less than the prior's");
	if (tw_prior_model_of(&e, &w->spec, w->source, &w->metrics, out, &why) < 0)
		return tw_fail(err, otherwise, "%s", why.text);
	return 0;
}

/* ---- names of output types ---- */

static const struct tw_output_name output_names[] = {
	{ "AbsComponentModelWeight", TW_ABS_POWER, true, TW_CLIENT_0_5 },
	{ "AbsComponentPower", TW_ABS_POWER, false, TW_CLIENT_0_5 },
	{ "AbsModelWeight", TW_ABS_POWER, true, TW_CLIENT_0_5_TOTAL },
	{ "AbsPower", TW_ABS_POWER, false, TW_CLIENT_0_5_TOTAL },
	{ "DynComponentModelWeight", TW_DYN_POWER, true, TW_CLIENT_0_5 },
	{ "DynComponentPower", TW_DYN_POWER, false, TW_CLIENT_0_5 },
	{ "DynModelWeight", TW_DYN_POWER, true, TW_CLIENT_0_5_TOTAL },
	{ "DynPower", TW_DYN_POWER, false, TW_CLIENT_0_5_TOTAL },
};

const struct tw_output_name *tw_output_name_find(const char *name, size_t len)
{
	for (size_t i = 0; i < TW_COUNT(output_names); i++)
		if (strlen(output_names[i].name) == len &&
		    memcmp(output_names[i].name, name, len) == 0)
			return &output_names[i];
	return NULL;
}
