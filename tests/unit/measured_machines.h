/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_MEASURED_MACHINES_H
#define TW_TEST_MEASURED_MACHINES_H

/* The prior of tests/data/machines, whose README tells the law of its machines. */

#include "model-db/prior/prior.h"

double measured_full(double tdp, double chips);

/* *p must be all zero. */
void measured_prior(struct tw_prior *p);

/* The state of a test or a group is such a prior. */
int measured_set_up(void **state);
int measured_tear_down(void **state);

/* A machine with a processor that the table lacks. */
void measured_other(struct tw_prior_machine *m, int cores, int tdp, int chips);

#endif /* TW_TEST_MEASURED_MACHINES_H */
