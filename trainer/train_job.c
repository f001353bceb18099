/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_job.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/utf8.h"
#include "model-db/pipeline.h"
#include "trainer/extract/smooth.h"
#include "trainer/response/thirdparty.h"
#include "trainer/names.h"

#include <assert.h>
#include <string.h>

/* Names become part of metadata, which is JSON. */
static int check_inputs(const struct tw_train_job *job, struct tw_err *err)
{
	for (size_t i = 0; i < job->response_count; i++) {
		const struct tw_train_response *r = &job->responses[i];

		if ((r->origin != NULL && !tw_is_utf8(r->origin)) ||
		    (r->machine != NULL && !tw_is_utf8(r->machine)))
			return tw_fail(err, TW_INVALID,
				       "the name of response %zu is not UTF-8", i + 1);
	}
	for (size_t i = 0; i < job->table_count; i++)
		if (job->tables[i].origin != NULL && !tw_is_utf8(job->tables[i].origin))
			return tw_fail(err, TW_INVALID,
				       "the name of table %zu is not UTF-8", i + 1);
	if (job->machine != NULL && !tw_is_utf8(job->machine))
		return tw_fail(err, TW_INVALID, "the machine's name is not UTF-8");
	return 0;
}

static bool has_metric(const struct tw_train_job *job, const char *name)
{
	size_t count;

	for (size_t i = 0; i < job->response_count; i++)
		if (tw_prom_series(job->responses[i].prom, name, &count) != NULL)
			return true;
	for (size_t i = 0; i < job->table_count; i++)
		if (tw_dataset_find(job->tables[i].data, name) != NULL)
			return true;
	return false;
}

/* A third-party metric that the job names must exist; other metrics may be missing. */
static int check_thirdparty(const struct tw_train_job *job, struct tw_err *err)
{
	const struct tw_strs *names;

	/* Another share may have it; tallywatt plan looked at the whole. */
	if (job->thirdparty == NULL || job->planned != NULL)
		return 0;
	names = &job->thirdparty->names;
	for (size_t i = 0; i < names->count; i++)
		if (!has_metric(job, names->at[i]))
			return tw_fail(err, TW_NOTFOUND,
				       "third-party metric '%s': %s has it", names->at[i],
				       job->table_count > 0 ? "no table" : "no response");
	return 0;
}

int tw_train_job_check(const struct tw_train_job *job, struct tw_err *err)
{
	assert(job->isolator != NULL);
	if (tw_pipeline_name_check(job->name, strlen(job->name), err) < 0)
		return -1;
	if (job->abs_trainers.count == 0 && job->dyn_trainers.count == 0)
		return tw_fail(err, TW_INVALID,
			       "no trainers, for AbsPower or for DynPower");
	if (job->origin != NULL && !tw_is_utf8(job->origin))
		return tw_fail(err, TW_INVALID, "the data's origin is not UTF-8");
	if (check_inputs(job, err) < 0 || check_thirdparty(job, err) < 0)
		return -1;
	if (!tw_is_utf8(job->spec.vendor) || !tw_is_utf8(job->spec.processor))
		return tw_fail(err, TW_INVALID,
			       "the machine's vendor or processor is not UTF-8");
	if (tw_names_trainers(&job->abs_trainers, "abs_trainers", err) < 0)
		return -1;
	return tw_names_trainers(&job->dyn_trainers, "dyn_trainers", err);
}

/* ---- JSON ---- */

/* The text as JSON, null if it is empty. Clears the buffer. */
static json_t *take_text(struct tw_buf *b)
{
	json_t *text = NULL;

	if (!tw_buf_failed(b))
		text = b->len > 0 ? json_string(b->data) : json_null();
	tw_buf_clear(b);
	return text;
}

static json_t *joined(const struct tw_strs *l)
{
	struct tw_buf b = { 0 };

	for (size_t i = 0; i < l->count; i++)
		tw_buf_addf(&b, "%s%s", i > 0 ? "," : "", l->at[i]);
	return take_text(&b);
}

json_t *tw_train_job_origins(const struct tw_train_job *job)
{
	struct tw_buf b = { 0 };

	if (job->origin != NULL)
		return json_string(job->origin);
	for (size_t i = 0; i < job->response_count; i++)
		if (job->responses[i].origin != NULL)
			tw_buf_addf(&b, "%s%s", b.len > 0 ? "," : "",
				    job->responses[i].origin);
	for (size_t i = 0; i < job->table_count; i++)
		if (job->tables[i].origin != NULL)
			tw_buf_addf(&b, "%s%s", b.len > 0 ? "," : "",
				    job->tables[i].origin);
	return take_text(&b);
}

json_t *tw_train_job_arguments(const struct tw_train_job *job)
{
	const double share = job->shares > 0 ? (double)job->share / job->shares : 1.0;

	return json_pack(
		"{s:s, s:o, s:s, s:s, s:s, s:s*, s:s*, s:o*, s:o, s:o, s:b, s:s, s:I, "
		"s:I, s:f, s:o*, s:o*, s:o*}",
		"command", "train", "input", tw_train_job_origins(job), "pipeline_name",
		job->name, "extractor", tw_extractor_names[job->smooth > 0], "isolator",
		job->isolator->name, "energy_source",
		job->source != NULL ? job->source->name : NULL, "feature_group",
		job->group != NULL ? job->group->name : NULL, "thirdparty_metrics",
		job->thirdparty != NULL && job->thirdparty->names.count > 0
			? joined(&job->thirdparty->names)
			: NULL,
		"abs_trainers", joined(&job->abs_trainers), "dyn_trainers",
		joined(&job->dyn_trainers), "vm_train", job->vm_metrics, "resets",
		tw_resets_names[job->resets], "seed", (json_int_t)job->seed, "folds",
		(json_int_t)job->folds, "data_share", share, "unconstrained",
		job->unconstrained ? json_true() : NULL, "gauges",
		job->thirdparty != NULL && job->thirdparty->gauges.count > 0
			? joined(&job->thirdparty->gauges)
			: NULL,
		"correct_lag", job->correct_lag ? json_true() : NULL);
}
