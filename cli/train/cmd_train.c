/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/shards/plan_worker.h"
#include "cli/train/train_flags.h"
#include "cli/train/train_input.h"
#include "cli/train/train_remote.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/program/opt.h"
#include "model-db/signature.h"
#include "trainer/train.h"
#include "trainer/train_result.h"
#include "trainer/train_until.h"

#include <stdio.h>

struct config {
	struct tw_train_flags flags;
	/* The job that the options describe. */
	struct tw_train_job job;
	bool keep; /* --keep-until is given */
	struct tw_until until;
};

/* Print progress on stderr; results go to stdout. */
static void tell_step(void *arg, const struct tw_until_outcome *at,
		      const struct tw_train_result *r, const struct tw_err *why)
{
	(void)arg;
	fprintf(stderr, "with %u %% of the data: ", 100 * at->shares / TW_UNTIL_SHARES);
	if (r == NULL)
		fprintf(stderr, "%s\n", why->text);
	else if (at->reached)
		fprintf(stderr, "accurate enough\n");
	else
		fprintf(stderr,
			"%s %s of node type %zu has no model that is accurate enough\n",
			at->missing->source, at->missing->output, at->missing->node_type);
}

static int make_models(const struct config *c, struct tw_train_result *r,
		       struct tw_until_outcome *o, struct tw_err *err)
{
	if (!c->keep)
		return tw_train(&c->job, r, err);
	return tw_train_until(&c->job, &c->until, tell_step, NULL, r, o, err);
}

static void print_report(const struct config *c, const struct tw_train_result *r,
			 const struct tw_train_times *t, const struct tw_until_outcome *o)
{
	struct tw_buf report = { 0 };

	if (c->flags.json) {
		tw_train_result_json(r, &report);
	} else {
		tw_train_result_report(r, t, &report);
		if (c->keep)
			tw_until_report(&c->until, o, &report);
	}
	tw_command_warn(&r->quality);
	tw_command_print(&report);
}

/* ---- training ---- */

static int train_here(struct config *c, struct tw_err *err)
{
	const struct tw_train_flags *f = &c->flags;
	struct tw_until_outcome outcome = { 0 };
	struct tw_train_result result = { 0 };
	struct tw_train_input in = { .cache = tw_train_flags_cache(f) };
	struct tw_train_times times = { 0 };
	const uint64_t start = tw_now_ns();
	struct tw_signer signer = { 0 };
	struct tw_progress_line progress;
	uint64_t before;
	int rc = -1;

	if (f->sign != NULL &&
	    tw_signer_read(f->sign, f->sign_password_file, &signer, err) < 0)
		goto out;
	tw_progress_line_start(&progress, "tallywatt train");
	c->job.watch = &progress.watch;
	if (tw_train_flags_read(f, &c->job, &in, err) < 0)
		goto out;
	times.parse_ns = tw_now_ns() - start;
	if (make_models(c, &result, &outcome, err) < 0)
		goto out;
	before = tw_now_ns();
	if (tw_train_publish(f, "tallywatt train", f->sign != NULL ? &signer : NULL,
			     &result, err) < 0)
		goto out;
	times.publish_ns = tw_now_ns() - before;
	times.total_ns = tw_now_ns() - start;
	print_report(c, &result, &times, &outcome);
	rc = 0;
out:
	tw_train_result_release(&result);
	tw_train_input_release(&in);
	tw_signer_release(&signer);
	return rc;
}

/* ---- the command ---- */

static int train(void *config, struct tw_err *err)
{
	struct config *c = config;

#if TW_FLEET
	if (c->flags.plan != NULL)
		return tw_plan_worker_run(&c->flags, err);
#endif
	return c->flags.url != NULL ? tw_train_remote(&c->flags, &c->job, err)
				    : train_here(c, err);
}

static int check_use(void *config, struct tw_err *err)
{
	struct config *c = config;

#if TW_FLEET
	if (c->flags.plan != NULL)
		return tw_plan_worker_check(&c->flags, err);
	if (c->flags.units != NULL || c->flags.parts != NULL)
		return tw_fail(err, TW_INVALID, "--units and --parts need --plan");
#endif
	if (tw_train_flags_check_input(&c->flags, err) < 0 ||
	    tw_train_flags_job(&c->flags, &c->job, err) < 0)
		return -1;
	if (c->flags.sign != NULL && c->flags.model_db == NULL)
		return tw_fail(err, TW_INVALID, "--sign without --model-db");
	if (c->flags.url != NULL && tw_train_remote_check(&c->flags, err) < 0)
		return -1;
	return tw_train_flags_until(&c->flags, &c->until, &c->keep, err);
}

static void release(void *config)
{
	struct config *c = config;

	tw_train_job_release(&c->flags, &c->job);
}

const struct tw_command tw_command_train = {
	.name = "train",
	.summary = "train a pipeline of power models",
	.opts = &tw_train_opts,
	.config_size = sizeof(struct config),
	.check = check_use,
	.work = train,
	.release = release,
};
