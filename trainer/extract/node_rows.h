/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_NODE_ROWS_H
#define TW_TRAINER_NODE_ROWS_H

/*
 * Features of the node at each time of power: the sums over its workloads. They show
 * late scrapes, and are checked against the node's own total.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_clock;
struct tw_err;
struct tw_extract_input;
struct tw_power_series;
struct tw_rates;

/* All zero bytes is empty. */
struct tw_node_rows {
	size_t rows, features;
	double **feature; /* rates by feature and row */
	double **born;    /* the part of them that counts from 0 */
	bool *filled;     /* for each row: whether a workload has it */
	double *cpu_ms;   /* CPU time of each row, ms a second; NULL: no such feature */
	double *memory;
};

/* Read the counters of r, of this many features, at its times. */
int tw_node_rows_read(struct tw_node_rows *out, struct tw_rates *r, size_t features,
		      struct tw_err *err);
void tw_node_rows_release(struct tw_node_rows *n);

/*
 * Bound in r what a workload that begins may have by what CPUs can do and by twice what
 * the others had at once, where the number of CPUs does not bound it already. Returns
 * whether a workload of n exceeds that: it was there before, so n is to be read again.
 */
bool tw_node_rows_limit_births(const struct tw_node_rows *n, struct tw_rates *r);

/* Features and power of one machine, in order of time, for figures of them. */
struct tw_measured_rows {
	size_t rows;
	const int64_t *from_ms, *time_ms;
	const double *from, *to; /* by the exporter's clock, ms */
	const bool *filled;      /* rows that have features */
	const char *const *name;
	double *const *feature;
	size_t features;
	const double *cpu_ms;  /* or NULL */
	const double *node_ms; /* by the node's own total, where not NaN; or NULL */
	const double *watts;
	const struct tw_time_span *span; /* that all rows are in, or NULL: any times */
	size_t spans;
};

/* ---- late scrapes ---- */

/*
 * Late scrapes of exporters that do not publish the time of their counters. The sample of
 * a late scrape has more energy and more of each feature than its row's time allows, and
 * the next row lacks as much. Both rows become one row, whose time is right.
 */

/* The repairs, for the data-quality report. */
struct tw_late_counts {
	size_t late;       /* pairs of rows that became one */
	size_t impossible; /* rows with more CPU time than CPUs, dropped */
};

/*
 * Repair the rows of power, whose features are in rows, read by r. Two neighbouring rows
 * are joined if the power of one is far above the rows on both sides, that of the other
 * as far below, their mean fits, and the features shifted by the same share as the
 * energy: a load that came and went moves features more than power, which has an idle
 * part. A row with more CPU time than the CPUs can have is joined with the neighbour that
 * lacks it, else dropped.
 */
int tw_late_repair(struct tw_power_series *power, const struct tw_node_rows *rows,
		   const struct tw_rates *r, struct tw_late_counts *out,
		   struct tw_err *err);

/* ---- balance ---- */

/*
 * CPU seconds of the node within the rows that have features, by its exporter's modes of
 * CPU time, else by those of another exporter of the machine; NaN if there are none. Also
 * of each row, node_ms[rows->rows], ms a second without interrupts; else unchanged.
 * CPU time of tasks includes that of interrupts on some kernels: of user and system time
 * alone, or with both kinds of interrupts, *out is what lies nearest to the rows' own
 * CPU time.
 */
int tw_balance_node_cpu(const struct tw_extract_input *in,
			const struct tw_power_series *power, const struct tw_clock *clock,
			const struct tw_node_rows *rows, double *node_ms, double *out,
			struct tw_err *err);

#endif /* TW_TRAINER_NODE_ROWS_H */
