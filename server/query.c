/* SPDX-License-Identifier: Apache-2.0 */
#include "server/query.h"

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/http/server/httpd.h"
#include "model-db/index/index.h"

#include <string.h>

/* NULL if the argument is absent or empty. */
static const char *find_text(const struct tw_http_request *q, const char *name)
{
	const char *text = tw_http_query(q, name);

	return text != NULL && *text != '\0' ? text : NULL;
}

int tw_query_number(const struct tw_http_request *q, const char *name, uint32_t min,
		    uint32_t max, uint32_t *out, struct tw_err *err)
{
	const char *text = find_text(q, name);

	if (text == NULL)
		return 0;
	if (tw_parse_u32(text, min, max, out, err) < 0)
		return tw_err_wrap(err, "%s", name);
	return 0;
}

static int take_output(const char *name, struct tw_query *out, struct tw_err *err)
{
	enum tw_output o;

	for (int i = 0; i < TW_OUTPUT_COUNT; i++)
		out->output[i] = name == NULL;
	if (name == NULL)
		return 0;
	if (!tw_output_find(name, &o))
		return tw_fail(err, TW_INVALID,
			       "output-type: '%.64s' is neither AbsPower nor DynPower",
			       name);
	out->output[o] = true;
	return 0;
}

static int take_node_type(const char *text, struct tw_query *out, struct tw_err *err)
{
	uint32_t n;

	out->node_type = -1;
	if (text == NULL || strcmp(text, "-1") == 0)
		return 0;
	if (tw_parse_u32(text, 0, UINT32_MAX, &n, err) < 0)
		return tw_err_wrap(err, "node-type");
	out->node_type = n;
	return 0;
}

static int take_source(const char *name, struct tw_query *out, struct tw_err *err)
{
	if (name == NULL)
		return 0;
	out->source = tw_energy_source_wanted(name);
	if (out->source == NULL)
		return tw_fail(err, TW_INVALID,
			       "energy-source: no energy source is called '%.64s'", name);
	return 0;
}

static int take_group(const char *name, struct tw_query *out, struct tw_err *err)
{
	if (name == NULL)
		return 0;
	out->group = tw_feature_group_find(name);
	if (out->group == NULL)
		return tw_fail(err, TW_INVALID,
			       "feature-group: no feature group is called '%.64s'", name);
	return 0;
}

int tw_query_parse(const struct tw_http_request *q, struct tw_query *out,
		   struct tw_err *err)
{
	out->pipeline = find_text(q, "pipeline");
	out->trainer = find_text(q, "trainer");
	if (take_source(find_text(q, "energy-source"), out, err) < 0 ||
	    take_group(find_text(q, "feature-group"), out, err) < 0 ||
	    take_output(find_text(q, "output-type"), out, err) < 0 ||
	    take_node_type(find_text(q, "node-type"), out, err) < 0)
		return -1;
	return tw_filter_parse(find_text(q, "filter"), &out->filter, err);
}

void tw_query_release(struct tw_query *q)
{
	tw_filter_release(&q->filter);
}

bool tw_query_has(const struct tw_query *q, const struct tw_index_entry *e)
{
	return (q->pipeline == NULL || strcmp(q->pipeline, e->pipeline) == 0) &&
	       (q->source == NULL || q->source == e->source) && q->output[e->output] &&
	       (q->group == NULL || q->group == e->group) &&
	       (q->trainer == NULL || strcmp(q->trainer, e->trainer) == 0) &&
	       (q->node_type < 0 || q->node_type == e->node_type) &&
	       tw_filter_pass(&q->filter, e, NULL);
}
