/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_SHARES_H
#define TW_CLI_SHARES_H

/*
 * Fair shares of energy (docs/attribution.md) of workloads that ran in each subset, and
 * the errors of their charged energy.
 */

#include <stddef.h>

struct tw_buf;

#define TW_SHARES_MAX 5

/* A run of a subset. */
struct tw_shares_run {
	double joules;                   /* of the machine, above rest */
	double charged_j[TW_SHARES_MAX]; /* to each workload, above idle */
	double cpu_s[TW_SHARES_MAX];
};

struct tw_shares {
	size_t works;
	const char *name[TW_SHARES_MAX];
	struct tw_shares_run run[1 << TW_SHARES_MAX]; /* by the bits of its workloads */
	double again_j; /* of an earlier run of all: equal, except for noise */
	double rest_w;
	char source[128]; /* the meter */
	const char *rule; /* how the collector divides */
};

/* The Shapley value of workload i among those of `of`, in J. */
double tw_shares_fair(const struct tw_shares *s, unsigned of, size_t i);

/* The table and the verdict, for people. */
void tw_shares_report(const struct tw_shares *s, struct tw_buf *b);

#endif /* TW_CLI_SHARES_H */
