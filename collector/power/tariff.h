/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_TARIFF_H
#define TW_COLLECTOR_TARIFF_H

/*
 * Tariffs: the emissions (grams of CO2e) and the price of a kilowatt-hour, from a number,
 * a file (lib/field/rate.h) or an exporter's series, which a helper polls. Each tick
 * multiplies its energy by the tariffs of that time.
 */

#include "collector/meters/zone.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_ask_config;
struct tw_attribution;
struct tw_err;
struct tw_power;
struct tw_tariffs;

/* The options. */
struct tw_tariff_options {
	char *of[TW_TARIFF_COUNT];     /* a number, a file or a URL; NULL: not given */
	char *series[TW_TARIFF_COUNT]; /* of the exporter at the URL */
	uint64_t interval_ms;
};

/* Check the options; a file is read, a URL is not asked. */
int tw_tariff_options_check(const struct tw_tariff_options *o, struct tw_err *err);

/* A tariff since the start. */
struct tw_tariff_state {
	double per_kwh;      /* now; NaN: not known */
	char why[96];        /* the reason if per_kwh is not known; else "" */
	tw_u128 pico;        /* of the machine: as tariff_pico of struct tw_charge */
	uint64_t unknown_uj; /* energy of the ticks that did not know per_kwh */
};

/* *out stays NULL if there is no tariff; else it is yours: tw_tariffs_close(). */
int tw_tariffs_open(const struct tw_tariff_options *o, const struct tw_ask_config *ask,
		    struct tw_tariffs **out, struct tw_err *err);
void tw_tariffs_close(struct tw_tariffs *t); /* NULL is fine */

/*
 * Find the tariffs of a tick, which ended at wall_ms since 1970 and now_ns by
 * tw_now_ns(), and count the emissions and the cost of its energy. a gets the tariffs
 * for workloads. t may be NULL.
 */
void tw_tariffs_tick(struct tw_tariffs *t, int64_t wall_ms, uint64_t now_ns,
		     const struct tw_power *p, struct tw_attribution *a);

/* The state of a tariff; NULL: the tariff is not given. t may be NULL. */
const struct tw_tariff_state *tw_tariff_of(const struct tw_tariffs *t, enum tw_tariff i);

#endif /* TW_COLLECTOR_TARIFF_H */
