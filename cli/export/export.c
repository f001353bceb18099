/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export/export.h"

#include "cli/memory.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "lib/zip/fileset.h"
#include "model-db/pipeline.h"
#include "model-db/report/card.h"
#include "model-db/report/plot.h"
#include "model-db/validation.h"
#include "profiler/node_types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limit of a path in an export, with its NUL. */
#define PATH_TEXT (8 * TW_MODEL_NAME_MAX)

/* The state of an export. */
struct making {
	const struct tw_export_args *args;
	const struct tw_fileset *from;
	struct tw_fileset files;
};

static bool is_within(const struct tw_model_info *i, const struct tw_export_args *a)
{
	if (!isnan(a->max_mae_w) && !(i->mae_w <= a->max_mae_w))
		return false;
	return isnan(a->max_mape_percent) || i->mape_percent <= a->max_mape_percent;
}

/* Move the models within the limits to the front; return their number. */
static size_t pick(struct tw_pipeline_models *m, const struct tw_export_args *a)
{
	size_t count = 0;

	for (size_t i = 0; i < m->count; i++) {
		const struct tw_model picked = m->at[i];

		if (!is_within(&picked.info, a))
			continue;
		m->at[i] = m->at[count];
		m->at[count++] = picked;
	}
	return count;
}

static int carry(struct making *x, const char *path, struct tw_err *err)
{
	const struct tw_fileset_file *f = tw_fileset_find(x->from, path);

	if (f == NULL)
		return 0;
	return tw_fileset_add(&x->files, path, f->data, f->len, err);
}

/* ---- one model ---- */

static int add_plot(struct making *x, const struct tw_model *m, const char *base,
		    const struct tw_dataset *d, enum tw_component c,
		    const struct tw_plot *plot, struct tw_card_plot *shown,
		    struct tw_err *err)
{
	struct tw_buf b = { 0 };
	char path[PATH_TEXT];

	if (tw_plot_draw(plot, d, c, m->info.name, &b, err) < 0) {
		tw_buf_clear(&b);
		return -1;
	}
	snprintf(path, sizeof(path), "%s.%s.%s.svg", base, tw_component_name(c),
		 plot->name);
	shown->title = plot->title;
	shown->href = tw_must(strdup(strrchr(path, '/') + 1));
	return tw_fileset_take_buf(&x->files, path, &b, err);
}

/* Add plots of the components with power above 0; count them in *count. */
static int add_plots(struct making *x, const struct tw_model *m, const char *base,
		     struct tw_card_plot *shown, size_t *count, struct tw_err *err)
{
	const struct tw_fileset_file *f;
	struct tw_dataset d = { 0 };
	char path[PATH_TEXT];
	int rc = -1;

	snprintf(path, sizeof(path), "%s" TW_PIPELINE_VALIDATION, base);
	f = tw_fileset_find(x->from, path);
	if (f == NULL)
		return 0;
	if (tw_validation_read(f->data, f->len, &d, err) < 0) {
		tw_err_wrap(err, "'%.100s'", path);
		goto out;
	}
	for (size_t p = 0; p < m->parts; p++) {
		const enum tw_component c = m->part[p].component;

		for (size_t i = 0; tw_validation_has_power(&d, c) && i < tw_plot_count();
		     i++) {
			if (add_plot(x, m, base, &d, c, tw_plot_at(i), &shown[*count],
				     err) < 0)
				goto out;
			++*count;
		}
	}

	rc = 0;
out:
	tw_dataset_release(&d);
	return rc;
}

static int add_card(struct making *x, const struct tw_model *m, const char *base,
		    const struct tw_card_plot *shown, size_t count, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	char path[PATH_TEXT];
	int rc = -1;

	tw_card_json(m, &b);
	tw_json_indent(&b);
	snprintf(path, sizeof(path), "%s.card.json", base);
	if (tw_fileset_take_buf(&x->files, path, &b, err) < 0 ||
	    tw_card_markdown(m, shown, count, &b, err) < 0)
		goto out;
	snprintf(path, sizeof(path), "%s.card.md", base);
	if (tw_fileset_take_buf(&x->files, path, &b, err) < 0)
		goto out;

	rc = 0;
out:
	tw_buf_clear(&b);
	return rc;
}

static int add_model(struct making *x, const struct tw_model *m, struct tw_err *err)
{
	static const char *const carried[] = { ".zip", ".json", TW_PIPELINE_VALIDATION };
	const size_t most = TW_COMPONENT_COUNT * tw_plot_count();
	struct tw_card_plot *shown = tw_must(calloc(most, sizeof(*shown)));
	char base[PATH_TEXT / 2], path[PATH_TEXT];
	size_t count = 0;
	int rc = -1;

	tw_export_base(m, base, sizeof(base));
	for (size_t i = 0; i < TW_COUNT(carried); i++) {
		snprintf(path, sizeof(path), "%s%s", base, carried[i]);
		if (carry(x, path, err) < 0)
			goto out;
	}
	if (add_plots(x, m, base, shown, &count, err) < 0 ||
	    add_card(x, m, base, shown, count, err) < 0)
		goto out;

	rc = 0;
out:
	for (size_t i = 0; i < most; i++)
		free(shown[i].href);
	free(shown);
	return rc;
}

/* ---- what is about all of them ---- */

static void set_limit(json_t *metadata, const char *key, double limit)
{
	if (!isnan(limit))
		json_object_set_new(metadata, key, json_real(limit));
}

static int set_text(json_t *metadata, const char *key, const char *text,
		    struct tw_err *err)
{
	if (text == NULL || json_object_set_new(metadata, key, json_string(text)) == 0)
		return 0;
	return tw_fail(err, TW_INVALID, "metadata.json: no object, or %s is not UTF-8",
		       key);
}

static int read_metadata(const struct making *x, json_t **out, struct tw_err *err)
{
	const struct tw_fileset_file *f = tw_fileset_find(x->from, "metadata.json");
	const struct tw_export_args *a = x->args;
	json_t *obj = NULL;

	if (f == NULL)
		return tw_fail(err, TW_NOTFOUND, "the pipeline has no metadata.json");
	if (tw_json_parse(f->data, f->len, f->name, &obj, err) < 0)
		return -1;
	set_limit(obj, "max_mae", a->max_mae_w);
	set_limit(obj, "max_mape", a->max_mape_percent);
	if (set_text(obj, "publisher", a->publisher, err) < 0 ||
	    set_text(obj, "collect_date", a->collect_date, err) < 0) {
		json_decref(obj);
		return -1;
	}
	*out = obj;
	return 0;
}

static int add_reports(struct making *x, const struct tw_export_report *r,
		       struct tw_err *err)
{
	struct tw_buf b = { 0 };
	char path[PATH_TEXT];

	for (size_t i = 0; i < r->types->count; i++) {
		tw_export_error_report(r, &r->types->at[i], &b);
		snprintf(path, sizeof(path), TW_PIPELINE_REPORTS "/node_type_%u.md",
			 r->types->at[i].number);
		if (tw_fileset_take_buf(&x->files, path, &b, err) < 0)
			return -1;
	}
	tw_export_readme(r, &b);
	return tw_fileset_take_buf(&x->files, "README.md", &b, err);
}

/* Keep only the node types of the remaining models. */
static int add_whole(struct making *x, const struct tw_model *models, size_t count,
		     struct tw_export_counts *counts, struct tw_err *err)
{
	struct tw_node_types types = { 0 };
	struct tw_export_report report = { .args = x->args,
					   .models = models,
					   .count = count,
					   .left_out = counts->left_out,
					   .types = &types,
					   .files = &x->files };
	json_t *metadata = NULL;
	int rc = -1;

	if (read_metadata(x, &metadata, err) < 0 ||
	    tw_export_node_types(x->from, models, count, &types, err) < 0 ||
	    tw_pipeline_add_index(&x->files, metadata, &types, models, count, err) < 0 ||
	    carry(x, "train_arguments.json", err) < 0 ||
	    carry(x, TW_PIPELINE_PROFILE, err) < 0 || add_reports(x, &report, err) < 0)
		goto out;
	counts->node_types = types.count;

	rc = 0;
out:
	json_decref(metadata);
	tw_node_types_release(&types);
	return rc;
}

int tw_export(const struct tw_fileset *pipeline, const struct tw_export_args *a,
	      struct tw_fileset *out, struct tw_export_counts *counts, struct tw_err *err)
{
	struct making x = { .args = a, .from = pipeline };
	struct tw_pipeline_models models = { 0 };
	struct tw_export_counts n = { 0 };
	int rc = -1;

	if (tw_pipeline_read_models(pipeline, &models, err) < 0)
		goto out;
	n.models = pick(&models, a);
	n.left_out = models.count - n.models;
	if (n.models == 0) {
		tw_fail(err, TW_NOTFOUND, "none of %zu models is within the limits",
			models.count);
		goto out;
	}
	tw_export_sort(models.at, n.models);
	for (size_t i = 0; i < n.models; i++)
		if (add_model(&x, &models.at[i], err) < 0)
			goto out;
	if (add_whole(&x, models.at, n.models, &n, err) < 0)
		goto out;
	tw_fileset_sort(&x.files);

	*out = x.files;
	x.files = (struct tw_fileset){ 0 };
	*counts = n;
	rc = 0;
out:
	tw_fileset_clear(&x.files);
	tw_pipeline_models_release(&models);
	return rc;
}
