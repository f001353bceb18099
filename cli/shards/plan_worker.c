/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shards/plan_worker.h"

#include "cli/shards/plan_job.h"
#include "cli/train/train_flags.h"
#include "cli/train/train_input.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "trainer/shards/worker.h"

#include <stdio.h>
#include <stdlib.h>

int tw_plan_worker_check(const struct tw_train_flags *f, struct tw_err *err)
{
	const struct {
		const char *flag;
		bool given;
	} planned[] = {
		{ "input", f->input.count > 0 }, { "csv", f->csv.count > 0 },
		{ "name", f->name != NULL },     { "output", f->output != NULL },
		{ "spec", f->spec.count > 0 },   { "keep-until", f->keep_until != NULL },
		{ "url", f->url != NULL },       { "sign", f->sign != NULL },
	};

	for (size_t i = 0; i < TW_COUNT(planned); i++)
		if (planned[i].given)
			return tw_fail(err, TW_INVALID,
				       "--%s does not go with --plan, which has the "
				       "options of the training",
				       planned[i].flag);
	if (f->units == NULL || f->parts == NULL)
		return tw_fail(err, TW_INVALID, "--plan needs --units and --parts");
	return 0;
}

static int load_inputs(void *arg, const size_t *input, size_t inputs,
		       struct tw_train_job *job, struct tw_err *err)
{
	struct tw_plan_job *p = arg;

	for (size_t i = 0; !p->plan.tables && i < inputs; i++)
		if (tw_train_input_load(&p->in, input[i], p->plan.input[input[i]].sha256,
					NULL, err) < 0)
			return -1;
	job->responses = p->in.response;
	return 0;
}

static void unload_inputs(void *arg)
{
	struct tw_plan_job *p = arg;

	tw_train_input_unload(&p->in);
}

static void report_units(const struct tw_worker_result *r)
{
	printf("%zu units trained", r->trained);
	if (r->failed > 0)
		printf(", %zu of them without a model", r->failed);
	if (r->present > 0)
		printf(", %zu were there", r->present);
	printf("\n");
}

int tw_plan_worker_run(const struct tw_train_flags *f, struct tw_err *err)
{
	const struct tw_input_cache cache = tw_train_flags_cache(f);
	struct tw_progress_line progress;
	struct tw_worker_result result;
	struct tw_plan_job p = { 0 };
	struct tw_worker worker = { .plan = &p.plan,
				    .job = &p.job,
				    .dir = f->parts,
				    .load = load_inputs,
				    .unload = unload_inputs,
				    .arg = &p };
	bool *wanted = NULL;
	int rc = -1;

	tw_progress_line_start(&progress, "tallywatt train");
	if (tw_plan_job_open(f->plan, &cache, &p, err) < 0 ||
	    tw_plan_select(&p.plan, f->units, &wanted, err) < 0)
		goto out;
	p.job.threads = f->threads;
	p.job.watch = &progress.watch;
	worker.wanted = wanted;
	if (tw_worker_run(&worker, &result, err) < 0)
		goto out;
	report_units(&result);
	rc = 0;
out:
	free(wanted);
	tw_plan_job_release(&p);
	return rc;
}
