/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_CLEAN_ROWS_H
#define TW_TRAINER_CLEAN_ROWS_H

/*
 * Cleaning of rows: power that no load explains, and a side that stands still while the
 * other moves. Such a row is dropped, so that a single one does not move a fit.
 *
 * Power is compared with a robust line through the rows (judged_rows.h).
 *
 * - Outside of physics: power above three times the 90th percentile of the recording, or
 * as much more as the load is above its own. A wrong step of the meter, a sentinel.
 * Above five times TDP, where it is known, for packages and cores.
 * - A glitch: one or two rows far off the line, and off both neighbours, where the load
 * and the power within three rows explain nothing either, so that a lag is no glitch.
 * - Standing features: rows without any work, but with power of a load, and the row after
 *   them, which has the work of all.
 * - A standing gauge: more than three equal readings while the load says otherwise.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_hidden;
struct tw_node_rows;
struct tw_power_series;
struct tw_rates;

struct tw_clean_counts {
	size_t outliers;  /* outside of physics, or a glitch */
	size_t standing;  /* features or a gauge stood still */
	size_t joined;    /* had no scrape, and are part of the row after them, if any */
	size_t unsteady;  /* the load changed, and the meter showed it at another time */
	bool unsure;      /* the meter did so, and the load was never steady */
	size_t unseen;    /* before a workload appeared that ran before */
	bool unseen_most; /* such rows lack work, and those after them are too few */
	int64_t first_ms; /* of the first outlier; 0: none */
	double first_w;
	double scrapes_s; /* the step of the rows does not divide this interval of the
			     scrapes; 0: it does */
};

/*
 * Drop the wrong rows of power, whose features are in rows, read by r. Their energy
 * leaves p->grown_j. Of fewer than 20 rows only those above TDP are dropped. TW_INVALID
 * if more than a tenth of the rows are outliers. Rows that were joined are to be read,
 * and cleaned, again. Rows whose step does not divide the interval of the scrapes
 * (scrapes.h) stay: all of them are wrong. So do those of a meter with inertia, but for
 * power outside of physics.
 */
int tw_clean_rows(struct tw_power_series *p, const struct tw_node_rows *rows,
		  const struct tw_rates *r, struct tw_clean_counts *out,
		  struct tw_err *err);

/* Drop the rows in which the load changed, if their power is not that of their work
 * (steady.h). Counts them in *out. */
int tw_drop_unsteady_rows(struct tw_power_series *p, const struct tw_node_rows *rows,
			  const struct tw_rates *r, struct tw_clean_counts *out,
			  struct tw_err *err);

/* Drop the rows before the last of these times at which a workload appeared whose work
 * they lack (unseen.h). Counts them in *out. */
int tw_drop_unseen_rows(struct tw_power_series *p, const struct tw_node_rows *rows,
			const struct tw_rates *r, const struct tw_hidden *at,
			struct tw_clean_counts *out, struct tw_err *err);

#endif /* TW_TRAINER_CLEAN_ROWS_H */
