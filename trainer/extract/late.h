/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_LATE_H
#define TW_TRAINER_LATE_H

/*
 * Late scrapes of exporters that do not publish the time of their counters. The sample of
 * a late scrape has more energy and more of each feature than its row's time allows, and
 * the next row lacks as much. Both rows become one row, whose time is right.
 */

#include <stddef.h>

struct tw_err;
struct tw_node_rows;
struct tw_power_series;
struct tw_rates;

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

#endif /* TW_TRAINER_LATE_H */
