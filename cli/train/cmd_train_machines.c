/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/program/opt.h"
#include "model-db/prior/prior_file.h"
#include "trainer/machines/machine_table.h"
#include "trainer/machines/prior_fit.h"
#include "trainer/machines/prior_learn.h"

#include <stdlib.h>

struct config {
	char *input, *output;
};

static const struct tw_opt options[] = {
	{ TW_ROW(TEXT, "input", input, "FILE",
		 "CSV of machines with watts at 0, 10 .. 100 % load"),
	  .required = true },
	{ TW_ROW(TEXT, "output", output, "FILE", "output file [stdout]") },
};

static const struct tw_opts opts = {
	.program = "tallywatt train-machines",
	.summary = "Learn the power of machines that nobody has measured.",
	.opt = options,
	.count = TW_COUNT(options),
};

static int train_machines(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct tw_machine_table t = { 0 };
	struct tw_prior p = { 0 };
	struct tw_buf text = { .limit = TW_PRIOR_BYTES_MAX };
	bool *use = NULL;
	int rc = -1;

	if (tw_machine_table_load(c->input, &t, err) < 0 ||
	    tw_prior_begin(&t, TW_PRIOR_SHIPPED_VIEWS, &p, err) < 0)
		goto out;
	use = calloc(t.count + 1, sizeof(*use));
	if (use == NULL) {
		tw_fail(err, TW_NOMEM, "%zu machines", t.count);
		goto out;
	}
	for (size_t i = 0; i < t.count; i++)
		use[i] = true;
	if (tw_prior_learn(&p, &t, use, 0, err) < 0)
		goto out;
	tw_prior_write(&p, &text);
	if (tw_buf_failed(&text)) {
		tw_fail(err, TW_INVALID, "the prior needs more than %zu bytes",
			TW_PRIOR_BYTES_MAX);
		goto out;
	}
	if (c->output == NULL ? tw_command_print(&text, "prior", err) < 0
			      : tw_file_replace(c->output, text.data, text.len, err) < 0)
		goto out;
	rc = 0;
out:
	free(use);
	tw_buf_clear(&text);
	tw_prior_release(&p);
	tw_machine_table_release(&t);
	return rc;
}

const struct tw_command tw_command_train_machines = {
	.name = "train-machines",
	.summary = "learn the power of machines that nobody has measured",
	.opts = &opts,
	.config_size = sizeof(struct config),
	.work = train_machines,
};
