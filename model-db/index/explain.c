/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/explain.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "model-db/index/choosing.h"
#include "model-db/index/index_impl.h"
#include "profiler/node_choice.h"
#include "profiler/similarity.h"

#include <math.h>
#include <string.h>

static void add_text(struct tw_buf *b, const char *text)
{
	tw_buf_add_json_text(b, text, strlen(text));
}

/* null where a number is not defined. */
static void add_number(struct tw_buf *b, double v)
{
	if (isfinite(v))
		tw_buf_add_double(b, v);
	else
		tw_buf_adds(b, "null");
}

/* How alike the machines are, as a choice counts it. */
static double similarity_of(const struct tw_choosing *c, const struct tw_index_entry *e)
{
	const struct tw_machine_spec *spec = &c->w->spec;

	return tw_node_equal(spec, &e->machine->spec)
		       ? 1
		       : tw_similarity(spec, &e->machine->spec);
}

/* What it is worth in a choice: too little is none. */
static double counted(const struct tw_choosing *c, const struct tw_index_entry *e)
{
	const double s = similarity_of(c, e);

	return s >= TW_SIMILAR_ENOUGH ? s : 0;
}

/* ---- why a model is no candidate ---- */

/* False: it is one. */
static bool add_failure(const struct tw_choosing *c, const struct tw_index_entry *e,
			struct tw_buf *b)
{
	const struct tw_wanted *w = c->w;
	const char *detail = tw_choosing_missing(c, e);

	if (detail != NULL)
		tw_buf_addf(b, "needs metric '%s'", detail);
	else if (w->pipeline != NULL && c->pipeline != e->pipeline)
		tw_buf_adds(b, "of another pipeline");
	else if (w->trainer != NULL && c->trainer != e->trainer)
		tw_buf_adds(b, "of another trainer");
	else if (tw_choosing_strict(c) && w->node_type >= 0 &&
		 w->node_type != e->node_type)
		tw_buf_adds(b, "of another node type");
	else if (tw_choosing_strict(c) && w->node_type < 0 && similarity_of(c, e) < 1)
		tw_buf_adds(b, "of another machine");
	else if (!tw_choosing_accepts(c, e))
		tw_buf_adds(b, tw_choosing_refusal(c, e));
	else if (!tw_filter_pass(&c->filter, e, &detail))
		tw_buf_addf(b, "filter '%s' not passed", detail);
	else if (tw_choosing_given_up(c, e))
		tw_buf_adds(b, "it cannot be read");
	else
		return false;
	return true;
}

/* ---- why a candidate lost ---- */

static void add_rank(const struct tw_index *x, const struct tw_index_entry *e,
		     const struct tw_index_entry *best, struct tw_buf *b)
{
	const char *key = tw_index_error_key(x);

	if (e->machine != best->machine)
		tw_buf_addf(b,
			    "node type %lld of pipeline '%s' comes later in the order of "
			    "preference",
			    e->node_type, e->pipeline);
	else if (e->error > best->error || (isnan(e->error) && !isnan(best->error)))
		tw_buf_addf(b, "its %s is %s", key,
			    tw_index_figure_more_is_better(key) ? "lower" : "higher");
	else if (e->feature_count > best->feature_count)
		tw_buf_adds(b, "it needs more features");
	else
		tw_buf_adds(b, "its name comes later");
}

static void add_loss(const struct tw_choosing *c, const struct tw_index_entry *e,
		     const struct tw_index_entry *best, struct tw_buf *b)
{
	const struct tw_wanted *w = c->w;
	const bool by_number = w->node_type >= 0 && best->node_type == w->node_type;
	const double s = counted(c, e), best_s = counted(c, best);

	if (by_number && e->node_type != w->node_type)
		tw_buf_adds(b, "of another node type");
	else if (!by_number && s < best_s)
		tw_buf_adds(b, "its machine is less similar");
	else if (!by_number && best_s > 0 && e->machine->members < best->machine->members)
		tw_buf_adds(b, "fewer machines of its type were measured");
	else if (w->weight && w->output == TW_ABS_POWER && !e->floor && best->floor)
		tw_buf_adds(b, "it gives no power where there is no use");
	else
		add_rank(c->x, e, best, b);
}

/* ---- JSON ---- */

static void add_model(const struct tw_choosing *c, const struct tw_index_entry *e,
		      struct tw_buf *b)
{
	tw_buf_adds(b, "\"pipeline\":");
	add_text(b, e->pipeline);
	tw_buf_adds(b, ",\"model_name\":");
	add_text(b, e->name);
	tw_buf_addf(b, ",\"feature_group\":\"%s\",\"node_type\":%lld,\"mae\":",
		    e->group->name, e->node_type);
	add_number(b, e->mae_w);
	tw_buf_adds(b, ",\"mape\":");
	add_number(b, e->mape_percent);
	tw_buf_adds(b, ",\"similarity\":");
	if (tw_machine_spec_known(&c->w->spec))
		add_number(b, similarity_of(c, e));
	else
		tw_buf_adds(b, "null");
}

/* How sure it is that the machine is of the chosen type, among those of its pipeline. */
static void add_certainty(const struct tw_choosing *c, const struct tw_index_entry *e,
			  struct tw_buf *b)
{
	const struct tw_index_pipeline *p = tw_index_pipeline_find(c->x, e->pipeline);
	struct tw_node_choice choice;

	if (!tw_machine_spec_known(&c->w->spec) || p == NULL ||
	    !tw_node_judge(&p->types, &c->w->spec, (uint32_t)e->node_type, &choice)) {
		tw_buf_adds(b, ",\"uncertainty\":null,\"looseness\":null");
		return;
	}
	tw_buf_adds(b, ",\"uncertainty\":");
	add_number(b, choice.uncertainty);
	tw_buf_adds(b, ",\"looseness\":");
	add_number(b, choice.looseness);
}

static void add_candidate(const struct tw_choosing *c, const struct tw_index_entry *e,
			  const struct tw_index_entry *best, struct tw_buf *b)
{
	struct tw_buf why = { 0 };

	/* One may just have been found broken: then there is no best. */
	if (e != best && !add_failure(c, e, &why) && best != NULL)
		add_loss(c, e, best, &why);
	tw_buf_adds(b, "{");
	add_model(c, e, b);
	tw_buf_adds(b, ",\"lost\":");
	if (e == best)
		tw_buf_adds(b, "null");
	else
		tw_buf_add_json_text(b, why.data != NULL ? why.data : "", why.len);
	tw_buf_adds(b, "}");
	b->failed |= tw_buf_failed(&why);
	tw_buf_clear(&why);
}

static void add_candidates(const struct tw_choosing *c, const struct tw_index_entry *best,
			   struct tw_buf *b)
{
	size_t told = 0, left_out = 0;

	tw_buf_adds(b, ",\"candidates\":[");
	for (size_t i = 0; i < c->x->count; i++) {
		const struct tw_index_entry *e = c->x->orders.by_rank[i];

		if (e->source != c->w->source || e->output != c->w->output)
			continue;
		if (told == TW_EXPLAIN_MAX && e != best) {
			left_out++;
			continue;
		}
		tw_buf_adds(b, told++ > 0 ? "," : "");
		add_candidate(c, e, best, b);
	}
	tw_buf_addf(b, "],\"left_out\":%zu}", left_out);
}

int tw_explain(const struct tw_index *x, const struct tw_wanted *w, struct tw_buf *out,
	       struct tw_err *err)
{
	struct tw_choosing c = { 0 };
	struct tw_choice choice;
	struct tw_err why = { 0 };
	int rc = -1;

	if (tw_choosing_begin(&c, x, w, err) < 0 ||
	    tw_choosing_choose(&c, &choice, err) < 0)
		goto out;
	if (choice.entry == NULL) {
		tw_choosing_not_found(&c, &why);
		tw_buf_adds(out, "{\"chosen\":null,\"error\":");
		add_text(out, why.text);
	} else {
		tw_buf_adds(out, "{\"chosen\":{");
		add_model(&c, choice.entry, out);
		tw_buf_addf(out, ",\"match\":\"%s\"", tw_match_name(choice.match));
		add_certainty(&c, choice.entry, out);
		tw_buf_adds(out, "}");
	}
	add_candidates(&c, choice.entry, out);
	rc = 0;
out:
	tw_choosing_release(&c);
	return rc;
}
