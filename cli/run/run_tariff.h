/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_RUN_TARIFF_H
#define TW_CLI_RUN_TARIFF_H

/*
 * The emissions and the cost of a run: its joules times the mean of the tariff during the
 * run. An option sets the tariff; without it the collector's is used.
 */

#include "collector/meters/zone.h"
#include "lib/field/rate.h"

struct tw_err;

/* For each tariff, its value for a kWh; NaN: not known. */
struct tw_run_rates {
	double per_kwh[TW_TARIFF_COUNT];
};

struct tw_run_tariff {
	struct tw_rate rate[TW_TARIFF_COUNT]; /* from the options; empty: not given */
	/* The looks at the tariffs during a run. */
	double sum[TW_TARIFF_COUNT];
	unsigned count;
};

/*
 * given: the texts of --carbon and --price; NULL: not given. Call
 * tw_run_tariff_release() afterwards, on failure, too.
 */
int tw_run_tariff_open(struct tw_run_tariff *t, char *const given[TW_TARIFF_COUNT],
		       struct tw_err *err);
void tw_run_tariff_release(struct tw_run_tariff *t);

void tw_run_tariff_begin(struct tw_run_tariff *t);
/*
 * Add the present tariff to the mean; call it regularly during a run. of: the rates of
 * the collector; NULL: there is no collector.
 */
void tw_run_tariff_look(struct tw_run_tariff *t, const struct tw_run_rates *of);

/* The mean of the looks; NaN if the tariff was not known at one of them. */
struct tw_run_rates tw_run_tariff_end(const struct tw_run_tariff *t);

#endif /* TW_CLI_RUN_TARIFF_H */
