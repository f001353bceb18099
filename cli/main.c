/* SPDX-License-Identifier: Apache-2.0 */
/* tallywatt: one command a run, on the libraries of the daemons. */
#include "cli/command.h"
#include "cli/memory.h"
#include "lib/core/err.h"
#include "lib/program/opt.h"
#include "lib/program/daemon.h"

#include <gsl/gsl_errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int print_help(void)
{
	size_t count;
	const struct tw_command *const *all = tw_commands(&count);

	printf("Usage: tallywatt COMMAND [OPTION...]\n"
	       "       tallywatt help [COMMAND] | --help | --version\n"
	       "How many watts a machine and its workloads use: data, models and "
	       "answers.\n\n"
	       "Commands (tallywatt COMMAND --help lists its options):\n");
	for (size_t i = 0; i < count; i++)
		printf("  %-14s %s\n", tw_command_name(all[i]), all[i]->opts->summary);
	return fflush(stdout) == 0 ? TW_EXIT_OK : TW_EXIT_FAILED;
}

int main(int argc, char **argv)
{
	static char help[] = "--help";
	const struct tw_command *command = NULL;
	struct tw_err err = { 0 };

	if (!tw_std_files_open())
		return TW_EXIT_FAILED;
	/* GSL's default error handler aborts. */
	gsl_set_error_handler_off();
	tw_must_json();
	/* Return freed large tables to the kernel. */
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	/* A closed pipe is an error to report, not a signal. */
	signal(SIGPIPE, SIG_IGN);

	if (argc < 2) {
		fprintf(stderr, "tallywatt: no command (--help lists them)\n");
		return TW_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || (strcmp(argv[1], "help") == 0 && argc == 2))
		return print_help();
	if (strcmp(argv[1], "--version") == 0) {
		tw_version_print("tallywatt");
		return fflush(stdout) == 0 ? TW_EXIT_OK : TW_EXIT_FAILED;
	}
	if (strcmp(argv[1], "help") == 0) {
		argv[1] = argv[2];
		argv[2] = help;
		argc = 3;
	}
	if (tw_command_find(argv[1], &command, &err) < 0) {
		fprintf(stderr, "tallywatt: %s\n", err.text);
		return TW_EXIT_USAGE;
	}
	return tw_command_execute(command, argc - 1, argv + 1);
}
