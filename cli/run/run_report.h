/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_RUN_REPORT_H
#define TW_CLI_RUN_REPORT_H

/* The output of `tallywatt run`. */

#include "cli/run/run_energy.h"
#include "cli/run/run_verdict.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_buf;

/* A run of a command. */
struct tw_run {
	bool other; /* of the command of --vs */
	int status;
	double seconds, cpu_seconds;
	struct tw_run_figures figures;
	char *left; /* the processes that outlived it; NULL: none */
	size_t left_count;
};

struct tw_run_report {
	const char *command, *other; /* as text; other: of --vs, or NULL */
	const struct tw_run *run;
	size_t count;
	struct tw_run_mean pairs; /* with --vs */
};

/* Lines for people. */
void tw_run_report_text(const struct tw_run_report *r, struct tw_buf *b);

/* One line of JSON (docs/tallywatt.md, "run"). */
void tw_run_report_json(const struct tw_run_report *r, struct tw_buf *b);

#endif /* TW_CLI_RUN_REPORT_H */
