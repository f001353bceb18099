/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/choose.h"

#include "lib/core/err.h"
#include "model-db/index/choosing.h"
#include "model-db/index/index_impl.h"
#include "model-db/index/index_use.h"

#include <stdlib.h>
#include <string.h>

/*
 * Above this two machines have a processor of one name: with another name the most is
 * 10/16/2 for its letters and 6/16 for all figures.
 */
#define SAME_PROCESSOR_FROM 0.6875

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

/* ---- the request in terms of the index ---- */

static int by_address(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return ((uintptr_t)*x > (uintptr_t)*y) - ((uintptr_t)*x < (uintptr_t)*y);
}

const char *tw_choosing_missing(const struct tw_choosing *c,
				const struct tw_index_entry *e)
{
	for (size_t i = 0; i < e->feature_count; i++)
		if (c->metrics == 0 || bsearch(&e->features[i], c->metric, c->metrics,
					       sizeof(*c->metric), by_address) == NULL)
			return e->features[i];
	return NULL;
}

/* Metrics that no model has, or that are not proved, are passed over. */
static int take_metrics(struct tw_choosing *c, struct tw_err *err)
{
	const struct tw_strs *metrics = &c->w->metrics;

	c->metric = calloc(metrics->count + 1, sizeof(*c->metric));
	if (c->metric == NULL)
		return tw_fail(err, TW_NOMEM, "choice of a model");
	for (size_t i = 0; i < metrics->count; i++) {
		const char *own = tw_index_own_text(c->x, metrics->at[i]);

		if (i == 0)
			c->first_metric = own;
		if (c->w->counters_unproven && tw_feature_is_counter(metrics->at[i]))
			continue;
		if (own != NULL)
			c->metric[c->metrics++] = own;
	}
	qsort(c->metric, c->metrics, sizeof(*c->metric), by_address);
	return 0;
}

static int take_shelves(struct tw_choosing *c, struct tw_err *err)
{
	const struct tw_index_orders *o = &c->x->orders;

	c->shelf = calloc(o->shelves + 1, sizeof(*c->shelf));
	if (c->shelf == NULL)
		return tw_fail(err, TW_NOMEM, "choice of a model");
	for (size_t i = 0; i < o->shelves; i++) {
		const struct tw_index_entry *e = o->shelf[i].sample;

		if (e->source == c->w->source && e->output == c->w->output &&
		    tw_choosing_missing(c, e) == NULL)
			c->shelf[c->shelves++] = (uint32_t)i;
	}
	return 0;
}

int tw_choosing_begin(struct tw_choosing *c, const struct tw_index *x,
		      const struct tw_wanted *w, struct tw_err *err)
{
	c->x = x;
	c->w = w;
	if (w->pipeline != NULL)
		c->pipeline = tw_index_own_text(x, w->pipeline);
	if (w->trainer != NULL)
		c->trainer = tw_index_own_text(x, w->trainer);
	if (tw_filter_parse(w->filter, &c->filter, err) < 0 || take_metrics(c, err) < 0)
		return -1;
	return take_shelves(c, err);
}

void tw_choosing_release(struct tw_choosing *c)
{
	tw_filter_release(&c->filter);
	free(c->metric);
	free(c->shelf);
	*c = (struct tw_choosing){ 0 };
}

static bool accepts_weights(const struct tw_choosing *c,
			    const struct tw_index_entry *kind)
{
	const struct tw_wanted *w = c->w;

	if (!tw_index_has_weights(kind, w->client))
		return false;
	/* Kepler takes the weights of trees for 0 W, without a word. */
	if (tw_index_is_trees(kind) && !w->trees)
		return false;
	/* Of a curve, only if the client takes the curve's metric for it. */
	if (kind->first_metric != NULL)
		return kind->first_metric == c->first_metric;
	/* A client that does not name the trainer gets what every client can use. */
	return w->trainer != NULL || tw_index_has_weights(kind, TW_CLIENT_0_7);
}

bool tw_choosing_accepts(const struct tw_choosing *c, const struct tw_index_entry *kind)
{
	const struct tw_wanted *w = c->w;

	if (c->only_shares && !kind->serves_shares)
		return false;
	if (w->weight)
		return accepts_weights(c, kind);
	if (c->only_trees && !tw_index_is_trees(kind))
		return false;
	if (w->trainer != NULL)
		return true;
	return kind->fitness != TW_UNFIT && (w->ensembles || !tw_index_is_ensemble(kind));
}

const char *tw_choosing_refusal(const struct tw_choosing *c,
				const struct tw_index_entry *kind)
{
	if (kind->fitness == TW_UNFIT)
		return kind->unfit_why;
	return c->w->weight ? "no weights for this client"
			    : "only ensembles, which this client does not read";
}

bool tw_choosing_strict(const struct tw_choosing *c)
{
	return !c->w->loose_node_type &&
	       (c->w->node_type >= 0 || tw_machine_spec_known(&c->w->spec));
}

/* ---- search ---- */

/* Machines apart. */
static bool is_better(const struct tw_choosing *c, const struct tw_index_entry *a,
		      const struct tw_index_entry *b)
{
	if (c->w->weight && c->w->output == TW_ABS_POWER && a->floor != b->floor)
		return a->floor;
	return a->rank < b->rank;
}

bool tw_choosing_given_up(const struct tw_choosing *c, const struct tw_index_entry *e)
{
	if (c->w != NULL && c->w->weight)
		return tw_index_given_up_weights(c->x, e, c->w->client);
	if (c->w == NULL || c->w->trainer == NULL)
		return tw_index_given_up_default(c->x, e);
	return tw_index_given_up(c->x, e);
}

/* The best of one part, or NULL. */
static const struct tw_index_entry *search(const struct tw_choosing *c,
					   const struct tw_index_search *s,
					   const struct tw_index_entry *best)
{
	size_t count;
	const uint32_t *list = tw_index_range(c->x, s, &count);

	for (size_t i = 0; i < count; i++) {
		const struct tw_index_entry *e;

		/* The rest comes later still: no need to look at the models themselves.
		 */
		if (best != NULL && best->rank < list[i])
			return NULL;
		e = c->x->orders.by_rank[list[i]];
		if (!tw_choosing_given_up(c, e) && tw_filter_pass(&c->filter, e, NULL))
			return e;
	}
	return NULL;
}

/* Whether models of a part go before the best so far, or after it, whatever their rank.
 */
static int compare_floors(const struct tw_choosing *c, const struct tw_index_entry *part,
			  const struct tw_index_entry *best)
{
	if (best == NULL || !c->w->weight || c->w->output != TW_ABS_POWER)
		return 0;
	return (int)part->floor - (int)best->floor;
}

/* The best of a scope, which is that of s, or NULL. */
static const struct tw_index_entry *search_all(const struct tw_choosing *c,
					       struct tw_index_search s)
{
	const struct tw_index_orders *o = &c->x->orders;
	const struct tw_index_entry *best = NULL;

	s.trainer = c->trainer;
	for (size_t i = 0; i < c->shelves; i++) {
		const struct tw_index_shelf *shelf = &o->shelf[c->shelf[i]];

		for (size_t k = 0; k < shelf->parts; k++) {
			const struct tw_index_entry *sample, *e;
			int floors;

			s.part = shelf->first_part + k;
			sample = o->part[s.part].sample;
			floors = compare_floors(c, sample, best);
			if (floors < 0 || !tw_choosing_accepts(c, sample))
				continue;
			e = search(c, &s, floors > 0 ? NULL : best);
			if (e != NULL)
				best = e;
		}
	}
	return best;
}

struct tw_index_search tw_choosing_by_number(const struct tw_choosing *c)
{
	const struct tw_index_machine *m;

	if (c->pipeline == NULL)
		return (struct tw_index_search){ .scope = TW_IN_NODE_TYPE,
						 .value = (uint32_t)c->w->node_type };
	m = tw_index_machine_find(c->x, c->pipeline, c->w->node_type);
	return (struct tw_index_search){ .scope = TW_IN_MACHINE,
					 .value = tw_index_machine_value(c->x, m) };
}

struct tw_index_search tw_choosing_by_nothing(const struct tw_choosing *c)
{
	if (c->pipeline == NULL)
		return (struct tw_index_search){ .scope = TW_IN_ALL };
	return (struct tw_index_search){ .scope = TW_IN_PIPELINE,
					 .value = tw_index_pipeline_value(c->x,
									  c->pipeline) };
}

static const struct tw_index_entry *search_node_type(const struct tw_choosing *c)
{
	return search_all(c, tw_choosing_by_number(c));
}

static const struct tw_index_entry *search_machine(const struct tw_choosing *c,
						   const struct tw_index_machine *m)
{
	const struct tw_index_search s = { .scope = TW_IN_MACHINE,
					   .value = tw_index_machine_value(c->x, m) };

	if (c->pipeline != NULL && c->pipeline != m->pipeline)
		return NULL;
	return search_all(c, s);
}

/* Whether b is no worse a machine than a, which comes before it in the list. */
static bool as_good(const struct tw_index_similar *a, const struct tw_index_similar *b)
{
	return b->similarity >= a->similarity &&
	       b->machine->members == a->machine->members;
}

/* The best model of the first machines of the list that have any. */
static void search_list(const struct tw_choosing *c, const struct tw_index_similar *list,
			size_t count, struct tw_choice *out)
{
	const bool strict = tw_choosing_strict(c);

	for (size_t from = 0, to; from < count && out->entry == NULL; from = to) {
		if (strict && list[from].similarity < 1)
			return;
		for (to = from; to < count && as_good(&list[from], &list[to]); to++) {
			const struct tw_index_entry *e =
				search_machine(c, list[to].machine);

			if (e != NULL &&
			    (out->entry == NULL || is_better(c, e, out->entry)))
				out->entry = e;
		}
		if (out->entry != NULL)
			out->match = list[from].similarity < 1 ? TW_MATCH_SIMILAR
							       : TW_MATCH_SPEC;
	}
}

static int search_similar(const struct tw_choosing *c, double least, bool one_processor,
			  struct tw_choice *out, struct tw_err *err)
{
	struct tw_index_similar *list;
	size_t count;

	if (tw_index_similar(c->x, &c->w->spec, least, one_processor, &list, &count,
			     err) < 0)
		return -1;
	search_list(c, list, count, out);
	free(list);
	return 0;
}

/* Machines of the same processor first: mostly there is no need to look at others. */
static int search_spec(const struct tw_choosing *c, struct tw_choice *out,
		       struct tw_err *err)
{
	if (!tw_machine_spec_known(&c->w->spec))
		return 0;
	if (c->w->spec.processor[0] != '\0' &&
	    search_similar(c, SAME_PROCESSOR_FROM, true, out, err) < 0)
		return -1;
	if (out->entry != NULL)
		return 0;
	return search_similar(c, TW_SIMILAR_ENOUGH, false, out, err);
}

static int choose(const struct tw_choosing *c, struct tw_choice *out, struct tw_err *err)
{
	struct tw_choice choice = { 0 };

	/* One that the index does not know is no model's. */
	if ((c->w->pipeline != NULL && c->pipeline == NULL) ||
	    (c->w->trainer != NULL && c->trainer == NULL)) {
		*out = choice;
		return 0;
	}
	if (c->w->node_type >= 0) {
		choice.entry = search_node_type(c);
		choice.match = TW_MATCH_NODE_TYPE;
		if (choice.entry == NULL && !c->w->loose_node_type) {
			*out = choice;
			return 0;
		}
	}
	if (choice.entry == NULL && search_spec(c, &choice, err) < 0)
		return -1;
	if (choice.entry == NULL && !tw_choosing_strict(c)) {
		choice.entry = search_all(c, tw_choosing_by_nothing(c));
		choice.match = TW_MATCH_ANY;
	}
	*out = choice;
	return 0;
}

/*
 * Trees of a whole machine are flat near rest, where a small machine works all the time:
 * its power would be 0.
 */
static bool is_share(const struct tw_wanted *w, const struct tw_index_machine *m)
{
	return w->output == TW_ABS_POWER && w->trainer == NULL && w->spec.cores > 0 &&
	       2 * (uint64_t)w->spec.cores <= m->spec.cores;
}

int tw_choosing_choose(const struct tw_choosing *c, struct tw_choice *out,
		       struct tw_err *err)
{
	struct tw_choosing some = *c; /* borrows all that c owns */
	struct tw_choice choice = { 0 };

	some.only_trees = !c->w->weight && !c->w->classes && c->w->trainer == NULL;
	if (choose(&some, &choice, err) < 0)
		return -1;
	if (choice.entry == NULL && some.only_trees) {
		some.only_trees = false;
		if (choose(&some, &choice, err) < 0)
			return -1;
	}
	if (choice.entry != NULL && !choice.entry->serves_shares &&
	    is_share(c->w, choice.entry->machine)) {
		const struct tw_index_entry *e;

		some.only_shares = true;
		e = search_machine(&some, choice.entry->machine);
		if (e != NULL)
			choice.entry = e;
	}
	*out = choice;
	return 0;
}

int tw_choose(const struct tw_index *x, const struct tw_wanted *w, struct tw_choice *out,
	      struct tw_err *err)
{
	struct tw_choosing c = { 0 };
	struct tw_choice choice;
	int rc = -1;

	if (tw_choosing_begin(&c, x, w, err) < 0 ||
	    tw_choosing_choose(&c, &choice, err) < 0)
		goto out;
	if (choice.entry == NULL) {
		tw_choosing_not_found(&c, err);
		goto out;
	}

	*out = choice;
	rc = 0;
out:
	tw_choosing_release(&c);
	return rc;
}

/* Shelves are few, and so are their kinds. */
const struct tw_index_entry *
tw_choose_best(const struct tw_index *x, const struct tw_energy_source *source,
	       enum tw_output output, const struct tw_feature_group *group,
	       long long node_type, const struct tw_filter *filter)
{
	const struct tw_choosing c = { .x = x, .filter = *filter };
	const struct tw_index_orders *o = &x->orders;
	const struct tw_index_entry *best = NULL;
	struct tw_index_search s = { .scope = TW_IN_ALL };

	if (node_type >= 0) {
		s.scope = TW_IN_NODE_TYPE;
		s.value = (uint32_t)node_type;
	}
	for (size_t i = 0; i < o->shelves; i++) {
		const struct tw_index_shelf *shelf = &o->shelf[i];

		if (shelf->sample->source != source || shelf->sample->output != output ||
		    shelf->sample->group != group)
			continue;
		for (size_t k = 0; k < shelf->parts; k++) {
			const struct tw_index_entry *e;

			s.part = shelf->first_part + k;
			if (o->part[s.part].sample->fitness == TW_UNFIT)
				continue;
			e = search(&c, &s, best);
			if (e != NULL)
				best = e;
		}
	}
	return best;
}

void tw_wanted_release(struct tw_wanted *w)
{
	tw_strs_clear(&w->metrics);
	free(w->trainer);
	free(w->pipeline);
	free(w->filter);
	*w = (struct tw_wanted){ 0 };
}
