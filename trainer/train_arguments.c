/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/thirdparty.h"
#include "trainer/train_arguments.h"

#include "lib/core/buf.h"
#include "trainer/extract/smooth.h"
#include "trainer/train.h"

/* The text, or null where it is empty. */
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

json_t *tw_train_origins(const struct tw_train_job *job)
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

json_t *tw_train_arguments(const struct tw_train_job *job)
{
	const double share = job->shares > 0 ? (double)job->share / job->shares : 1.0;

	return json_pack(
		"{s:s, s:o, s:s, s:s, s:s, s:s*, s:s*, s:o*, s:o, s:o, s:b, s:s, s:I, "
		"s:I, s:f}",
		"command", "train", "input", tw_train_origins(job), "pipeline_name",
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
		(json_int_t)job->folds, "data_share", share);
}
