/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_pack.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"
#include "model-db/fitness.h"
#include "model-db/model.h"
#include "model-db/pipeline.h"
#include "trainer/extract/smooth.h"
#include "trainer/train_data.h"
#include "trainer/train_job.h"
#include "trainer/train_refusal.h"
#include "trainer/train_result.h"
#include "trainer/train_scores.h"
#include "trainer/train_unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tw_train_outcome_release(struct tw_train_outcome *o)
{
	for (size_t i = 0; i < o->units; i++)
		tw_train_unit_release(&o->unit[i]);
	for (size_t i = 0; i < o->datas; i++)
		tw_train_data_release(&o->data[i]);
	free(o->unit);
	free(o->data);
	tw_isolation_release(&o->isolation);
	tw_train_machines_release(&o->machines);
}

/* Add a row for each machine without data. */
static void add_machines_without(const struct tw_train_outcome *t,
				 struct tw_train_result *out)
{
	for (size_t i = 0; i < t->machines.count; i++) {
		const struct tw_train_machine *m = &t->machines.at[i];
		struct tw_train_row *row = &out->row[out->rows];
		bool any = false;

		for (size_t k = 0; k < t->datas; k++)
			any |= t->data[k].machine == m;
		if (any)
			continue;
		row->source = row->output = row->group = row->trainer = "-";
		row->machine = m->name;
		row->node_type = m->node_type;
		snprintf(row->failure, sizeof(row->failure), TW_TRAIN_NO_DATA,
			 "the machine");
		out->rows++;
	}
}

static int make_rows(const struct tw_train_outcome *t, struct tw_train_result *out,
		     struct tw_err *err)
{
	if (TW_NEW(out->row, t->units + t->machines.count, err) < 0)
		return -1;
	out->machines = t->machines.count;
	for (size_t i = 0; i < t->units; i++) {
		const struct tw_train_unit *u = &t->unit[i];
		const struct tw_err *note = tw_train_unit_note(u);
		struct tw_train_row *row = &out->row[out->rows++];

		row->source = u->data->source->name;
		row->output = tw_output_name(u->data->output);
		row->group = u->data->group->name;
		row->trainer = u->trainer->name;
		row->rows = u->data->rows;
		row->machine = u->data->machine->name;
		row->node_type = u->data->machine->node_type;
		/* A pipeline must not depend on how much memory there was. */
		if (u->err.code == TW_NOMEM)
			return tw_fail(err, TW_NOMEM, "%s: %s", row->trainer,
				       u->err.text);
		if (u->err.code != TW_OK) {
			snprintf(row->failure, sizeof(row->failure), "%s", u->err.text);
			continue;
		}
		if (note->code == TW_NOMEM)
			return tw_fail(err, TW_NOMEM, "%s: %s", row->trainer, note->text);
		if (note->code != TW_OK)
			snprintf(row->note, sizeof(row->note), "%s", note->text);
		row->mae_w = u->model.info.mae_w;
		row->mape_percent = u->model.info.mape_percent;
		row->later_mae_w = u->later_mae_w;
		row->later_mape_percent = u->later_mape_percent;
		out->models++;
	}
	if (out->models == 0)
		return tw_fail(err, t->unit[0].err.code, "no model could be made: %s: %s",
			       out->row[0].trainer, t->unit[0].err.text);
	add_machines_without(t, out);
	return 0;
}

/* Why a model gets no certificate, or NULL. */
static const char *refusal_of(const struct tw_train_unit *u)
{
	return u->err.code == TW_OK
		       ? json_string_value(json_object_get(u->model.info.metadata,
							   TW_CERTIFICATE_REFUSED))
		       : NULL;
}

/* Add "; drift of package: 1.2 W an hour", by the metadata, which parts have, too. */
static void add_drifts(const json_t *metadata, struct tw_buf *out)
{
	bool first = true;

	for (int c = 0; c < TW_COMPONENT_COUNT; c++) {
		const char *name = tw_component_name((enum tw_component)c);
		char key[64];
		const json_t *v;

		snprintf(key, sizeof(key), TW_DRIFT_KEY, name);
		v = json_object_get(metadata, key);
		if (!json_is_number(v))
			continue;
		tw_buf_addf(out, "; %s%s: %.3g W an hour", first ? "drift of " : "", name,
			    json_number_value(v));
		first = false;
	}
}

/* Log a line about the models that get no certificate for a reason; u is the first. */
static void report_refusal(const struct tw_train_outcome *t, size_t u,
			   struct tw_train_result *out)
{
	const struct tw_train_unit *first = &t->unit[u];
	const char *why = refusal_of(first);
	const json_t *rows = first->refusal_rows;
	size_t count = 0;

	for (size_t i = 0; i < t->units; i++) {
		const char *other = refusal_of(&t->unit[i]);

		if (other == NULL || strcmp(other, why) != 0)
			continue;
		if (i < u)
			return; /* reported with an earlier one */
		count++;
	}
	tw_buf_addf(
		&out->quality,
		"warning: %zu of %zu models get no certificate, first %s %s %s: %s; %s",
		count, out->models, tw_output_name(first->data->output),
		first->data->group->name, first->trainer->name, why,
		tw_train_refusal_advice(why));
	for (size_t i = 0; i < json_array_size(rows); i++)
		tw_buf_addf(&out->quality, "; %s%s", i > 0 ? "" : "worst rows: ",
			    json_string_value(json_array_get(rows, i)));
	if (strcmp(why, TW_REFUSED_DRIFT) == 0)
		add_drifts(first->model.info.metadata, &out->quality);
	tw_buf_adds(&out->quality, "\n");
}

/* Describe the recordings of each machine, by the first of its data. */
static int report_quality(const struct tw_train_outcome *t, struct tw_train_result *out,
			  struct tw_err *err)
{
	const struct tw_train_machine *last = NULL;

	for (size_t i = 0; i < t->datas; i++) {
		const struct tw_train_data *d = &t->data[i];

		if (d->machine == last || d->err.code != TW_OK || d->quality == NULL)
			continue;
		last = d->machine;
		if (t->machines.count > 1)
			tw_buf_addf(&out->quality, "machine '%s': ", last->name);
		tw_buf_adds(&out->quality, d->quality_text.data);
	}
	for (size_t i = 0; i < t->units; i++)
		if (refusal_of(&t->unit[i]) != NULL)
			report_refusal(t, i, out);
	return tw_buf_check(&out->quality, err);
}

/* ---- metadata.json ---- */

/* The origin, and the times of the earliest and the latest row of all data. */
static json_t *describe_times(const struct tw_train_data *data, size_t count,
			      const struct tw_train_job *job)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < count; i++) {
		if (data[i].err.code != TW_OK)
			continue;
		first = data[i].first_ms < first ? data[i].first_ms : first;
		last = data[i].last_ms > last ? data[i].last_ms : last;
	}
	return json_pack("{s:o, s:o, s:o}", "origin", tw_train_job_origins(job), "first",
			 tw_train_data_instant(first), "last",
			 tw_train_data_instant(last));
}

/* Add {"0":["node-a"]}, the names of machines by node type, unless none has a name. */
static int add_machines(json_t *metadata, const struct tw_train_data *data, size_t count)
{
	json_t *machines = json_object();
	char type[32];
	int rc = -1;

	for (size_t i = 0; i < count; i++) {
		if (data[i].machine->name == NULL || data[i].err.code != TW_OK)
			continue;
		snprintf(type, sizeof(type), "%zu", data[i].machine->node_type);
		if (json_object_set_new(machines, type,
					json_pack("[s]", data[i].machine->name)) < 0)
			goto out;
	}
	if (machines == NULL || (json_object_size(machines) > 0 &&
				 json_object_set(metadata, "machines", machines) < 0))
		goto out;

	rc = 0;
out:
	json_decref(machines);
	return rc;
}

static json_t *make_metadata(const struct tw_train_job *job,
			     const struct tw_train_data *data, size_t count)
{
	json_t *metadata;

	metadata = json_pack("{s:i, s:s, s:s, s:s, s:o, s:o, s:I, s:s, s:o}",
			     "format_version", TW_MODEL_FORMAT, "name", job->name,
			     "isolator", job->isolator->name, "extractor",
			     tw_extractor_names[job->smooth > 0], "abs_trainers",
			     tw_json_texts(&job->abs_trainers), "dyn_trainers",
			     tw_json_texts(&job->dyn_trainers), "seed",
			     (json_int_t)job->seed, "creator", "tallywatt " TW_VERSION,
			     "data", describe_times(data, count, job));
	if (metadata != NULL &&
	    ((job->user != NULL &&
	      json_object_set_new(metadata, "trained_by", json_string(job->user)) < 0) ||
	     add_machines(metadata, data, count) < 0)) {
		json_decref(metadata);
		return NULL;
	}
	return metadata;
}

static int add_summary(const struct tw_train_outcome *t, struct tw_train_result *out,
		       struct tw_err *err)
{
	struct tw_model *models = calloc(out->models, sizeof(*models));
	json_t *metadata = make_metadata(t->job, t->data, t->datas);
	size_t count = 0;
	int rc = -1;

	if (models == NULL || metadata == NULL) {
		tw_fail(err, TW_NOMEM, "summary of pipeline '%s'", t->job->name);
		goto out;
	}
	/* Shallow copies: the units own the models. */
	for (size_t i = 0; i < t->units; i++)
		if (t->unit[i].err.code == TW_OK)
			models[count++] = t->unit[i].model;
	if (tw_pipeline_add_summary(&out->pipeline, metadata, models, count, err) < 0)
		goto out;

	rc = 0;
out:
	free(models);
	json_decref(metadata);
	return rc;
}

static int add_arguments(const struct tw_train_job *job, struct tw_train_result *out,
			 struct tw_err *err)
{
	json_t *arguments = tw_train_job_arguments(job);
	struct tw_buf b = { 0 };

	if (arguments == NULL)
		return tw_fail(err, TW_NOMEM, "train_arguments.json");
	tw_buf_add_json_pretty(&b, arguments);
	json_decref(arguments);
	return tw_fileset_take_buf(&out->pipeline, "train_arguments.json", &b, err);
}

/* ---- profile.json ---- */

/* AbsPower rows sum over all workloads; DynPower rows may lack background workloads. */
static bool is_whole(const struct tw_train_data *d)
{
	return d->err.code == TW_OK && d->output == TW_ABS_POWER;
}

/*
 * Add profile.json from the profiles of all data. The isolation's idle profile replaces
 * the idle power of the data, which is that of the 5 % of rows with the least use.
 */
static int add_profile(const struct tw_train_data *data, size_t count,
		       const struct tw_isolation *isolation, struct tw_fileset *out,
		       struct tw_err *err)
{
	const struct tw_profile *idle = isolation->args.profile;
	struct tw_profile p = { 0 }, all = { 0 };
	bool whole = false;
	int rc = -1;

	for (size_t i = 0; i < count; i++)
		whole |= is_whole(&data[i]);
	for (size_t i = 0; i < count; i++) {
		const struct tw_train_data *d = &data[i];

		if (d->err.code == TW_OK && is_whole(d) == whole &&
		    tw_profile_update(&p, &d->profile, err) < 0)
			goto out;
	}
	/* A recorded idle profile has precedence over idle rows of the data. */
	if ((idle != NULL && tw_profile_join(&all, idle, err) < 0) ||
	    tw_profile_join(&all, &p, err) < 0 ||
	    tw_pipeline_set_profile(out, &all, err) < 0)
		goto out;
	rc = 0;
out:
	tw_profile_release(&p);
	tw_profile_release(&all);
	return rc;
}

/* ---- the files ---- */

static int pack(const struct tw_train_outcome *t, struct tw_train_result *out,
		struct tw_err *err)
{
	for (size_t i = 0; i < t->units; i++)
		if (t->unit[i].err.code == TW_OK &&
		    tw_fileset_merge(&out->pipeline, &t->unit[i].files, err) < 0)
			return -1;
	if (add_summary(t, out, err) < 0 || add_arguments(t->job, out, err) < 0 ||
	    add_profile(t->data, t->datas, &t->isolation, &out->pipeline, err) < 0)
		return -1;
	tw_fileset_sort(&out->pipeline);
	return 0;
}

int tw_train_pack(const struct tw_train_outcome *t, struct tw_train_result *out,
		  struct tw_err *err)
{
	if (make_rows(t, out, err) < 0 || report_quality(t, out, err) < 0)
		return -1;
	return pack(t, out, err);
}
