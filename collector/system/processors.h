/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PROCESSORS_H
#define TW_COLLECTOR_PROCESSORS_H

/*
 * The processors of the machine, with the strings of /proc/cpuinfo unchanged. profiler/
 * has names that can be compared between machines.
 */

#include <stddef.h>

struct tw_err;
struct tw_roots;

#define TW_PROCESSORS_MAX 16384

/* "": unknown. No architecture has all fields. */
struct tw_processor {
	char number[16];
	char vendor[32];
	char family[8];       /* x86: "6", "25" */
	char model_number[8]; /* x86: "85" */
	char stepping[8];     /* x86: "7" */
	char model[64];
	char package[16];
	char core[16];
};

/* All zero bytes: no processors. */
struct tw_processors {
	struct tw_processor *at;
	size_t count, size;
};

/*
 * Parse the text of /proc/cpuinfo. Unknown lines are skipped, long values are cut. Fails
 * without memory, and beyond TW_PROCESSORS_MAX processors.
 */
int tw_processors_parse(const char *data, size_t len, struct tw_processors *out,
			struct tw_err *err);

/* Parse roots->proc/cpuinfo. */
int tw_processors_read(const struct tw_roots *roots, struct tw_processors *out,
		       struct tw_err *err);

void tw_processors_release(struct tw_processors *p);

/*
 * The name of the microarchitecture, as in Kepler's label cpu_architecture: "Haswell",
 * "Zen 3"; NULL: unknown.
 */
const char *tw_processor_microarch(const struct tw_processor *p);

#endif /* TW_COLLECTOR_PROCESSORS_H */
