/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PRIOR_FIT_H
#define TW_TRAINER_PRIOR_FIT_H

/*
 * Learns the prior of machines (model-db/prior/prior.h) from a table of measured
 * machines. The result does not depend on the number of threads.
 */

#include "model-db/prior/prior.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_machine_table;

/* The sets of attributes that may be known, the best known first. */
enum tw_prior_view_kind {
	TW_PRIOR_VIEW_SYSTEM,    /* all, with power supply and vendor of the system */
	TW_PRIOR_VIEW_HOST,      /* processor, chips, TDP, memory */
	TW_PRIOR_VIEW_PROCESSOR, /* processor, chips, TDP */
	TW_PRIOR_VIEW_NAME,      /* processor, chips */
	TW_PRIOR_VIEW_CHIP,      /* processor, TDP: power of a chip */
	TW_PRIOR_VIEW_CHIP_NAME, /* processor: power of a chip */
	TW_PRIOR_VIEW_CORE,      /* what is known of the processor: power of a core */
	TW_PRIOR_VIEW_KINDS
};

/*
 * The views of a prior that ships: those that a machine spec can fill. A spec with chips
 * mostly has memory, so the view without memory would be dead weight.
 */
#define TW_PRIOR_SHIPPED_VIEWS                                      \
	(1u << TW_PRIOR_VIEW_HOST | 1u << TW_PRIOR_VIEW_NAME |      \
	 1u << TW_PRIOR_VIEW_CHIP | 1u << TW_PRIOR_VIEW_CHIP_NAME | \
	 1u << TW_PRIOR_VIEW_CORE)

/*
 * Set rows and views of an empty prior: row i is machine i of the table. kinds has a bit
 * for each kind. *out is yours: tw_prior_release().
 */
int tw_prior_begin(const struct tw_machine_table *t, unsigned kinds, struct tw_prior *out,
		   struct tw_err *err);

/* The bits of a prior's views. */
unsigned tw_prior_kinds(const struct tw_prior *p);

/*
 * Learn from the machines i with use[i]: variances, weights, factors and the misses of
 * known generations. threads 0: one for each CPU.
 */
int tw_prior_learn_known(struct tw_prior *p, const struct tw_machine_table *t,
			 const bool *use, unsigned threads, struct tw_err *err);

/* Compute the weights for other machines; variances, factors and intervals stay. */
int tw_prior_condition(struct tw_prior *p, const struct tw_machine_table *t,
		       const bool *use, unsigned threads, struct tw_err *err);

#endif /* TW_TRAINER_PRIOR_FIT_H */
