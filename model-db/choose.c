/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/choose.h"

#include "lib/buf.h"
#include "lib/err.h"
#include "model-db/filter.h"
#include "model-db/index.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a model can fail, in this order. */
enum stage { NO_MODEL, METRICS, PIPELINE, TRAINER, NODE_TYPE, WEIGHTS, FILTER, PASSED };

/* The model of a group that came farthest. */
struct reason {
	enum stage stage;
	const char *detail; /* the metric, or the filter's attribute, that it failed */
};

static const char *missing_metric(const struct tw_model_info *i,
				  const struct tw_strs *metrics)
{
	for (size_t f = 0; f < i->features.count; f++)
		if (!tw_strs_has(metrics, i->features.at[f]))
			return i->features.at[f];
	return NULL;
}

static bool has_weights(const struct tw_wanted *w, const struct tw_index_entry *e)
{
	/* Of a curve, only if the client takes the curve's metric for it. */
	if (e->first_metric != NULL)
		return tw_index_has_weights(e, w->client) &&
		       strcmp(w->metrics.at[0], e->first_metric) == 0;
	/* Who does not name the trainer gets what every client can use. */
	return tw_index_has_weights(e, w->client) &&
	       (w->trainer != NULL || tw_index_has_weights(e, TW_CLIENT_0_7));
}

/* How far a model comes. */
static struct reason judge(const struct tw_wanted *w, const struct tw_filter *filter,
			   const struct tw_index_entry *e)
{
	const struct tw_model_info *i = &e->info;
	struct reason r = { .stage = METRICS };

	r.detail = missing_metric(i, &w->metrics);
	if (r.detail != NULL)
		return r;
	if (w->pipeline != NULL && strcmp(w->pipeline, e->pipeline) != 0)
		r.stage = PIPELINE;
	else if (w->trainer != NULL && strcmp(w->trainer, i->trainer) != 0)
		r.stage = TRAINER;
	else if (!w->loose_node_type && w->node_type >= 0 && w->node_type != i->node_type)
		r.stage = NODE_TYPE;
	else if (w->weight && !has_weights(w, e))
		r.stage = WEIGHTS;
	else if (!tw_filter_pass(filter, i, &r.detail))
		r.stage = FILTER;
	else
		r.stage = PASSED;
	return r;
}

/* 0 is not known, and contradicts nothing. */
static bool agrees(uint32_t a, uint32_t b)
{
	return a == 0 || b == 0 || a == b;
}

/* The same machine as far as both are known: the processor and its size must be. */
static bool equal_spec(const struct tw_machine_spec *a, const struct tw_machine_spec *b)
{
	return a->processor[0] != '\0' && strcmp(a->processor, b->processor) == 0 &&
	       a->cores != 0 && a->cores == b->cores && agrees(a->chips, b->chips) &&
	       agrees(a->memory_gib, b->memory_gib) &&
	       agrees(a->frequency_mhz, b->frequency_mhz);
}

static bool same_machine(const struct tw_wanted *w, const struct tw_model_info *i)
{
	return (w->node_type >= 0 && w->node_type == i->node_type) ||
	       equal_spec(&w->spec, &i->spec);
}

/* Below 0 if a is the better one, machines apart. */
static int compare(const struct tw_index_entry *a, const struct tw_index_entry *b)
{
	double x = isnan(a->info.mae_w) ? HUGE_VAL : a->info.mae_w;
	double y = isnan(b->info.mae_w) ? HUGE_VAL : b->info.mae_w;
	int d;

	if (x < y || x > y)
		return x < y ? -1 : 1;
	if (a->info.features.count != b->info.features.count)
		return a->info.features.count < b->info.features.count ? -1 : 1;
	d = strcmp(a->info.name, b->info.name);
	if (d == 0)
		d = strcmp(a->pipeline, b->pipeline);
	return d != 0 ? d : strcmp(a->info.group->name, b->info.group->name);
}

static bool better(const struct tw_wanted *w, const struct tw_index_entry *a,
		   const struct tw_index_entry *b)
{
	bool near = same_machine(w, &a->info);

	if (near != same_machine(w, &b->info))
		return near;
	if (w->weight && w->output == TW_ABS_POWER && a->floor != b->floor)
		return a->floor;
	return compare(a, b) < 0;
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
		tw_buf_addf(b, "none for node type %lld", w->node_type);
		break;
	case WEIGHTS:
		tw_buf_adds(b, "no weights for this client");
		break;
	case FILTER:
		tw_buf_addf(b, "filter '%.40s' not passed", r->detail);
		break;
	case NO_MODEL:
	case PASSED:
		break;
	}
}

/* "BPFOnly: needs metric 'a'; Basic: none of trainer 'b'; no models in Full". */
static int not_found(const struct tw_wanted *w, const struct reason *reasons,
		     struct tw_err *err)
{
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
		/* Most clients know nothing of a node's groups. */
		if (group->of_node && !tw_feature_group_valid(group, &w->metrics))
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

int tw_choose(const struct tw_index *x, const struct tw_wanted *w,
	      const struct tw_index_entry **out, struct tw_err *err)
{
	struct reason *reasons = calloc(tw_feature_group_count(), sizeof(*reasons));
	const struct tw_index_entry *best = NULL;
	struct tw_filter filter = { 0 };
	int rc = -1;

	if (reasons == NULL) {
		tw_fail(err, TW_NOMEM, "choice of a model");
		goto out;
	}
	if (tw_filter_parse(w->filter, &filter, err) < 0)
		goto out;
	for (size_t i = 0; i < tw_index_count(x); i++) {
		const struct tw_index_entry *e = tw_index_at(x, i);
		struct reason r,
			*so_far = &reasons[e->info.group - tw_feature_group_at(0)];

		if (e->info.source != w->source || e->info.output != w->output)
			continue;
		r = judge(w, &filter, e);
		if (r.stage > so_far->stage)
			*so_far = r;
		if (r.stage == PASSED && (best == NULL || better(w, e, best)))
			best = e;
	}
	if (best == NULL) {
		not_found(w, reasons, err);
		goto out;
	}

	*out = best;
	rc = 0;
out:
	tw_filter_release(&filter);
	free(reasons);
	return rc;
}

const struct tw_index_entry *
tw_choose_best(const struct tw_index *x, const struct tw_energy_source *source,
	       enum tw_output output, const struct tw_feature_group *group,
	       long long node_type, const struct tw_filter *filter)
{
	const struct tw_index_entry *best = NULL;

	for (size_t i = 0; i < tw_index_count(x); i++) {
		const struct tw_index_entry *e = tw_index_at(x, i);

		if (e->info.source != source || e->info.output != output ||
		    e->info.group != group)
			continue;
		if (node_type >= 0 && e->info.node_type != node_type)
			continue;
		if (tw_filter_pass(filter, &e->info, NULL) &&
		    (best == NULL || compare(e, best) < 0))
			best = e;
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
