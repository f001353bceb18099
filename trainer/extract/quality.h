/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_QUALITY_H
#define TW_TRAINER_QUALITY_H

/*
 * The quality of a recording: what its rows cover, what extraction repaired, and whether
 * the rows add up to the node's own totals. Warnings say what to do.
 */

#include "lib/core/strs.h"
#include "trainer/extract/clean_rows.h"
#include "trainer/extract/increments.h"
#include "trainer/extract/node_rows.h"

#include <jansson.h>

struct tw_buf;
struct tw_err;

/* Sums of rows and totals that differ by more do not balance. */
#define TW_BALANCE_TOLERANCE 0.01

/* NaN is not known. All zero bytes is a quality of no rows. */
struct tw_quality {
	int64_t first_ms, last_ms;
	size_t rows;   /* times */
	bool clocked;  /* the exporter's clock has the time of each sample */
	double step_s; /* the median */
	bool uneven; /* not clocked: rows of two lengths, by samples that repeat others */
	size_t gaps; /* steps above three times the median, and times left out */
	double longest_gap_s;
	size_t restarts; /* of the exporter */
	size_t repeats;  /* samples that repeated the one before */
	struct tw_late_counts late;
	struct tw_clean_counts clean;
	size_t merged; /* series that others repeat */
	struct tw_increment_counts series;
	double cpus;       /* 0: not known */
	double cpu_node_s; /* CPU time by the node's total; NaN: it has none */
	double cpu_rows_s; /* of the rows; with a node's total, of those that it covers */
	double energy_rows_j, energy_meter_j; /* of the source's first component */
	double load_min, load_max;            /* busy CPUs */
	double power_min_w, power_max_w;      /* of the source's first component */
	double rest_s, longest_rest_s;        /* time without load */
	double idle_low_w, idle_high_w;       /* the interval of idle power */
	double lag_s;           /* by which power follows the features; 0: not seen */
	double lag_corrected_s; /* by which power was shifted before, set by the caller */
	struct tw_strs constant, missing; /* features */
	char virtual_path[128];           /* of a meter that a program wrote; "": none */
};

/* Set what follows from the rows: all but counts, totals and missing features. *q is
 * yours, also after a failure. q->cpus is set before. */
int tw_quality_measure(struct tw_quality *q, const struct tw_measured_rows *r,
		       struct tw_err *err);

/* An object, with a list `warnings`. NULL without memory. */
json_t *tw_quality_to_json(const struct tw_quality *q);

/* Append lines for people: the figures, then a line for each warning. */
void tw_quality_to_text(const struct tw_quality *q, struct tw_buf *out);

void tw_quality_release(struct tw_quality *q);

#endif /* TW_TRAINER_QUALITY_H */
