/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/shards/merge.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "model-db/pipeline_merge.h"
#include "trainer/names.h"
#include "trainer/shards/part.h"
#include "trainer/shards/plan.h"
#include "trainer/train.h"
#include "trainer/train_data.h"
#include "trainer/train_pack.h"
#include "trainer/train_unit.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Missing units that an error names. */
#define NAMED_MAX 3

struct merging {
	const struct tw_plan *plan;
	struct tw_train_outcome all; /* names of machines are borrowed from the plan */
	bool *filled;                /* of the data */
	/* Checksum and path of each unit's part; "" and NULL: no part yet. */
	char (*sha256)[TW_SHA256_TEXT];
	char **path;
};

/* ---- the plan ---- */

static int make_data(struct merging *m, size_t i, struct tw_err *err)
{
	const struct tw_plan_data *from = &m->plan->data[i];
	struct tw_train_data *d = &m->all.data[i];

	if (tw_names_source(from->source, &d->source, err) < 0 ||
	    tw_names_group(from->group, &d->group, err) < 0)
		return -1;
	if (!tw_output_find(from->output, &d->output))
		return tw_fail(err, TW_INVALID, "data[%zu]: no output '%.64s'", i,
			       from->output);
	d->machine = &m->all.machines.at[from->machine];
	return 0;
}

static int open_merging(struct merging *m, struct tw_err *err)
{
	const struct tw_plan *p = m->plan;

	if (TW_NEW(m->all.machines.at, p->machines, err) < 0 ||
	    TW_NEW(m->all.data, p->datas, err) < 0 ||
	    TW_NEW(m->all.unit, p->units, err) < 0 ||
	    TW_NEW(m->filled, p->datas, err) < 0 ||
	    TW_NEW(m->sha256, p->units, err) < 0 ||
	    tw_new(&m->path, p->units, sizeof(char *), err) < 0)
		return -1;
	m->all.datas = p->datas;
	m->all.units = p->units;
	for (size_t i = 0; i < p->machines; i++) {
		struct tw_train_machine *to =
			&m->all.machines.at[m->all.machines.count++];

		to->name = p->machine[i].name;
		to->spec = p->machine[i].spec;
		to->node_type = p->machine[i].node_type;
	}
	for (size_t i = 0; i < p->datas; i++)
		if (make_data(m, i, err) < 0)
			return -1;
	for (size_t i = 0; i < p->units; i++) {
		m->all.unit[i].data = &m->all.data[p->unit[i].data];
		if (tw_names_trainer(p->unit[i].trainer, &m->all.unit[i].trainer, err) <
		    0)
			return -1;
	}
	return 0;
}

static void close_merging(struct merging *m)
{
	for (size_t i = 0; m->path != NULL && i < m->plan->units; i++)
		free(m->path[i]);
	free(m->filled);
	free(m->sha256);
	free(m->path);
	tw_train_outcome_release(&m->all);
}

/* ---- parts ---- */

/* Data that several units share is in the part of each. */
static int fill_data(struct tw_train_data *d, struct tw_part *part, struct tw_err *err)
{
	d->err = part->data_failure;
	d->rows = part->rows;
	d->first_ms = part->first_ms;
	d->last_ms = part->last_ms;
	/* Room for the note of each unit. */
	d->alts = TW_TRAIN_ALT_FOLDS_MAX;
	d->profile = part->profile;
	part->profile = (struct tw_profile){ 0 };
	if (part->quality == NULL)
		return 0;
	d->quality = json_array();
	if (d->quality == NULL)
		return tw_fail(err, TW_NOMEM, "quality of the data");
	tw_buf_adds(&d->quality_text, part->quality);
	return tw_buf_check(&d->quality_text, err);
}

static int fill_model(struct tw_train_unit *u, struct tw_part *part, struct tw_err *err)
{
	struct tw_pipeline_models models = { 0 };
	int rc = -1;

	u->files = part->files;
	part->files = (struct tw_fileset){ 0 };
	if (tw_pipeline_read_models(&u->files, &models, err) < 0)
		return -1;
	if (models.count != 1) {
		tw_fail(err, TW_INVALID, "%zu models, want one", models.count);
		goto out;
	}
	u->model = models.at[0];
	models.at[0] = (struct tw_model){ 0 };
	rc = 0;
out:
	tw_pipeline_models_release(&models);
	return rc;
}

static int check_model(const struct tw_train_unit *u, struct tw_err *err)
{
	const struct tw_model_info *i = &u->model.info;

	if (strcmp(i->trainer, u->trainer->name) == 0 && i->source == u->data->source &&
	    i->output == u->data->output &&
	    strcmp(i->group->name, u->data->group->name) == 0 &&
	    i->node_type == (long long)u->data->machine->node_type)
		return 0;
	return tw_fail(err, TW_INVALID, "the model '%s' is of another unit", i->name);
}

static int take_part(struct merging *m, struct tw_part *part, const char *path,
		     struct tw_err *err)
{
	struct tw_train_unit *u = &m->all.unit[part->unit];
	const size_t data = m->plan->unit[part->unit].data;

	if (m->path[part->unit] != NULL) {
		if (strcmp(m->sha256[part->unit], part->sha256) == 0)
			return 0;
		return tw_fail(err, TW_INVALID,
			       "'%s' and '%s' are different results of unit %zu: remove "
			       "the wrong one",
			       m->path[part->unit], path, part->unit);
	}
	if (tw_text_copy(path, strlen(path), &m->path[part->unit], err) < 0)
		return -1;
	strcpy(m->sha256[part->unit], part->sha256);
	u->err = part->failure;
	if (part->note[0] != '\0')
		tw_fail(&u->scores.alt_err[0], TW_INVALID, "%s", part->note);
	if (part->failure.code == TW_OK &&
	    (fill_model(u, part, err) < 0 || check_model(u, err) < 0))
		return tw_err_wrap(err, "'%s'", path);
	if (m->filled[data])
		return 0;
	m->filled[data] = true;
	return fill_data(&m->all.data[data], part, err);
}

static int read_one(struct merging *m, const char *path, struct tw_err *err)
{
	struct tw_part part = { 0 };
	int rc = -1;

	if (tw_part_read(path, m->plan, &part, err) == 0)
		rc = take_part(m, &part, path, err);
	tw_part_release(&part);
	return rc;
}

static int read_dir(struct merging *m, const char *path, struct tw_err *err)
{
	struct dirent **entry = NULL;
	const int count = scandir(path, &entry, NULL, alphasort);
	int rc = 0;

	if (count < 0)
		return tw_fail_errno(err, errno, "cannot read '%s'", path);
	for (int i = 0; i < count; i++) {
		char *file = NULL;

		/* A part has a name before the suffix. */
		if (rc == 0 && tw_ends_with(entry[i]->d_name + 1, TW_PART_SUFFIX))
			rc = tw_path_join(&file, err, path, entry[i]->d_name, NULL) < 0
				     ? -1
				     : read_one(m, file, err);
		free(file);
		free(entry[i]);
	}
	free(entry);
	return rc;
}

static int check_missing(const struct merging *m, struct tw_err *err)
{
	struct tw_buf names = { 0 };
	size_t missing = 0;

	for (size_t i = 0; i < m->plan->units; i++) {
		if (m->path[i] != NULL)
			continue;
		if (missing < NAMED_MAX) {
			tw_buf_adds(&names, missing > 0 ? ", " : "");
			tw_plan_add_address(m->plan, i, &names);
		}
		missing++;
	}
	if (missing > 0)
		tw_fail(err, TW_NOTFOUND, "%zu of %zu units are missing: %s%s", missing,
			m->plan->units, tw_buf_failed(&names) ? "?" : names.data,
			missing > NAMED_MAX ? ", .." : "");
	tw_buf_clear(&names);
	return missing > 0 ? -1 : 0;
}

int tw_merge_parts(const struct tw_plan *p, const struct tw_train_job *job,
		   const struct tw_strs *dirs, struct tw_train_result *out,
		   struct tw_err *err)
{
	struct merging m = { .plan = p, .all.job = job };
	struct tw_train_result r = { 0 };
	int rc = -1;

	if (open_merging(&m, err) < 0)
		goto out;
	for (size_t i = 0; i < dirs->count; i++)
		if (read_dir(&m, dirs->at[i], err) < 0)
			goto out;
	if (check_missing(&m, err) < 0 ||
	    tw_train_isolation_init(job, &m.all.machines, false, &m.all.isolation, err) <
		    0 ||
	    tw_train_pack(&m.all, &r, err) < 0)
		goto out;

	*out = r;
	r = (struct tw_train_result){ 0 };
	rc = 0;
out:
	tw_train_result_release(&r);
	close_merging(&m);
	return rc;
}
