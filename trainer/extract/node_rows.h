/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_NODE_ROWS_H
#define TW_TRAINER_NODE_ROWS_H

/* Features of the node at each time of power: the sums over its workloads. */

#include <stdbool.h>
#include <stddef.h>

struct tw_counter_set;
struct tw_err;
struct tw_metric_series;
struct tw_rates;

/* All zero bytes is empty. */
struct tw_node_rows {
	size_t rows, features;
	double **feature; /* rates by feature and row */
	bool *filled;     /* for each row: whether a workload has it */
	double *cpu_ms;   /* CPU time of each row, ms a second; NULL: no such feature */
	double *memory;
};

/* Read the counters of the features at the times of r. */
int tw_node_rows_read(struct tw_node_rows *out, struct tw_rates *r,
		      const struct tw_counter_set *c,
		      const struct tw_metric_series *feature, size_t features,
		      struct tw_err *err);
void tw_node_rows_release(struct tw_node_rows *n);

#endif /* TW_TRAINER_NODE_ROWS_H */
