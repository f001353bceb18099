/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/ask_job.h"
#include "lib/core/err.h"
#include "lib/program/opt.h"

#include <stdio.h>
#include <unistd.h>

/* tw-ask: asks what answers slowly for the program that started it (collector/ask/ask.h).
 */

int main(int argc, char **argv)
{
	struct tw_err err = { 0 };

	(void)argv;
	if (argc > 1) {
		fprintf(stderr,
			"tw-ask: is started by tw-collector, takes no arguments\n");
		return TW_EXIT_USAGE;
	}
	if (tw_ask_serve(STDIN_FILENO, &err) < 0) {
		fprintf(stderr, "tw-ask: %s\n", err.text);
		return TW_EXIT_FAILED;
	}
	return TW_EXIT_OK;
}
