/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "cli/shards/plan_job.h"
#include "cli/train/train_flags.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "model-db/signature.h"
#include "trainer/shards/merge.h"
#include "trainer/train_result.h"

struct config {
	/* Of them, the flags of downloads and of the destination. */
	struct tw_train_flags flags;
	struct tw_strs dirs;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "plan", flags.plan, "FILE",
		 "plan of the training (tallywatt plan)"),
	  .required = true },
	{ TW_ROW(TEXT, "model-db", flags.model_db, "DIR",
		 "publish to this model database"),
	  .env = "TW_MODEL_DB" },
	{ TW_ROW(TEXT, "output", flags.output, "FILE", "write the pipeline as a zip") },
	{ TW_ROW(TEXT, "sign", flags.sign, "FILE",
		 "sign with this minisign secret key") },
	{ TW_ROW(TEXT, "sign-password-file", flags.sign_password_file, "FILE",
		 "file with the password of the key; else TW_SIGN_PASSWORD") },
};

static int take_dirs(void *config, char **operand, size_t count, struct tw_err *err)
{
	struct config *c = config;

	if (count == 0)
		return tw_fail(err, TW_INVALID, "want directories of parts");
	for (size_t i = 0; i < count; i++)
		if (tw_strs_adds(&c->dirs, operand[i], err) < 0)
			return -1;
	return 0;
}

static int check_use(void *config, struct tw_err *err)
{
	const struct config *c = config;

	if (c->flags.sign != NULL && c->flags.model_db == NULL)
		return tw_fail(err, TW_INVALID, "--sign without --model-db");
	return 0;
}

static void print_report(const struct tw_train_result *r, const struct tw_train_times *t)
{
	struct tw_buf report = { 0 };

	tw_train_result_report(r, t, &report);
	tw_command_warn(&r->quality);
	tw_command_print(&report);
}

static int merge(void *config, struct tw_err *err)
{
	struct config *c = config;
	const struct tw_input_cache cache = tw_train_flags_cache(&c->flags);
	struct tw_train_flags to = c->flags;
	struct tw_train_result result = { 0 };
	struct tw_train_times times = { 0 };
	const uint64_t start = tw_now_ns();
	struct tw_signer signer = { 0 };
	struct tw_plan_job p = { 0 };
	uint64_t before;
	int rc = -1;

	if (to.sign != NULL &&
	    tw_signer_read(to.sign, to.sign_password_file, &signer, err) < 0)
		goto out;
	if (tw_plan_job_open(to.plan, &cache, &p, err) < 0)
		goto out;
	times.parse_ns = tw_now_ns() - start;
	if (tw_merge_parts(&p.plan, &p.job, &c->dirs, &result, err) < 0)
		goto out;
	before = tw_now_ns();
	to.name = p.flags.name;
	to.replace = p.flags.replace;
	if (tw_train_publish(&to, "tallywatt merge", to.sign != NULL ? &signer : NULL,
			     &result, err) < 0)
		goto out;
	times.publish_ns = tw_now_ns() - before;
	times.total_ns = tw_now_ns() - start;
	print_report(&result, &times);
	rc = 0;
out:
	tw_train_result_release(&result);
	tw_plan_job_release(&p);
	tw_signer_release(&signer);
	return rc;
}

static void release(void *config)
{
	struct config *c = config;

	tw_strs_clear(&c->dirs);
}

const struct tw_command tw_command_merge = {
	.opts = TW_COMMAND_OPTS("merge", "DIR...",
				"Make a pipeline from the parts that workers trained."),
	.config_size = sizeof(struct config),
	.operands = take_dirs,
	.check = check_use,
	.work = merge,
	.release = release,
};
