/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_WORKLOAD_RUNS_H
#define TW_TRAINER_WORKLOAD_RUNS_H

/*
 * Runs of workloads: which workload ran from when to when. Rows are assigned to workloads
 * by time, for validation by workload.
 *
 * The file is CSV with the columns workload, start and end, in any order; other columns
 * are skipped. Times are as tw_parse_date_ms() reads them; the end is exclusive. A
 * workload may have several runs.
 */

#include "lib/core/strs.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;

#define TW_WORKLOAD_RUNS_MAX 10000
#define TW_WORKLOAD_RUNS_BYTES_MAX ((size_t)4 << 20)

struct tw_workload_run {
	int64_t from_ms, to_ms;
	uint32_t name; /* index in names */
};

/* All zero bytes: no runs. */
struct tw_workload_runs {
	struct tw_strs names;        /* in order of first appearance */
	struct tw_workload_run *run; /* in order of time */
	size_t count;
};

/*
 * Parse the CSV text. Runs that overlap, or that end before they start, are TW_INVALID;
 * the error names the line. *out must be all zero; it is yours:
 * tw_workload_runs_release().
 */
int tw_workload_runs_read(const char *data, size_t len, struct tw_workload_runs *out,
			  struct tw_err *err);

/* Parse a file. Errors name it. */
int tw_workload_runs_load(const char *path, struct tw_workload_runs *out,
			  struct tw_err *err);

/* Index in names of the workload that ran at a time; UINT32_MAX: no workload. */
uint32_t tw_workload_runs_at(const struct tw_workload_runs *w, int64_t time_ms);

void tw_workload_runs_release(struct tw_workload_runs *w);

#endif /* TW_TRAINER_WORKLOAD_RUNS_H */
