/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_POWER_SERIES_H
#define TW_TRAINER_POWER_SERIES_H

/*
 * Power of a node over time: watts of each component, and of its packages, from energy
 * counters or power gauges.
 */

#include "lib/field/energy.h"

#include <stddef.h>
#include <stdint.h>

struct tw_clock;
struct tw_err;
struct tw_extract_input;
struct tw_packages;
struct tw_ticks;

struct tw_power_column {
	enum tw_component component;
	const char *package; /* NULL: the sum of all packages */
	double *watts;       /* one for each time */
};

/*
 * Watts at the times that all components share. Power at time_ms[k] is the mean since
 * from_ms[k], which is time_ms[k - 1] or, where times were left out, later. All zero
 * bytes is an empty table.
 */
struct tw_power_series {
	size_t times;
	int64_t *from_ms, *time_ms;
	struct tw_power_column *column; /* the components as given, then their packages */
	size_t columns;
	double *memory;
	size_t merged;  /* series that others repeat (clean.h) */
	size_t repeats; /* times at which the meter had not moved on */
	double grown_j; /* of the first component's counters; 0 for a gauge */
};

/*
 * Power of the components and packages, by the exporter's clock. Times at which no
 * component draws power are left out, and so are times at which the meter repeats its
 * last reading: the next power covers both steps. A meter that stands for longer has
 * stopped, and its pause is in no row. *out is the caller's:
 * tw_power_series_release(). Package names are the response's.
 */
int tw_power_series_extract(const struct tw_extract_input *in,
			    const struct tw_packages *packages,
			    const struct tw_clock *clock, struct tw_power_series *out,
			    struct tw_err *err);

/*
 * Drop the rows across which the meter was absent for more than a minute, and ten usual
 * steps, while the exporter was read at `ticks`: tw-collector does not know the energy of
 * such a time (docs/tw-collector.md, "Gaps").
 */
int tw_power_series_drop_absences(struct tw_power_series *p, const struct tw_ticks *ticks,
				  struct tw_err *err);

/* Take the energy of the row at k, which is dropped, from the meter's. */
void tw_power_series_forget(struct tw_power_series *p, size_t k);

/* Put the row at `from` in the place of the one at `to`. */
void tw_power_series_move(struct tw_power_series *p, size_t to, size_t from);

void tw_power_series_release(struct tw_power_series *p);

#endif /* TW_TRAINER_POWER_SERIES_H */
