/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_BALANCE_H
#define TW_TRAINER_BALANCE_H

/* The node's own total of CPU time, to check the rows of its workloads against. */

struct tw_clock;
struct tw_err;
struct tw_extract_args;
struct tw_node_rows;
struct tw_power_series;
struct tw_prom;
struct tw_schema;

/*
 * CPU seconds of the node within the rows that have features, by its exporter's modes of
 * CPU time, else by those of another exporter of the machine; NaN if there are none. Also
 * of each row, node_ms[rows->rows], ms a second without interrupts; else unchanged.
 * CPU time of tasks includes that of interrupts on some kernels: of user and system time
 * alone, or with both kinds of interrupts, *out is what lies nearest to the rows' own
 * CPU time.
 */
int tw_balance_node_cpu(const struct tw_prom *p, const struct tw_schema *schema,
			const struct tw_extract_args *a,
			const struct tw_power_series *power, const struct tw_clock *clock,
			const struct tw_node_rows *rows, double *node_ms, double *out,
			struct tw_err *err);

#endif /* TW_TRAINER_BALANCE_H */
