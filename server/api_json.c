/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api_json.h"

#include "lib/core/buf.h"
#include "lib/json/writer.h"
#include "model-db/index/index.h"

/* The index has plain names only: a URL needs no escapes. */
static void add_url(struct tw_buf *b, const struct tw_index_entry *e)
{
	tw_json_add_key(b, "url");
	tw_buf_addf(b, "\"/api/v1/models/%s/%s/%s/%s/%s\"", e->pipeline, e->source->name,
		    tw_output_name(e->output), e->group->name, e->name);
}

void tw_api_add_model(struct tw_buf *b, const struct tw_index_entry *e)
{
	tw_json_add_text(b, "pipeline", e->pipeline);
	tw_json_add_text(b, "model_name", e->name);
	tw_json_add_text(b, "trainer", e->trainer);
	tw_json_add_text(b, "model_class", e->predictor);
	tw_json_add_text(b, "source", e->source->name);
	tw_json_add_text(b, "output_type", tw_output_name(e->output));
	tw_json_add_text(b, "feature_group", e->group->name);
	tw_json_add_array(b, "features");
	for (size_t i = 0; i < e->feature_count; i++)
		tw_json_add_text(b, NULL, e->features[i]);
	tw_json_end_array(b);
	tw_json_add_int(b, "node_type", e->node_type);
	tw_json_add_value_take(b, "machine_spec",
			       tw_machine_spec_to_json(&e->machine->spec));
	tw_json_add_number(b, "mae", e->mae_w);
	tw_json_add_number(b, "mape", e->mape_percent);
	tw_json_add_bool(b, "weights", e->weights_for != 0);
	tw_json_add_uint(b, "zip_bytes", e->zip_bytes);
	tw_json_add_uint(b, "preference", e->rank);
	add_url(b, e);
}

void tw_api_add_node_type(struct tw_buf *b, const struct tw_index_machine *m)
{
	tw_json_add_text(b, "pipeline", m->pipeline);
	tw_json_add_int(b, "node_type", m->node_type);
	tw_json_add_value_take(b, "attrs", tw_machine_spec_to_json(&m->spec));
	tw_json_add_uint(b, "members", m->members);
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
	tw_json_add_object(b, "sources");
	/* The models are sorted by their source. */
	for (size_t i = p->first; i < p->first + p->count; i++) {
		const struct tw_energy_source *source = tw_index_at(x, i)->source;

		if (i > p->first && tw_index_at(x, i - 1)->source == source)
			continue;
		tw_json_add_object(b, source->name);
		for (int o = 0; o < TW_OUTPUT_COUNT; o++)
			tw_json_add_uint(b, tw_output_name((enum tw_output)o),
					 count_models(x, p, source, (enum tw_output)o));
		tw_json_end_object(b);
	}
	tw_json_end_object(b);
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
	tw_json_add_text(b, "name", p->name);
	tw_json_add_uint(b, "models", p->count);
	tw_json_add_uint(b, "node_types", count_node_types(x, p));
	add_sources(b, x, p);
	tw_json_add_key(b, "url");
	tw_buf_addf(b, "\"/api/v1/pipelines/%s\"", p->name);
}
