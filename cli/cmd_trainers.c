/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "lib/core/err.h"
#include "lib/program/opt.h"
#include "trainer/fit/trainer.h"

#include <stdio.h>

#define LINE "%-33s %s\n"

/* Only the common options; the config is unused. */
static const struct tw_opts opts = {
	.program = "tallywatt trainers",
	.summary = "List the trainers of this build.",
};

static int list(void *config, struct tw_err *err)
{
	(void)config;
	(void)err;
	for (size_t i = 0; i < tw_trainer_count(); i++)
		printf(LINE, tw_trainer_at(i)->name, tw_trainer_at(i)->summary);
#if !TW_XGBOOST
	printf(LINE, "GradientBoostingRegressorTrainer", "not in this build (XGBOOST=0)");
	printf(LINE, "XgboostFitTrainer", "not in this build (XGBOOST=0)");
#endif
#if !TW_LIBSVM
	printf(LINE, "SVRRegressorTrainer", "not in this build (LIBSVM=0)");
#endif
	return 0;
}

const struct tw_command tw_command_trainers = {
	.name = "trainers",
	.summary = "list the trainers",
	.opts = &opts,
	.work = list,
};
