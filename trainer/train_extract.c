/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a tw_train_data: the first of its two steps. */
#include "trainer/train_data.h"

#include "trainer/extract/smooth.h"
#include "trainer/train.h"
#include "trainer/train_machines.h"

#include <stdlib.h>
#include <string.h>

/*
 * Whether the isolator tells workloads apart. Where it does not, sums over all of them
 * are extracted: the same as tw_isolate_prepare() makes of their rows.
 */
static bool by_workload(const struct tw_train_data *t, const struct tw_train_job *job)
{
	return t->output == TW_DYN_POWER && job->isolator->is_background != NULL;
}

static bool is_prepared(const struct tw_train_data *t, const struct tw_train_job *job)
{
	return by_workload(t, job) || (t->output == TW_DYN_POWER && t->table != NULL);
}

static int extract(const struct tw_train_data *t, const struct tw_train_job *job,
		   const struct tw_prom *response, struct tw_dataset *out,
		   struct tw_err *err)
{
	const struct tw_extract_args args = {
		.source = t->source,
		.group = t->group,
		.level = by_workload(t, job) ? TW_LEVEL_FINEST : TW_LEVEL_NODE,
		.resets = job->resets,
		.vm_metrics = job->vm_metrics,
		.apart = !job->vm_metrics,
	};

	return tw_extract(response, &args, out, err);
}

/* One row a time stamp, from one recording. */
static int get_rows(const struct tw_train_data *t, const struct tw_train_job *job,
		    const struct tw_prom *response, struct tw_dataset *out,
		    struct tw_err *err)
{
	const struct tw_isolator_args args =
		tw_isolation_args(t->isolation, tw_train_data_node_type(t));
	struct tw_dataset d = { 0 };
	int status;

	if (response == NULL)
		status = tw_dataset_copy(t->table->data, NULL, &d, err);
	else
		status = extract(t, job, response, &d, err);
	if (status < 0)
		return -1;
	if (!is_prepared(t, job)) {
		*out = d;
	} else {
		status = tw_isolate_prepare(job->isolator, &args, &d, out, err);
		tw_dataset_release(&d);
	}
	/* Summed over workloads first: one that ends is still in the means after it. */
	if (status < 0 || job->smooth == 0 || tw_smooth(out, job->smooth, err) == 0)
		return status;
	tw_dataset_release(out);
	return -1;
}

/* Rows of each recording that has the metrics, and which of the inputs it is. */
struct recordings {
	struct tw_dataset *d;
	const struct tw_dataset **at;
	uint32_t *input;
	size_t count;
};

static int extract_all(struct tw_train_data *t, const struct tw_train_job *job,
		       struct recordings *r, struct tw_err *err)
{
	struct tw_err absent = { 0 };

	for (size_t i = 0; i < t->machine->parts; i++) {
		const struct tw_train_part *part = &t->machine->part[i];
		struct tw_err why = { 0 };

		if (get_rows(t, job, part->response, &r->d[r->count], &why) == 0) {
			r->at[r->count] = &r->d[r->count];
			r->input[r->count++] = (uint32_t)part->input;
			continue;
		}
		if (t->machine->parts > 1)
			tw_err_wrap(&why, "'%.80s'", job->responses[part->input].origin);
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
		t->input = calloc(r->d[0].rows, sizeof(*t->input));
		if (t->input == NULL)
			return tw_fail(err, TW_NOMEM, "%zu rows", r->d[0].rows);
		/* It may be large: taken, not copied. */
		t->d = r->d[0];
		r->d[0] = (struct tw_dataset){ 0 };
	}
	for (size_t i = 0; i < t->d.rows; i++)
		t->input[i] = r->input[t->input[i]];
	return 0;
}

static int extract_parts(struct tw_train_data *t, const struct tw_train_job *job,
			 struct tw_err *err)
{
	const size_t parts = t->machine->parts;
	struct recordings r = { calloc(parts, sizeof(*r.d)), calloc(parts, sizeof(*r.at)),
				calloc(parts, sizeof(*r.input)), 0 };
	int rc = -1;

	if (r.d == NULL || r.at == NULL || r.input == NULL) {
		tw_fail(err, TW_NOMEM, "%zu recordings", parts);
		goto out;
	}
	if (extract_all(t, job, &r, err) < 0 || join(t, &r, err) < 0)
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

void tw_train_data_extract(struct tw_train_data *t, const struct tw_train_job *job)
{
	if (t->table != NULL)
		get_rows(t, job, NULL, &t->d, &t->err);
	else
		extract_parts(t, job, &t->err);
	if (job->shares > 0)
		t->d.rows = t->d.rows * job->share / job->shares;
}

bool tw_train_data_is_twin(const struct tw_train_data *a, const struct tw_train_data *b,
			   const struct tw_train_job *job)
{
	return a->table == NULL && b->table == NULL && a->machine == b->machine &&
	       a->source == b->source && a->group == b->group && !is_prepared(a, job) &&
	       !is_prepared(b, job);
}

void tw_train_data_copy(struct tw_train_data *t, const struct tw_train_data *twin)
{
	const size_t bytes = twin->d.rows * sizeof(*t->input);

	t->err = twin->err;
	if (t->err.code != TW_OK || tw_dataset_copy(&twin->d, NULL, &t->d, &t->err) < 0)
		return;
	t->input = malloc(bytes);
	if (t->input == NULL)
		tw_fail(&t->err, TW_NOMEM, "%zu rows", twin->d.rows);
	else
		memcpy(t->input, twin->input, bytes);
}
