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
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/*
 * The CPU time of processes that have no part in a phase of `tallywatt engage`, between
 * two looks at /proc. Processes that begin and end between the looks are not seen.
 */

/* The processes at the first look. All zero bytes is empty. */
struct tw_others {
	struct tw_others_process *at; /* by pid */
	size_t count, size;
	uint64_t time_ns;
};

/* CPU use of processes other than the workload. */
struct tw_others_use {
	double cpus;      /* CPUs that the other processes kept busy */
	double most_cpus; /* share of the busiest process */
	char most[16];    /* its name; "" without other processes */
};

int tw_others_look(struct tw_others *o, struct tw_err *err);

/*
 * The use since the first look, without this process and without the processes of the
 * group (0: none). tw-collector counts as no other process.
 */
int tw_others_compare(const struct tw_others *first, pid_t group,
		      struct tw_others_use *out, struct tw_err *err);

void tw_others_release(struct tw_others *o);

#endif /* TW_CLI_ENGAGE_RECORD_H */
