/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_SIMULATED_SERVICE_H
#define TW_TEST_SIMULATED_SERVICE_H

#include "trainer/unit/unit_blocks.h"

#include <stddef.h>
#include <stdint.h>

struct tw_prom;

#define SIMULATED_WORKS 2

/*
 * A service with a law: W with no work, and J of a unit of each kind. The rates of work,
 * and the noise of its power, are random and have a memory. Energy and work are scraped
 * at different times.
 */
struct simulated_law {
	uint64_t seed;
	unsigned seconds;
	size_t works;
	double standing_w, unit_j[SIMULATED_WORKS];
	double rate[SIMULATED_WORKS];     /* units a second, about */
	double memory_s[SIMULATED_WORKS]; /* of the rate; 0: it is constant */
	double mixed; /* share of the second rate that is the first's, 0..1 */
	double noise_w, noise_memory_s;
	unsigned change_s; /* unit_j are later_j from then on; 0: they stay */
	double later_j[SIMULATED_WORKS];
	double energy_scrape_s, work_scrape_s, jitter_s;
};

/* Two kinds of work, with noise. */
struct simulated_law simulated_law_make(unsigned seconds);

struct simulated_service {
	struct tw_prom *prom;
	const struct tw_series *series[1 + SIMULATED_WORKS];
	struct tw_unit_input in; /* borrows from here */
};

void simulated_service_make(struct simulated_service *s, const struct simulated_law *law);
void simulated_service_release(struct simulated_service *s);

#endif /* TW_TEST_SIMULATED_SERVICE_H */
