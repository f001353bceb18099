/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_ENGAGE_OTHERS_H
#define TW_CLI_ENGAGE_OTHERS_H

/*
 * The CPU time of processes that have no part in a phase of `tallywatt engage`, between
 * two looks at /proc. Processes that begin and end between the looks are not seen.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tw_err;

/* The processes at the first look. All zero bytes is empty. */
struct tw_others {
	struct tw_others_process *at; /* by pid */
	size_t count, size;
	uint64_t time_ns;
};

/* CPU use of processes other than the workload. */
struct tw_others_use {
	double cpus;      /* CPUs that the other processes kept busy */
	double most_cpus; /* share of the busiest process */
	char most[16];    /* its name; "" without other processes */
};

int tw_others_look(struct tw_others *o, struct tw_err *err);

/*
 * The use since the first look, without this process and without the processes of the
 * group (0: none). tw-collector counts as no other process.
 */
int tw_others_compare(const struct tw_others *first, pid_t group,
		      struct tw_others_use *out, struct tw_err *err);

void tw_others_release(struct tw_others *o);

#endif /* TW_CLI_ENGAGE_OTHERS_H */
