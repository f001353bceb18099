/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_ENGAGE_REPORT_H
#define TW_CLI_ENGAGE_REPORT_H

/* The report of `tallywatt engage`: DIR/report.md and DIR/report.html. */

#include "cli/engage/engage_rows.h"
#include "profiler/spec.h"
#include "trainer/fit/workload_runs.h"
#include "trainer/train_result.h"

#include <jansson.h>

struct tw_engage_meters;
struct tw_err;
struct tw_power_model;

struct tw_engage_report {
	const char *dir;
	const struct tw_machine_spec *spec;
	const json_t *probe;                   /* collector/probe.h */
	const struct tw_engage_meters *meters; /* that the collector reads */
	const struct tw_engage_rows *rows;
	const struct tw_workload_runs *runs;
	const char *warnings; /* of the recording, a line each; or NULL */
	const struct tw_train_result *trained;
	const char *model_db, *pipeline;
	/* The model that a client of this machine gets; NULL: the reason is why_none. */
	const struct tw_power_model *chosen;
	const struct tw_dataset *validation; /* of the chosen model; or NULL */
	const char *why_none;
};

int tw_engage_report_write(const struct tw_engage_report *r, struct tw_err *err);

/* "6.2 W at rest, 23.9 W under full load", or what of that is known. */
void tw_engage_summary(const struct tw_engage_rows *rows,
		       const struct tw_workload_runs *runs, struct tw_buf *out);

#endif /* TW_CLI_ENGAGE_REPORT_H */
