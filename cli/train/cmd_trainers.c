/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_rows.h"
#include "cli/command.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"
#include "trainer/fit/trainer.h"

struct config {
	bool json;
};

static const struct tw_opt options[] = {
	TW_ROW_JSON,
};

struct missing {
	const char *name, *why;
};

/* Ended by NULL. */
static const struct missing missing[] = {
#if !TW_XGBOOST
	{ "GradientBoostingRegressorTrainer", "not in this build (XGBOOST=0)" },
	{ "XgboostFitTrainer", "not in this build (XGBOOST=0)" },
#endif
#if !TW_LIBSVM
	{ "SVRRegressorTrainer", "not in this build (LIBSVM=0)" },
#endif
	{ NULL, NULL },
};

static void add_trainer(struct tw_buf *b, bool json, const char *name,
			const char *summary, bool built)
{
	if (!json) {
		tw_buf_addf(b, "%-33s %s\n", name, summary);
		return;
	}
	tw_buf_adds(b, b->len > 1 ? ",\n " : "");
	tw_json_add_object(b, NULL);
	tw_json_add_text(b, "name", name);
	tw_json_add_text(b, "summary", summary);
	tw_json_add_bool(b, "built", built);
	tw_json_end_object(b);
}

static int list(void *config, struct tw_err *err)
{
	const struct config *c = config;
	struct tw_buf b = { 0 };

	(void)err;
	tw_buf_adds(&b, c->json ? "[" : "");
	for (size_t i = 0; i < tw_trainer_count(); i++)
		add_trainer(&b, c->json, tw_trainer_at(i)->name,
			    tw_trainer_at(i)->summary, true);
	for (const struct missing *m = missing; m->name != NULL; m++)
		add_trainer(&b, c->json, m->name, m->why, false);
	tw_buf_adds(&b, c->json ? "]\n" : "");
	tw_command_print(&b);
	return 0;
}

const struct tw_command tw_command_trainers = {
	.opts = TW_COMMAND_OPTS("trainers", NULL, "List the trainers of this build."),
	.config_size = sizeof(struct config),
	.work = list,
};
