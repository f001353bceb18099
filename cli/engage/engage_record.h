/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_ENGAGE_RECORD_H
#define TW_CLI_ENGAGE_RECORD_H

/*
 * The recording of `tallywatt engage`: each phase of the plan (profiler/workload_plan.h)
 * runs, and a collector is scraped meanwhile. The directory gets
 *
 *	response.json	all samples so far, as `tallywatt record` writes them
 *	workloads.csv	the phases that are complete: trainer/fit/workload_runs.h
 *	warnings.txt	the warnings about these phases
 *
 * The files are written after each phase, whole. A phase that was interrupted is not in
 * workloads.csv, and runs again.
 */

#include "trainer/fit/workload_runs.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_energy_source;
struct tw_err;
struct tw_feature_group;
struct tw_stop;

struct tw_engage_record {
	const char *dir;                             /* an absolute path */
	const char *response, *workloads, *warnings; /* the files */
	const char *url;                             /* of the collector's metrics */
	uint64_t interval_ms, phase_ms;
	bool stress; /* by stress-ng */
	unsigned cpus;
	const struct tw_energy_source *source; /* NULL: the first that is measured */
	const struct tw_feature_group *group;  /* NULL: any */
	struct tw_stop *stop;
	/* Called with a line of progress, and with each warning. */
	void (*say)(const char *text);
};

/*
 * Run the phases that are not complete yet. *out must be all zero; it is yours:
 * tw_workload_runs_release(). TW_IO after a stop signal: the text says how to resume.
 */
int tw_engage_record(const struct tw_engage_record *r, struct tw_workload_runs *out,
		     struct tw_err *err);

#endif /* TW_CLI_ENGAGE_RECORD_H */
