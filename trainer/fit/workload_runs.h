/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_WORKLOAD_RUNS_H
#define TW_TRAINER_WORKLOAD_RUNS_H

/*
 * What ran when: names with a beginning and an end, by which rows are told apart.
 *
 * CSV with the columns workload, start and end in any order, others passed over. Times
 * are as tw_parse_date_ms() takes them; the end is not part of it. A workload may be
 * there several times.
 */

#include "lib/core/strs.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;

#define TW_WORKLOAD_RUNS_MAX 10000
#define TW_WORKLOAD_RUNS_BYTES_MAX ((size_t)4 << 20)

struct tw_workload_run {
	int64_t from_ms, to_ms;
	uint32_t name; /* its place in names */
};

/* All zero bytes is none. */
struct tw_workload_runs {
	struct tw_strs names;        /* as they first come */
	struct tw_workload_run *run; /* in order of time */
	size_t count;
};

/*
 * Runs that overlap, or that end before they begin, are TW_INVALID. Errors name the line.
 * *out must be all zero; it is yours.
 */
int tw_workload_runs_read(const char *data, size_t len, struct tw_workload_runs *out,
			  struct tw_err *err);

/* As above, from a file, which errors name. */
int tw_workload_runs_load(const char *path, struct tw_workload_runs *out,
			  struct tw_err *err);

/* The place in names of what ran at a time; UINT32_MAX: nothing. */
uint32_t tw_workload_runs_at(const struct tw_workload_runs *w, int64_t time_ms);

void tw_workload_runs_release(struct tw_workload_runs *w);

#endif /* TW_TRAINER_WORKLOAD_RUNS_H */
