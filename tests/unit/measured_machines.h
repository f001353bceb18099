/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_MEASURED_MACHINES_H
#define TW_TEST_MEASURED_MACHINES_H

/*
 * A table of 24 processors, with one and two chips, and its prior. Full power is 1.5 TDP
 * and 20 W, give or take 5 %; idle power is a quarter of it; power is linear.
 */

#include "model-db/prior/prior.h"

struct tw_machine_table;

/* The first line of a table. */
extern const char measured_header[];

double measured_full(double tdp, double chips);

/* Both must be all zero. */
void measured_table(struct tw_machine_table *t);
void measured_prior(struct tw_prior *p);

/* A machine with a processor that the table lacks. */
void measured_other(struct tw_prior_machine *m, int cores, int tdp, int chips);

#endif /* TW_TEST_MEASURED_MACHINES_H */
