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
#define TW_ISOLATION_OPTS(config)                                                        \
	{ TW_OPT_ROW(                                                                    \
		config, TEXT, "idle", isolation.idle, "FILE",                            \
		"response of the machine at rest, for ProfileBackgroundIsolator") },     \
		{ TW_OPT_ROW(config, TEXT, "profile", isolation.profile, "FILE",         \
			     "or its profile.json (tallywatt profile)") },               \
		{ TW_OPT_ROW(config, TEXT, "target-hints", isolation.target_hints,       \
			     "TEXTS",                                                    \
			     "for TrainIsolator: workloads to train on, by "             \
			     "comma-separated parts of their names") },                  \
		{ TW_OPT_ROW(config, TEXT, "bg-hints", isolation.bg_hints, "TEXTS",      \
			     "or workloads that are background") },                      \
	{                                                                                \
		TW_OPT_ROW(config, TEXT, "abs-pipeline", isolation.abs_pipeline, "NAME", \
			   "for TrainIsolator: pipeline of the model database whose "    \
			   "AbsPower models estimate the background")                    \
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
