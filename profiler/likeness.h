/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_LIKENESS_H
#define TW_PROFILER_LIKENESS_H

/*
 * How alike the power of two machines is, from what their processors are and how many
 * there are (docs/profiler.md, "Likeness"). For the choice of a model; the node type of a
 * machine is by kepler-model-server's similarity, whose formula and weights are the same
 * here, so that both choose the same models.
 */

#include "profiler/name.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_machine_spec;

/*
 * Similarity of texts, ignoring case: |A and B| / (2 |A or B|) of the sets A and B of
 * their letters. 1 if the texts are equal, 0 if only one is empty.
 */
double tw_similarity_text(const char *a, const char *b);

/* Similarity of numbers: max(0, 1 - |a - b| / mean); 1 for 0 and 0. */
double tw_similarity_figure(uint32_t a, uint32_t b);

/*
 * Similarity of two machines, from 0 to 1: the weighted sum of the attributes': processor
 * 10/16, cores and chips 2/16 each, memory and frequency 1/16 each. An attribute that a
 * or b lacks adds 0.
 */
double tw_similarity(const struct tw_machine_spec *a, const struct tw_machine_spec *b);

/* The set of letters of a text, for comparing one text with many. */
struct tw_letters {
	uint64_t bits[4];
};

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
