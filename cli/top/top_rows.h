/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TOP_ROWS_H
#define TW_CLI_TOP_ROWS_H

/*
 * Rows of `tallywatt top`, from the replies of tw-collector to GET /api/v1/power. Replies
 * are foreign: their texts reach the terminal only as printable text.
 */

#include "lib/json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* True if the answer says that its power is the sum of this zone and others. */
bool tw_top_adds_up(const json_t *answer, const char *zone);

/* The sum of the mean errors of the models in use, of zones that add up, in W; NaN: no
 * model has an error. */
double tw_top_error_w(const json_t *answer);

/* Watts by zone; NaN if unknown. */
enum tw_top_zone { TW_TOP_PACKAGE, TW_TOP_DRAM, TW_TOP_GPU, TW_TOP_ZONES };

struct tw_top_row {
	char *key;            /* first; identity across replies */
	char *id;             /* pid, or the first characters of an id */
	char *name;           /* detail: command, cgroup path, runtime, ... */
	const char *node;     /* of the rows' nodes; NULL: not shown */
	double watts, joules; /* above idle, as those of zones */
	double idle_w;        /* its share of the machine's idle power */
	double zone_w[TW_TOP_ZONES];
	double cpu_ms;
	double cpu; /* CPUs used since the last reply; NaN: unknown */
	bool ended;
};

/* All zero bytes: none. */
struct tw_top_rows {
	struct tw_top_row *at;
	size_t count;
	double elapsed_s; /* interval of the mean watts */
	bool estimated;   /* a model estimated some of them */
	bool above_idle;  /* a model gives no idle power */
};

enum tw_top_sort {
	TW_TOP_BY_WATTS,
	TW_TOP_BY_CPU,
	TW_TOP_BY_JOULES,
	TW_TOP_BY_TIME,
	TW_TOP_BY_NAME,
	TW_TOP_SORTS
};

/* "watts", "cpu", "joules", "time", "name", NULL. */
extern const char *const tw_top_sort_names[];

/*
 * Append the rows of the reply for any level but node. node is the name to show, which
 * outlives the rows, or NULL; rows of different nodes are different workloads. On failure
 * *out is unchanged.
 */
int tw_top_rows_add(struct tw_top_rows *out, const char *data, size_t len,
		    const char *node, struct tw_err *err);
void tw_top_rows_release(struct tw_top_rows *r);

/* Compute the CPUs used in wall_s since before, which is sorted. */
void tw_top_rows_compare(struct tw_top_rows *r, struct tw_top_rows *before,
			 double wall_s);

/* Sort: largest first, names alphabetically, ties by key. */
void tw_top_rows_sort(struct tw_top_rows *r, enum tw_top_sort by, bool reverse);

#endif /* TW_CLI_TOP_ROWS_H */
