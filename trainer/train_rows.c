/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_rows.h"

#include "lib/core/array.h"
#include "profiler/cpu_identity.h"
#include "trainer/extract/quality.h"
#include "trainer/extract/smooth.h"
#include "trainer/fit/rest.h"
#include "trainer/isolation.h"
#include "trainer/train_data.h"
#include "trainer/train_job.h"
#include "trainer/train_machines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* CPU time of the rows and of the node differ by more: power above rest is wrong by as
 * much, and a mean error of 15 % costs the certificate, too. */
#define UNBALANCED 0.15

/*
 * Whether the isolator needs a row for each workload. Other isolators get sums over
 * workloads from extraction, which equal those of tw_isolate_prepare().
 */
static bool by_workload(const struct tw_train_data *t)
{
	return t->output == TW_DYN_POWER && t->job->isolator->is_background != NULL;
}

static bool is_prepared(const struct tw_train_data *t)
{
	return by_workload(t) || (t->output == TW_DYN_POWER && t->table != NULL);
}

/* quality may be NULL. */
static int extract(const struct tw_train_data *t, const struct tw_train_recording *rec,
		   const struct tw_feature_group *group, enum tw_row_level level,
		   struct tw_quality *quality, struct tw_dataset *out, struct tw_err *err)
{
	const struct tw_train_response *r = &t->job->responses[rec->input];
	const struct tw_extract_args args = {
		.source = t->source,
		.group = group,
		.level = level,
		.resets = t->job->resets,
		.vm_metrics = t->job->vm_metrics,
		.correct_lag = t->job->correct_lag,
		.tdp_w = tw_machine_tdp_w(&t->machine->spec),
		.apart = rec->one_machine,
		.span = r->span,
		.spans = r->spans,
		.quality = quality,
	};

	return tw_extract(rec->response, &args, out, err);
}

/* Keep the quality of a recording for the metadata and the report. */
static int keep_quality(struct tw_train_data *t, const struct tw_quality *q,
			struct tw_err *err)
{
	if (t->quality == NULL)
		t->quality = json_array();
	t->unbalanced |= fabs(q->cpu_rows_s / q->cpu_node_s - 1) > UNBALANCED;
	t->step_uneven |= q->uneven || q->clean.scrapes_s > 0;
	t->times_differ |= q->clean.unsure;
	t->work_unseen |= q->clean.unseen_most;
	t->by_readings |= !(q->energy_meter_j > 0) || q->clean.unsteady > 0;
	tw_quality_to_text(q, &t->quality_text);
	if (json_array_append_new(t->quality, tw_quality_to_json(q)) < 0 ||
	    tw_buf_failed(&t->quality_text))
		return tw_fail(err, TW_NOMEM, "quality of a recording");
	return 0;
}

/* Extract the rows of a recording, and keep its quality. */
static int extract_rows(struct tw_train_data *t, const struct tw_train_recording *rec,
			struct tw_dataset *out, struct tw_err *err)
{
	const enum tw_row_level level = by_workload(t) ? TW_ROWS_FINEST : TW_ROWS_NODE;
	struct tw_quality quality = { 0 };
	int rc = -1;

	if (extract(t, rec, t->group, level, &quality, out, err) < 0)
		goto out;
	if (keep_quality(t, &quality, err) < 0) {
		tw_dataset_release(out);
		goto out;
	}
	rc = 0;
out:
	tw_quality_release(&quality);
	return rc;
}

/* Get one row a time stamp from one recording, or from the table if rec is NULL. */
static int get_rows(struct tw_train_data *t, const struct tw_train_recording *rec,
		    struct tw_dataset *out, struct tw_err *err)
{
	const struct tw_isolator_args args =
		tw_isolation_args(t->isolation, (uint32_t)t->machine->node_type);
	struct tw_dataset d = { 0 };
	int status;

	if (rec == NULL)
		status = tw_dataset_copy(t->table->data, NULL, &d, err);
	else
		status = extract_rows(t, rec, &d, err);
	if (status < 0)
		return -1;
	if (!is_prepared(t)) {
		*out = d;
	} else {
		status = tw_isolate_prepare(t->job->isolator, &args, &d, out, err);
		tw_dataset_release(&d);
	}
	/* Sum over workloads first, so that an ended workload stays in the means. */
	if (status < 0 || t->job->smooth == 0 || tw_smooth(out, t->job->smooth, err) == 0)
		return status;
	tw_dataset_release(out);
	return -1;
}

/* Rows of each recording that has the metrics, and its index in the job. */
struct recordings {
	struct tw_dataset *d;
	const struct tw_dataset **at;
	uint32_t *input;
	size_t count;
};

static int extract_all(struct tw_train_data *t, struct recordings *r, struct tw_err *err)
{
	struct tw_err absent = { 0 };

	for (size_t i = 0; i < t->machine->recordings; i++) {
		const struct tw_train_recording *rec = &t->machine->recording[i];
		struct tw_err why = { 0 };

		if (get_rows(t, rec, &r->d[r->count], &why) == 0) {
			r->at[r->count] = &r->d[r->count];
			r->input[r->count++] = (uint32_t)rec->input;
			continue;
		}
		if (t->machine->recordings > 1)
			tw_err_wrap(&why, "'%.80s'",
				    t->job->responses[rec->input].origin);
		if (why.code != TW_NOTFOUND)
			return tw_fail(err, why.code, "%s", why.text);
		tw_fail(&absent, why.code, "%s", why.text);
	}
	return r->count > 0 ? 0 : tw_fail(err, absent.code, "%s", absent.text);
}

static int join(struct tw_train_data *t, struct recordings *r, struct tw_err *err)
{
	if (r->count > 1) {
		if (tw_dataset_join(r->at, r->count, &t->d, &t->input, err) < 0)
			return -1;
	} else {
		if (TW_NEW(t->input, r->d[0].rows, err) < 0)
			return -1;
		/* Take the rows instead of copying them: they may be large. */
		t->d = r->d[0];
		r->d[0] = (struct tw_dataset){ 0 };
	}
	for (size_t i = 0; i < t->d.rows; i++)
		t->input[i] = r->input[t->input[i]];
	return 0;
}

static int extract_recordings(struct tw_train_data *t, struct tw_err *err)
{
	const size_t count = t->machine->recordings;
	struct recordings r = { NULL, NULL, NULL, 0 };
	int rc = -1;

	if (TW_NEW(r.d, count, err) < 0 || TW_NEW(r.at, count, err) < 0 ||
	    TW_NEW(r.input, count, err) < 0 || extract_all(t, &r, err) < 0 ||
	    join(t, &r, err) < 0)
		goto out;

	rc = 0;
out:
	for (size_t i = 0; r.d != NULL && i < r.count; i++)
		tw_dataset_release(&r.d[i]);
	free(r.d);
	free(r.at);
	free(r.input);
	return rc;
}

/* ---- CPU time against cycles ---- */

static const char *const cpu_time_and_cycles[] = { "bpf_cpu_time_ms", "cpu_cycles" };
static const struct tw_feature_group checked_group = { .name = "",
						       .features = cpu_time_and_cycles,
						       .count = 2 };

static bool is_contradicted(const struct tw_dataset *d)
{
	const double *cpu_ms = tw_dataset_find(d, cpu_time_and_cycles[0]);
	const double *cycles = tw_dataset_find(d, cpu_time_and_cycles[1]);

	return cpu_ms != NULL && cycles != NULL &&
	       tw_rest_contradicts(cycles, cpu_ms, d->rows);
}

static bool group_has(const struct tw_feature_group *g, const char *feature)
{
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(g->features[i], feature) == 0)
			return true;
	return false;
}

/*
 * A group of CPU time without cycles cannot tell that CPU time is missing: look at the
 * cycles of the table or recording. Fits of a group with cycles do so themselves.
 */
static void check_cpu_time(struct tw_train_data *t)
{
	const size_t recordings = t->table != NULL ? 0 : t->machine->recordings;

	if (!group_has(t->group, cpu_time_and_cycles[0]) ||
	    group_has(t->group, cpu_time_and_cycles[1]))
		return;
	if (t->table != NULL)
		t->cpu_time_incomplete = is_contradicted(t->table->data);
	for (size_t i = 0; i < recordings && !t->cpu_time_incomplete; i++) {
		struct tw_dataset d = { 0 };
		struct tw_err none = { 0 };

		/* A recording without cycles contradicts nothing. */
		if (extract(t, &t->machine->recording[i], &checked_group, TW_ROWS_NODE,
			    NULL, &d, &none) == 0)
			t->cpu_time_incomplete = is_contradicted(&d);
		tw_dataset_release(&d);
	}
}

/* ---- shares of the recording ---- */

/* Keep the job's share of the rows in d, and move the others to later. */
static int split_share(struct tw_train_data *t, struct tw_err *err)
{
	const size_t rows = t->d.rows * t->job->share / t->job->shares;
	bool *after;
	int status;

	if (rows == t->d.rows)
		return 0;
	if (TW_NEW(after, t->d.rows, err) < 0)
		return -1;
	memset(after + rows, true, (t->d.rows - rows) * sizeof(*after));
	status = tw_dataset_copy(&t->d, after, &t->later, err);
	free(after);
	t->d.rows = rows;
	return status;
}

void tw_train_rows_extract(struct tw_train_data *t)
{
	int status;

	check_cpu_time(t);
	if (t->table != NULL)
		status = get_rows(t, NULL, &t->d, &t->err);
	else
		status = extract_recordings(t, &t->err);
	if (status == 0 && t->job->shares > 0)
		split_share(t, &t->err);
}

bool tw_train_rows_same(const struct tw_train_data *a, const struct tw_train_data *b)
{
	return a->table == NULL && b->table == NULL && a->machine == b->machine &&
	       a->source == b->source && a->group == b->group && !is_prepared(a) &&
	       !is_prepared(b);
}

void tw_train_rows_copy(struct tw_train_data *t, const struct tw_train_data *from)
{
	const size_t bytes = from->d.rows * sizeof(*t->input);

	t->err = from->err;
	t->cpu_time_incomplete = from->cpu_time_incomplete;
	t->unbalanced = from->unbalanced;
	t->step_uneven = from->step_uneven;
	t->times_differ = from->times_differ;
	t->work_unseen = from->work_unseen;
	t->by_readings = from->by_readings;
	if (t->err.code != TW_OK || tw_dataset_copy(&from->d, NULL, &t->d, &t->err) < 0)
		return;
	if (from->later.rows > 0 &&
	    tw_dataset_copy(&from->later, NULL, &t->later, &t->err) < 0)
		return;
	t->quality = json_deep_copy(from->quality);
	tw_buf_adds(&t->quality_text,
		    from->quality_text.data != NULL ? from->quality_text.data : "");
	t->input = malloc(bytes);
	if (t->input == NULL || (from->quality != NULL && t->quality == NULL) ||
	    tw_buf_failed(&t->quality_text))
		tw_fail(&t->err, TW_NOMEM, "%zu rows", from->d.rows);
	else
		memcpy(t->input, from->input, bytes);
}
