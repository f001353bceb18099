/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api_json.h"

#include "lib/core/buf.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "model-db/index/index.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void add_string(struct tw_buf *b, const char *text)
{
	tw_buf_add_json_text(b, text, strlen(text));
}

void tw_api_add_text(struct tw_buf *b, const char *key, const char *text)
{
	tw_buf_addf(b, ",\"%s\":", key);
	add_string(b, text);
}

/* null if the number is not finite. */
static void add_number(struct tw_buf *b, const char *key, double v)
{
	tw_buf_addf(b, ",\"%s\":", key);
	if (isfinite(v))
		tw_buf_add_double(b, v);
	else
		tw_buf_adds(b, "null");
}

static void add_spec(struct tw_buf *b, const char *key,
		     const struct tw_machine_spec *spec)
{
	json_t *v = tw_machine_spec_to_json(spec);

	b->failed |= v == NULL;
	tw_buf_addf(b, ",\"%s\":", key);
	if (v != NULL)
		tw_buf_add_json(b, v);
	json_decref(v);
}

/* The index has plain names only: a URL needs no escapes. */
static void add_url(struct tw_buf *b, const struct tw_index_entry *e)
{
	tw_buf_addf(b, ",\"url\":\"/api/v1/models/%s/%s/%s/%s/%s\"", e->pipeline,
		    e->source->name, tw_output_name(e->output), e->group->name, e->name);
}

void tw_api_add_model(struct tw_buf *b, const struct tw_index_entry *e)
{
	tw_buf_adds(b, "\"pipeline\":");
	add_string(b, e->pipeline);
	tw_api_add_text(b, "model_name", e->name);
	tw_api_add_text(b, "trainer", e->trainer);
	tw_api_add_text(b, "model_class", e->predictor);
	tw_api_add_text(b, "source", e->source->name);
	tw_api_add_text(b, "output_type", tw_output_name(e->output));
	tw_api_add_text(b, "feature_group", e->group->name);
	tw_buf_adds(b, ",\"features\":[");
	for (size_t i = 0; i < e->feature_count; i++) {
		tw_buf_adds(b, i > 0 ? "," : "");
		add_string(b, e->features[i]);
	}
	tw_buf_addf(b, "],\"node_type\":%lld", e->node_type);
	add_spec(b, "machine_spec", &e->machine->spec);
	add_number(b, "mae", e->mae_w);
	add_number(b, "mape", e->mape_percent);
	tw_buf_addf(b,
		    ",\"weights\":%s,\"zip_bytes\":%" PRIu64 ",\"preference\":%" PRIu32,
		    e->weights_for != 0 ? "true" : "false", e->zip_bytes, e->rank);
	add_url(b, e);
}

void tw_api_add_node_type(struct tw_buf *b, const struct tw_index_machine *m)
{
	tw_buf_adds(b, "\"pipeline\":");
	add_string(b, m->pipeline);
	tw_buf_addf(b, ",\"node_type\":%lld", m->node_type);
	add_spec(b, "attrs", &m->spec);
	tw_buf_addf(b, ",\"members\":%zu", m->members);
}

/* The range of a pipeline's models with this source and output. */
static size_t count_models(const struct tw_index *x, const struct tw_index_pipeline *p,
			   const struct tw_energy_source *source, enum tw_output output)
{
	size_t n = 0;

	for (size_t i = p->first; i < p->first + p->count; i++) {
		const struct tw_index_entry *e = tw_index_at(x, i);

		n += e->source == source && e->output == output;
	}
	return n;
}

static void add_sources(struct tw_buf *b, const struct tw_index *x,
			const struct tw_index_pipeline *p)
{
	const char *separator = "";

	tw_buf_adds(b, ",\"sources\":{");
	/* The models are sorted by their source. */
	for (size_t i = p->first; i < p->first + p->count; i++) {
		const struct tw_energy_source *source = tw_index_at(x, i)->source;
		size_t n[TW_OUTPUT_COUNT];

		if (i > p->first && tw_index_at(x, i - 1)->source == source)
			continue;
		for (int o = 0; o < TW_OUTPUT_COUNT; o++)
			n[o] = count_models(x, p, source, (enum tw_output)o);
		tw_buf_addf(b, "%s\"%s\":{\"AbsPower\":%zu,\"DynPower\":%zu}", separator,
			    source->name, n[TW_ABS_POWER], n[TW_DYN_POWER]);
		separator = ",";
	}
	tw_buf_adds(b, "}");
}

static size_t count_node_types(const struct tw_index *x,
			       const struct tw_index_pipeline *p)
{
	size_t n = 0;

	for (size_t i = 0; i < tw_index_machine_count(x); i++)
		n += tw_index_machine_at(x, i)->pipeline == p->name;
	return n;
}

void tw_api_add_pipeline(struct tw_buf *b, const struct tw_index *x,
			 const struct tw_index_pipeline *p)
{
	tw_buf_adds(b, "\"name\":");
	add_string(b, p->name);
	tw_buf_addf(b, ",\"models\":%zu,\"node_types\":%zu", p->count,
		    count_node_types(x, p));
	add_sources(b, x, p);
	tw_buf_addf(b, ",\"url\":\"/api/v1/pipelines/%s\"", p->name);
}
