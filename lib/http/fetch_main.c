/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/http/fetch.h"
#include "lib/program/opt.h"

#include <stdio.h>
#include <unistd.h>

/* tw-fetch: makes one HTTP call for the program that started it (lib/http/fetch.h). */

int main(int argc, char **argv)
{
	struct tw_err err = { 0 };

	(void)argv;
	if (argc > 1) {
		fprintf(stderr,
			"tw-fetch: is started by other programs, takes no arguments\n");
		return TW_EXIT_USAGE;
	}
	if (tw_fetch_serve(STDIN_FILENO, STDOUT_FILENO, &err) < 0) {
		fprintf(stderr, "tw-fetch: %s\n", err.text);
		return TW_EXIT_FAILED;
	}
	return TW_EXIT_OK;
}
