/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_CMD_ISOLATION_H
#define TW_CLI_CMD_ISOLATION_H

/* Options of the isolator, shared by the commands that isolate. */

#include "lib/program/opt.h"
#include "trainer/isolation.h"

struct tw_err;
struct tw_prom;

/* The options as given. */
struct tw_isolation_texts {
	char *idle, *profile, *target_hints, *bg_hints, *abs_pipeline;
};

/* Rows of an option table. The config has a struct tw_isolation_texts named isolation. */
#define TW_ISOLATION_OPTS(config)                                                     \
	{ .name = "idle",                                                             \
	  .type = TW_OPT_TEXT,                                                        \
	  .offset = offsetof(config, isolation.idle),                                 \
	  .arg = "FILE",                                                              \
	  .help = "response of the machine at rest, for ProfileBackgroundIsolator" }, \
		{ .name = "profile",                                                  \
		  .type = TW_OPT_TEXT,                                                \
		  .offset = offsetof(config, isolation.profile),                      \
		  .arg = "FILE",                                                      \
		  .help = "or its profile.json (tallywatt profile)" },                \
		{ .name = "target-hints",                                             \
		  .type = TW_OPT_TEXT,                                                \
		  .offset = offsetof(config, isolation.target_hints),                 \
		  .arg = "TEXTS",                                                     \
		  .help = "for TrainIsolator: workloads to train on, by "             \
			  "comma-separated parts of their names" },                   \
		{ .name = "bg-hints",                                                 \
		  .type = TW_OPT_TEXT,                                                \
		  .offset = offsetof(config, isolation.bg_hints),                     \
		  .arg = "TEXTS",                                                     \
		  .help = "or workloads that are background" },                       \
	{                                                                             \
		.name = "abs-pipeline", .type = TW_OPT_TEXT,                          \
		.offset = offsetof(config, isolation.abs_pipeline), .arg = "NAME",    \
		.help = "for TrainIsolator: pipeline of the model database whose "    \
			"AbsPower models estimate the background"                     \
	}

/* The files that the options name, read. All zero bytes is empty. */
struct tw_isolation_input {
	struct tw_isolation_config config;
	struct tw_prom *idle;
	struct tw_profile profile;
};

/* model_db may be NULL. *in must be all zero; it is yours, also after a failure. */
int tw_isolation_read(const struct tw_isolation_texts *texts, const char *model_db,
		      struct tw_isolation_input *in, struct tw_err *err);

void tw_isolation_input_release(struct tw_isolation_input *in);

#endif /* TW_CLI_CMD_ISOLATION_H */
