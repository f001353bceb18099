/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/summary.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "model-db/model.h"
#include "profiler/node_types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* "['a', 'b']" with the quotes of CSV. */
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

/* The first known spec among the models of a node type. */
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

/* Add the names of machines in metadata's "machines". */
static int add_members(struct tw_node_type *type, const json_t *metadata,
		       struct tw_err *err)
{
	const json_t *machines = NULL;
	char key[16];

	if (tw_json_object(metadata, "metadata.json", "machines", true, &machines, err) <
	    0)
		return -1;
	if (machines == NULL)
		return 0;
	snprintf(key, sizeof(key), "%u", type->number);
	return tw_json_strs(machines, "metadata.json.machines", key, true, &type->members,
			    err);
}

static int by_value(const void *a, const void *b)
{
	const long long x = *(const long long *)a, y = *(const long long *)b;

	return (x > y) - (x < y);
}

int tw_summary_node_types(const json_t *metadata, const struct tw_model *models,
			  size_t count, struct tw_node_types *out, struct tw_err *err)
{
	long long *numbers = calloc(count + 1, sizeof(*numbers));
	struct tw_node_types types = { 0 };
	struct tw_node_type *type;
	int rc = -1;

	if (numbers == NULL) {
		tw_fail(err, TW_NOMEM, "node types");
		goto out;
	}
	for (size_t i = 0; i < count; i++)
		numbers[i] = models[i].info.node_type;
	qsort(numbers, count, sizeof(numbers[0]), by_value);
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && numbers[i] == numbers[i - 1])
			continue;
		if (tw_node_types_add(&types, (uint32_t)numbers[i],
				      find_spec(models, count, numbers[i]), &type,
				      err) < 0 ||
		    add_members(type, metadata, err) < 0)
			goto out;
	}

	*out = types;
	types = (struct tw_node_types){ 0 };
	rc = 0;
out:
	tw_node_types_release(&types);
	free(numbers);
	return rc;
}
