/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export/export.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "lib/zip/fileset.h"
#include "model-db/pipeline.h"
#include "model-db/report/card.h"
#include "profiler/node_types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_TEXT (8 * TW_MODEL_NAME_MAX)

void tw_export_base(const struct tw_model *m, char *out, size_t size)
{
	snprintf(out, size, "%s/%s/%s/%s", m->info.source->name,
		 tw_output_name(m->info.output), m->info.group->name, m->info.name);
}

/* ---- order ---- */

static int by_error(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a > b) - (a < b);
}

static int by_place(const void *a, const void *b)
{
	const struct tw_model_info *x = &((const struct tw_model *)a)->info;
	const struct tw_model_info *y = &((const struct tw_model *)b)->info;
	int d = strcmp(x->source->name, y->source->name);

	if (d == 0)
		d = (int)x->output - (int)y->output;
	if (d == 0)
		d = (x->node_type > y->node_type) - (x->node_type < y->node_type);
	if (d == 0)
		d = strcmp(x->group->name, y->group->name);
	if (d == 0)
		d = by_error(x->mae_w, y->mae_w);
	return d != 0 ? d : strcmp(x->name, y->name);
}

void tw_export_sort(struct tw_model *models, size_t count)
{
	qsort(models, count, sizeof(*models), by_place);
}

static bool same_table(const struct tw_model *a, const struct tw_model *b)
{
	return a->info.source == b->info.source && a->info.output == b->info.output;
}

/* ---- node types ---- */

static bool has_models(const struct tw_model *models, size_t count, uint32_t type)
{
	for (size_t i = 0; i < count; i++)
		if (models[i].info.node_type == type)
			return true;
	return false;
}

static int copy_type(struct tw_node_types *to, const struct tw_node_type *from,
		     struct tw_err *err)
{
	struct tw_node_type *type;

	if (tw_node_types_add(to, from->number, &from->spec, &type, err) < 0)
		return -1;
	return tw_strs_copy(&type->members, &from->members, err);
}

int tw_export_node_types(const struct tw_fileset *pipeline, const struct tw_model *models,
			 size_t count, struct tw_node_types *out, struct tw_err *err)
{
	static const char name[] = "node_type_index.json";
	const struct tw_fileset_file *f = tw_fileset_find(pipeline, name);
	struct tw_node_types all = { 0 };
	json_t *index = NULL;
	int rc = -1;

	if (f == NULL)
		return tw_fail(err, TW_NOTFOUND, "the pipeline has no %s", name);
	if (tw_json_parse(f->data, f->len, name, &index, err) < 0 ||
	    tw_node_types_from_json(index, name, &all, err) < 0)
		goto out;
	for (size_t i = 0; i < all.count; i++)
		if (has_models(models, count, all.at[i].number) &&
		    copy_type(out, &all.at[i], err) < 0)
			goto out;

	rc = 0;
out:
	json_decref(index);
	tw_node_types_release(&all);
	return rc;
}

/* ---- tables ---- */

static void add_attrs_header(struct tw_buf *b, const char *before, const char *after)
{
	tw_buf_addf(b, "|%s processor | cores | chips | memory | frequency |%s\n|%s",
		    before, after, before[0] != '\0' ? " --- |" : "");
	tw_buf_addf(b, " --- | --- | --- | --- | --- |%s\n",
		    after[0] != '\0' ? " --- | --- |" : "");
}

static void add_attrs(struct tw_buf *b, const struct tw_machine_spec *s)
{
	const uint32_t v[] = { s->cores, s->chips, s->memory_gib, s->frequency_mhz };

	tw_buf_adds(b, " ");
	tw_card_add_cell(b, s->processor[0] != '\0' ? s->processor : "-");
	tw_buf_adds(b, " |");
	for (size_t i = 0; i < TW_COUNT(v); i++)
		tw_buf_addf(b, v[i] != 0 ? " %u |" : " - |", v[i]);
}

/*
 * Add a link to a file of the model, if it exists. up: relative path from the text to the
 * top.
 */
static void add_link(const struct tw_export_report *r, const struct tw_model *m,
		     const char *up, const char *suffix, const char *words,
		     struct tw_buf *b)
{
	char base[PATH_TEXT / 2], path[PATH_TEXT];

	tw_export_base(m, base, sizeof(base));
	snprintf(path, sizeof(path), "%s%s", base, suffix);
	if (tw_fileset_find(r->files, path) != NULL)
		tw_buf_addf(b, " [%s](%s%s) |", words, up, path);
	else
		tw_buf_adds(b, " - |");
}

static void add_model_header(struct tw_buf *b, bool with_type)
{
	tw_buf_addf(b,
		    "|%s feature group | model | MAE (W) | MAPE (%%) | model file | "
		    "weights | "
		    "card |\n|%s --- | --- | --: | --: | --- | --- | --- |\n",
		    with_type ? " node type |" : "", with_type ? " --: |" : "");
}

static void add_model(const struct tw_export_report *r, const struct tw_model *m,
		      const char *up, bool with_type, struct tw_buf *b)
{
	tw_buf_adds(b, "|");
	if (with_type)
		tw_buf_addf(b, " %lld |", m->info.node_type);
	tw_buf_addf(b, " %s | ", m->info.group->name);
	tw_card_add_cell(b, m->info.name);
	tw_buf_adds(b, " | ");
	tw_card_add_figure(b, m->info.mae_w, 2);
	tw_buf_adds(b, " | ");
	tw_card_add_figure(b, m->info.mape_percent, 1);
	tw_buf_adds(b, " |");
	add_link(r, m, up, ".zip", "zip", b);
	add_link(r, m, up, ".json", "json", b);
	add_link(r, m, up, ".card.md", "card", b);
	tw_buf_adds(b, "\n");
}

/* ---- the error report ---- */

static void add_limits(const struct tw_export_report *r, struct tw_buf *b)
{
	const struct tw_export_args *a = r->args;

	if (isnan(a->max_mae_w) && isnan(a->max_mape_percent)) {
		tw_buf_adds(b, "All models, however large their errors.");
	} else {
		tw_buf_adds(b, "Only models with");
		if (!isnan(a->max_mae_w)) {
			tw_buf_adds(b, " MAE at most ");
			tw_buf_add_double(b, a->max_mae_w);
			tw_buf_adds(b, " W");
		}
		if (!isnan(a->max_mae_w) && !isnan(a->max_mape_percent))
			tw_buf_adds(b, " and");
		if (!isnan(a->max_mape_percent)) {
			tw_buf_adds(b, " MAPE at most ");
			tw_buf_add_double(b, a->max_mape_percent);
			tw_buf_adds(b, " %");
		}
		tw_buf_addf(b, "; %zu others are left out.", r->left_out);
	}
	tw_buf_adds(b, " Errors are the largest over the energy components, on blocks of "
		       "time that the model did not see.\n\n");
}

/*
 * Add the models of a source and output: only those whose weights clients compute with,
 * or all.
 */
static void add_table(const struct tw_export_report *r, const struct tw_node_type *type,
		      const struct tw_model *of, bool weights, struct tw_buf *b)
{
	bool any = false;

	tw_buf_addf(b, "### %s %s\n\n", of->info.source->name,
		    tw_output_name(of->info.output));
	for (size_t i = 0; i < r->count; i++) {
		const struct tw_model *m = &r->models[i];
		char base[PATH_TEXT / 2], path[PATH_TEXT];

		tw_export_base(m, base, sizeof(base));
		snprintf(path, sizeof(path), "%s.json", base);
		if (!same_table(m, of) || m->info.node_type != type->number ||
		    (weights && tw_fileset_find(r->files, path) == NULL))
			continue;
		if (!any)
			add_model_header(b, false);
		any = true;
		add_model(r, m, "../", false, b);
	}
	tw_buf_adds(b, any ? "\n" : "No model available.\n\n");
}

static void add_tables(const struct tw_export_report *r, const struct tw_node_type *type,
		       bool weights, struct tw_buf *b)
{
	for (size_t i = 0; i < r->count; i++)
		if (i == 0 || !same_table(&r->models[i - 1], &r->models[i]))
			add_table(r, type, &r->models[i], weights, b);
}

void tw_export_error_report(const struct tw_export_report *r,
			    const struct tw_node_type *type, struct tw_buf *out)
{
	tw_buf_addf(out, "# Validation results on node type %u\n\n", type->number);
	add_attrs_header(out, "", "");
	tw_buf_adds(out, "|");
	add_attrs(out, &type->spec);
	tw_buf_adds(out, "\n\n");
	add_limits(r, out);
	tw_buf_adds(out, "[With local estimator](#with-local-estimator)\n\n"
			 "[With sidecar estimator](#with-sidecar-estimator)\n\n"
			 "## With local estimator\n\nModels with weights, which a client "
			 "computes with itself.\n\n");
	add_tables(r, type, true, out);
	tw_buf_adds(out, "## With sidecar estimator\n\n");
	add_tables(r, type, false, out);
}

/* ---- the README ---- */

static void add_node_types(const struct tw_export_report *r, struct tw_buf *b)
{
	tw_buf_addf(b, "Available Node Type: %zu\n\n", r->types->count);
	add_attrs_header(b, " node type |", " member size | error report |");
	for (size_t i = 0; i < r->types->count; i++) {
		const struct tw_node_type *type = &r->types->at[i];

		tw_buf_addf(b, "| %u |", type->number);
		add_attrs(b, &type->spec);
		tw_buf_addf(
			b, " %zu | [link](./" TW_PIPELINE_REPORTS "/node_type_%u.md) |\n",
			type->members.count, type->number);
	}
}

/*
 * Models are sorted by node type, group and error: the first of each group is the best.
 */
static bool is_best(const struct tw_export_report *r, size_t i)
{
	const struct tw_model *m = &r->models[i], *before = m - 1;

	return i == 0 || !same_table(before, m) ||
	       before->info.node_type != m->info.node_type ||
	       before->info.group != m->info.group;
}

static void add_curve(const struct tw_export_report *r, const struct tw_model *m,
		      struct tw_buf *b)
{
	char base[PATH_TEXT / 2], path[PATH_TEXT];

	tw_export_base(m, base, sizeof(base));
	for (size_t p = 0; p < m->parts; p++) {
		snprintf(path, sizeof(path), "%s.%s.power-curve.svg", base,
			 tw_component_name(m->part[p].component));
		if (tw_fileset_find(r->files, path) == NULL)
			continue;
		tw_buf_addf(b, "\n![Power curve of %s](%s)\n", m->info.name, path);
		return;
	}
}

/* Add the best model of each group, and the power curve of the best of all. */
static void add_best(const struct tw_export_report *r, size_t from, struct tw_buf *b)
{
	const struct tw_model *best = &r->models[from];

	tw_buf_addf(b, "\n## %s (%s)\n\nThe best model of each feature group:\n\n",
		    best->info.source->name, tw_output_name(best->info.output));
	add_model_header(b, true);
	for (size_t i = from; i < r->count && same_table(&r->models[i], &r->models[from]);
	     i++) {
		if (!is_best(r, i))
			continue;
		add_model(r, &r->models[i], "./", true, b);
		if (by_error(r->models[i].info.mae_w, best->info.mae_w) < 0)
			best = &r->models[i];
	}
	add_curve(r, best, b);
}

void tw_export_readme(const struct tw_export_report *r, struct tw_buf *out)
{
	tw_buf_addf(out, "# %s\n\n", r->args->name);
	add_limits(r, out);
	if (r->args->publisher != NULL) {
		tw_buf_adds(out, "Published by ");
		tw_card_add_cell(out, r->args->publisher);
		tw_buf_adds(out, ".\n\n");
	}
	if (r->args->collect_date != NULL) {
		tw_buf_adds(out, "Recorded on ");
		tw_card_add_cell(out, r->args->collect_date);
		tw_buf_adds(out, ".\n\n");
	}
	add_node_types(r, out);
	for (size_t i = 0; i < r->count; i++)
		if (i == 0 || !same_table(&r->models[i - 1], &r->models[i]))
			add_best(r, i, out);
}
