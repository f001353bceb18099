/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_RUN_TARIFF_H
#define TW_CLI_RUN_TARIFF_H

/*
 * What the energy of a run emitted and cost: its joules at the mean of the tariff over
 * the run. The tariff is an option's, else the collector's.
 */

#include "collector/meters/zone.h"
#include "lib/field/rate.h"

struct tw_err;

/* A kWh; NaN: not known. */
struct tw_run_rates {
	double per_kwh[TW_TARIFF_COUNT];
};

struct tw_run_tariff {
	struct tw_rate rate[TW_TARIFF_COUNT]; /* of the options; empty: none */
	/* Of a run, so far. */
	double sum[TW_TARIFF_COUNT];
	unsigned count;
};

/* given: the texts of --carbon and --price; NULL: none. tw_run_tariff_release(). */
int tw_run_tariff_open(struct tw_run_tariff *t, char *const given[TW_TARIFF_COUNT],
		       struct tw_err *err);
void tw_run_tariff_release(struct tw_run_tariff *t);

void tw_run_tariff_begin(struct tw_run_tariff *t);
/* Now and then. of: the collector's; NULL: there is none. */
void tw_run_tariff_look(struct tw_run_tariff *t, const struct tw_run_rates *of);

/* The mean of the looks; NaN if one of them knew nothing. */
struct tw_run_rates tw_run_tariff_end(const struct tw_run_tariff *t);

#endif /* TW_CLI_RUN_TARIFF_H */
