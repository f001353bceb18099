/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_LIKENESS_H
#define TW_PROFILER_LIKENESS_H

/*
 * How alike the power of two machines is, from what their processors are and how many
 * there are (docs/profiler.md, "Likeness"). For the choice of a model; the node type of a
 * machine is kepler-model-server's formula, profiler/similarity.h.
 */

#include "profiler/name.h"
#include "profiler/similarity.h"

#include <stdbool.h>

struct tw_machine_spec;

/* All that a comparison needs of one machine. The borrowed texts are constants. */
struct tw_likeness {
	char processor[TW_SPEC_TEXT]; /* the canonical name: tw_cpu_identify() */
	const char *vendor, *architecture, *generation, *low_power;
	double log_process;
	/* Logarithms; NaN: unknown. */
	double log_chips, log_cores, log_cores_per_chip, log_memory, log_frequency;
	struct tw_letters letters; /* of `processor` */
	/* Fewer cores than a chip of its processor has: a VM. Its figures are its own. */
	bool is_share;
};

void tw_likeness_of(const struct tw_machine_spec *spec, struct tw_likeness *out);

/* The least likeness of machines whose processors have one name. */
#define TW_LIKENESS_SAME_PROCESSOR_MIN 0.5
/* The greatest of machines whose processors have different names. */
#define TW_LIKENESS_OTHER_PROCESSOR_MAX 0.75

/*
 * From 0 to 0.95 in steps of 0.05: machines that agree in all attributes are the
 * caller's. `wanted` is the machine that asks: if it is a share, the figures of `model`
 * do not count.
 */
double tw_likeness(const struct tw_likeness *wanted, const struct tw_likeness *model);

#endif /* TW_PROFILER_LIKENESS_H */
