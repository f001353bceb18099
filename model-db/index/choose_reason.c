/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "model-db/index/choosing.h"
#include "model-db/index/index_impl.h"
#include "model-db/index/index_machines.h"

#include <stdlib.h>

/* What the models of a group failed that came farthest, in this order. */
enum stage { NO_MODEL, METRICS, PIPELINE, TRAINER, NODE_TYPE, UNUSABLE, FILTER, BROKEN };

struct reason {
	enum stage stage;
	const char *detail; /* the metric, the refusal, or the filter's attribute */
};

/* The first model of any kind on a shelf that a search finds; only of kinds that are
 * wanted. */
static const struct tw_index_entry *find_first(const struct tw_choosing *c, size_t shelf,
					       struct tw_index_search s, bool wanted)
{
	const struct tw_index_orders *o = &c->x->orders;

	for (size_t k = 0; k < o->shelf[shelf].parts; k++) {
		const uint32_t *list;
		size_t count;

		s.part = o->shelf[shelf].first_part + k;
		if (wanted && !tw_choosing_accepts(c, o->part[s.part].sample))
			continue;
		list = tw_index_range(c->x, &s, &count);
		if (count > 0)
			return o->by_rank[list[0]];
	}
	return NULL;
}

/* The scope of the very machine: *s as it was, or of the node type. */
static int narrow(const struct tw_choosing *c, size_t shelf, struct tw_index_search *s,
		  bool *found, struct tw_err *err)
{
	struct tw_index_search machine = *s;
	struct tw_index_similar *list;
	size_t count;

	*found = true;
	if (!tw_choosing_strict(c))
		return 0;
	if (c->w->node_type >= 0) {
		*s = tw_choosing_by_number(c);
		s->trainer = machine.trainer;
		*found = find_first(c, shelf, *s, false) != NULL;
		return 0;
	}
	*found = false;
	if (tw_index_similar(c->x, &c->w->spec, 1, c->w->spec.processor[0] != '\0', &list,
			     &count, err) < 0)
		return -1;
	machine.scope = TW_IN_MACHINE;
	for (size_t i = 0; i < count && !*found; i++) {
		machine.value = tw_index_machine_value(c->x, list[i].machine);
		if (c->pipeline != NULL && c->pipeline != list[i].machine->pipeline)
			continue;
		*found = find_first(c, shelf, machine, false) != NULL;
	}
	if (*found)
		*s = machine;
	free(list);
	return 0;
}

/* How far the models of a shelf come. */
static int judge(const struct tw_choosing *c, size_t shelf, struct reason *out,
		 struct tw_err *err)
{
	const struct tw_index_entry *e = c->x->orders.shelf[shelf].sample;
	struct tw_index_search s = tw_choosing_by_nothing(c);
	struct reason r = { .stage = METRICS };
	bool found;

	*out = r;
	out->detail = tw_choosing_missing(c, e);
	if (out->detail != NULL)
		return 0;
	r.stage = PIPELINE;
	if ((c->w->pipeline != NULL && c->pipeline == NULL) ||
	    find_first(c, shelf, s, false) == NULL)
		goto out;
	r.stage = TRAINER;
	s.trainer = c->trainer;
	if ((c->w->trainer != NULL && c->trainer == NULL) ||
	    find_first(c, shelf, s, false) == NULL)
		goto out;
	r.stage = NODE_TYPE;
	if (narrow(c, shelf, &s, &found, err) < 0)
		return -1;
	if (!found)
		goto out;
	r.stage = UNUSABLE;
	r.detail = tw_choosing_refusal(c, find_first(c, shelf, s, false));
	e = find_first(c, shelf, s, true);
	if (e == NULL)
		goto out;
	r.stage = tw_filter_pass(&c->filter, e, &r.detail) ? BROKEN : FILTER;
out:
	*out = r;
	return 0;
}

static void add_reason(struct tw_buf *b, const struct tw_wanted *w,
		       const struct reason *r)
{
	switch (r->stage) {
	case METRICS:
		tw_buf_addf(b, "needs metric '%.40s'", r->detail);
		break;
	case PIPELINE:
		tw_buf_addf(b, "none in pipeline '%.40s'", w->pipeline);
		break;
	case TRAINER:
		tw_buf_addf(b, "none of trainer '%.40s'", w->trainer);
		break;
	case NODE_TYPE:
		if (w->node_type >= 0)
			tw_buf_addf(b, "none for node type %lld", w->node_type);
		else
			tw_buf_adds(b, "none for this machine");
		break;
	case UNUSABLE:
		tw_buf_adds(b, r->detail);
		break;
	case FILTER:
		tw_buf_addf(b, "filter '%.40s' not passed", r->detail);
		break;
	case BROKEN:
		tw_buf_adds(b, "its models cannot be read");
		break;
	case NO_MODEL:
		break;
	}
}

/* "BPFOnly: needs metric 'a'; Basic: none of trainer 'b'; no models in Full". */
static int tell(const struct tw_choosing *c, const struct reason *reasons,
		struct tw_err *err)
{
	const struct tw_wanted *w = c->w;
	const char *separator = ": ", *none = "; no models in ";
	struct tw_buf b = { 0 };

	for (size_t g = 0; g < tw_feature_group_count(); g++) {
		if (reasons[g].stage == NO_MODEL)
			continue;
		tw_buf_addf(&b, "%s%s: ", separator, tw_feature_group_at(g)->name);
		add_reason(&b, w, &reasons[g]);
		separator = "; ";
	}
	for (size_t g = 0; b.len > 0 && g < tw_feature_group_count(); g++) {
		const struct tw_feature_group *group = tw_feature_group_at(g);

		if (reasons[g].stage != NO_MODEL)
			continue;
		/* Most clients know nothing of a node's groups, and of the user's own. */
		if (group->count == 0 ||
		    (group->of_node && !tw_feature_group_valid(group, &w->metrics)))
			continue;
		tw_buf_addf(&b, "%s%s", none, group->name);
		none = ", ";
	}
	tw_fail(err, tw_buf_failed(&b) ? TW_NOMEM : TW_NOTFOUND,
		"no model of %s for %s%s", tw_output_name(w->output), w->source->name,
		b.data != NULL ? b.data : ": there are none of this source");
	tw_buf_clear(&b);
	return -1;
}

int tw_choosing_not_found(const struct tw_choosing *c, struct tw_err *err)
{
	struct reason *reasons = calloc(tw_feature_group_count(), sizeof(*reasons));
	const struct tw_index_orders *o = &c->x->orders;

	if (reasons == NULL)
		return tw_fail(err, TW_NOMEM, "choice of a model");
	for (size_t i = 0; i < o->shelves; i++) {
		const struct tw_index_entry *e = o->shelf[i].sample;
		struct reason *so_far = &reasons[e->group - tw_feature_group_at(0)];
		struct reason r;

		if (e->source != c->w->source || e->output != c->w->output)
			continue;
		if (judge(c, i, &r, err) < 0)
			goto out;
		if (r.stage > so_far->stage)
			*so_far = r;
	}
	tell(c, reasons, err);
out:
	free(reasons);
	return -1;
}
