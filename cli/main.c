/* SPDX-License-Identifier: Apache-2.0 */
/* tallywatt: one command a run, on the libraries of the daemons. */
#include "cli/command.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/program/opt.h"

#include <gsl/gsl_errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Sorted by name. */
static const struct tw_command *const commands[] = {
	&tw_command_calibrate,      &tw_command_engage,   &tw_command_estimate,
	&tw_command_explain,        &tw_command_export,   &tw_command_extract,
	&tw_command_import,         &tw_command_isolate,  &tw_command_models,
	&tw_command_probe,          &tw_command_profile,  &tw_command_publish,
	&tw_command_query,          &tw_command_record,   &tw_command_rollback,
	&tw_command_spec,           &tw_command_top,      &tw_command_train,
	&tw_command_train_machines, &tw_command_trainers, &tw_command_validate,
};

static const struct tw_command *find_command(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static int print_help(void)
{
	printf("Usage: tallywatt COMMAND [OPTION...]\n"
	       "       tallywatt --help | --version\n"
	       "How many watts a machine and its workloads use: data, models and "
	       "answers.\n\n"
	       "Commands (tallywatt COMMAND --help lists its options):\n");
	for (size_t i = 0; i < TW_COUNT(commands); i++)
		printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
	return fflush(stdout) == 0 ? TW_EXIT_OK : TW_EXIT_FAILED;
}

int main(int argc, char **argv)
{
	const struct tw_command *command;
	struct tw_err err = { 0 };

	/* GSL's default error handler aborts. */
	gsl_set_error_handler_off();
	/* Return freed large tables to the kernel. */
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	/* A closed pipe is an error to report, not a signal. */
	signal(SIGPIPE, SIG_IGN);

	if (argc < 2) {
		fprintf(stderr, "tallywatt: no command (--help lists them)\n");
		return TW_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0)
		return print_help();
	if (strcmp(argv[1], "--version") == 0) {
		tw_version_print("tallywatt");
		return fflush(stdout) == 0 ? TW_EXIT_OK : TW_EXIT_FAILED;
	}
	command = find_command(argv[1]);
	if (command == NULL) {
		tw_fail(&err, TW_INVALID, "no command '%.64s' (--help lists them)",
			argv[1]);
		fprintf(stderr, "tallywatt: %s\n", err.text);
		return TW_EXIT_USAGE;
	}
	return tw_command_run(command, argc - 1, argv + 1);
}
