/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_COMMAND_H
#define TW_TRAINER_COMMAND_H

/*
 * Commands of the program `tallywatt`: one file each, trainer/cmd_<name>.c, in the
 * array of trainer/tallywatt.c.
 */

struct tw_command {
	const char *name;
	const char *summary;
	/* argv[0] is the command's name. Returns the exit status (lib/opt.h). */
	int (*run)(int argc, char **argv);
};

extern const struct tw_command tw_command_estimate;
extern const struct tw_command tw_command_export;
extern const struct tw_command tw_command_extract;
extern const struct tw_command tw_command_import;
extern const struct tw_command tw_command_isolate;
extern const struct tw_command tw_command_models;
extern const struct tw_command tw_command_publish;
extern const struct tw_command tw_command_query;
extern const struct tw_command tw_command_record;
extern const struct tw_command tw_command_probe;
extern const struct tw_command tw_command_profile;
extern const struct tw_command tw_command_rollback;
extern const struct tw_command tw_command_spec;
extern const struct tw_command tw_command_train;
extern const struct tw_command tw_command_trainers;
extern const struct tw_command tw_command_validate;

#endif /* TW_TRAINER_COMMAND_H */
