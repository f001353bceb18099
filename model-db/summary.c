/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/summary.h"

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/num.h"
#include "model-db/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* By group, error (undefined last), name. */
static int by_group_and_error(const void *a, const void *b)
{
	const struct tw_model_info *x = &(*(const struct tw_model *const *)a)->info;
	const struct tw_model_info *y = &(*(const struct tw_model *const *)b)->info;
	int d = strcmp(x->group->name, y->group->name);

	if (d != 0)
		return d;
	if (isnan(x->mae_w) != isnan(y->mae_w))
		return isnan(x->mae_w) ? 1 : -1;
	if (x->mae_w < y->mae_w || x->mae_w > y->mae_w)
		return x->mae_w < y->mae_w ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void add_number(struct tw_buf *b, double v)
{
	if (isfinite(v))
		tw_buf_add_double(b, v);
	tw_buf_adds(b, ",");
}

/* "['a', 'b']": a feature's name holds neither blanks nor quotes in any known data. */
static void add_features(struct tw_buf *b, const struct tw_strs *l)
{
	tw_buf_adds(b, "\"[");
	for (size_t i = 0; i < l->count; i++) {
		tw_buf_adds(b, i > 0 ? ", '" : "'");
		for (const char *p = l->at[i]; *p != '\0'; p++)
			tw_buf_add(b, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
		tw_buf_adds(b, "'");
	}
	tw_buf_adds(b, "]\",");
}

static double component_figure(const struct tw_model_info *i, enum tw_component c,
			       const char *figure)
{
	char key[64];
	const json_t *v;

	snprintf(key, sizeof(key), "%s_%s", tw_component_name(c), figure);
	v = json_object_get(i->metadata, key);
	return json_is_number(v) ? json_number_value(v) : NAN;
}

static void add_header(struct tw_buf *b, const struct tw_energy_source *source)
{
	tw_buf_adds(b, ",model_name,model_class,model_file,features,fe_files,output_type,"
		       "mae,mape,");
	for (size_t c = 0; c < source->count; c++)
		tw_buf_addf(b, "%s_mae,", tw_component_name(source->components[c]));
	for (size_t c = 0; c < source->count; c++)
		tw_buf_addf(b, "%s_mape,", tw_component_name(source->components[c]));
	tw_buf_adds(b, "trainer,node_type,feature_group\n");
}

static void add_row(struct tw_buf *b, size_t row, const struct tw_model_info *i)
{
	tw_buf_addf(b, "%zu,%s,%s,%s.json,", row, i->name, i->predictor, i->name);
	add_features(b, &i->features);
	tw_buf_addf(b, "[],%s,", tw_output_name(i->output));
	add_number(b, i->mae_w);
	add_number(b, i->mape_percent);
	for (size_t c = 0; c < i->source->count; c++)
		add_number(b, component_figure(i, i->source->components[c], "mae"));
	for (size_t c = 0; c < i->source->count; c++)
		add_number(b, component_figure(i, i->source->components[c], "mape"));
	tw_buf_addf(b, "%s,%lld,%s\n", i->trainer, i->node_type, i->group->name);
}

int tw_summary_table(const struct tw_model *models, size_t count,
		     const struct tw_energy_source *source, enum tw_output output,
		     struct tw_buf *out, struct tw_err *err)
{
	const struct tw_model **rows = calloc(count + 1, sizeof(struct tw_model *));
	size_t n = 0;

	if (rows == NULL)
		return tw_fail(err, TW_NOMEM, "table of %zu models", count);
	for (size_t i = 0; i < count; i++)
		if (models[i].info.source == source && models[i].info.output == output)
			rows[n++] = &models[i];
	qsort(rows, n, sizeof(rows[0]), by_group_and_error);
	add_header(out, source);
	for (size_t i = 0; i < n; i++)
		add_row(out, i, &rows[i]->info);
	free(rows);
	return 0;
}

static json_t *spec_attrs(const struct tw_machine_spec *spec)
{
	static const char *const keys[] = { "processor", "cores", "chips", "memory",
					    "frequency" };
	json_t *all = tw_machine_spec_to_json(spec), *attrs = json_object();

	for (size_t i = 0; i < COUNT(keys); i++) {
		json_t *v = json_object_get(all, keys[i]);

		if (v != NULL && json_object_set(attrs, keys[i], v) < 0) {
			json_decref(attrs);
			attrs = NULL;
		}
	}
	if (all == NULL) {
		json_decref(attrs);
		attrs = NULL;
	}
	json_decref(all);
	return attrs;
}

/* The spec that speaks for a node type: the first that is known. */
static const struct tw_machine_spec *find_spec(const struct tw_model *models,
					       size_t count, long long node_type)
{
	static const struct tw_machine_spec unknown;

	for (size_t i = 0; i < count; i++)
		if (models[i].info.node_type == node_type &&
		    tw_machine_spec_known(&models[i].info.spec))
			return &models[i].info.spec;
	return &unknown;
}

static json_t *describe(const json_t *metadata, const struct tw_machine_spec *spec,
			const char *key)
{
	json_t *members = json_object_get(json_object_get(metadata, "machines"), key);
	json_t *type = json_object();

	members = json_is_array(members) ? json_incref(members) : json_array();
	if (json_object_set_new(type, "attrs", spec_attrs(spec)) < 0 ||
	    json_object_set(type, "members", members) < 0) {
		json_decref(type);
		type = NULL;
	}
	json_decref(members);
	return type;
}

static int by_value(const void *a, const void *b)
{
	const long long x = *(const long long *)a, y = *(const long long *)b;

	return (x > y) - (x < y);
}

json_t *tw_summary_node_types(const json_t *metadata, const struct tw_model *models,
			      size_t count)
{
	long long *types = calloc(count + 1, sizeof(*types));
	json_t *index = json_object(), *result = NULL;

	if (types == NULL)
		goto out;
	for (size_t i = 0; i < count; i++)
		types[i] = models[i].info.node_type;
	qsort(types, count, sizeof(types[0]), by_value);
	for (size_t i = 0; i < count; i++) {
		const struct tw_machine_spec *spec = find_spec(models, count, types[i]);
		char key[32];

		if (i > 0 && types[i] == types[i - 1])
			continue;
		snprintf(key, sizeof(key), "%lld", types[i]);
		if (json_object_set_new(index, key, describe(metadata, spec, key)) < 0)
			goto out;
	}
	result = json_incref(index);
out:
	json_decref(index);
	free(types);
	return result;
}
