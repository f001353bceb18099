/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_SIMILARITY_H
#define TW_PROFILER_SIMILARITY_H

/*
 * How alike two machines are, from 0 to 1. The figures are kepler-model-server's, so
 * that what is chosen by them stays the same.
 */

#include <stdint.h>

struct tw_machine_spec;

/*
 * Half the share of letters in common: of the sets of letters in a and in b, whatever
 * their case, the size of the intersection over twice that of the union. 1 if the texts
 * are equal, 0 if only one is empty.
 */
double tw_similarity_text(const char *a, const char *b);

/* 1 less the difference over the mean, but not below 0; 1 for 0 and 0. */
double tw_similarity_figure(uint32_t a, uint32_t b);

/*
 * The sum over the attributes that both know of 10/16 for the processor, 2/16 for cores
 * and chips, 1/16 for memory and frequency, each times its similarity. What is not known
 * adds nothing.
 */
double tw_similarity(const struct tw_machine_spec *a, const struct tw_machine_spec *b);

/*
 * The two parts of that sum, for who compares one machine with many: the letters of each
 * name are found once.
 */
struct tw_letters {
	uint64_t bits[4];
};

void tw_letters_of(const char *text, struct tw_letters *out);
double tw_similarity_processor(const struct tw_machine_spec *a,
			       const struct tw_letters *in_a,
			       const struct tw_machine_spec *b,
			       const struct tw_letters *in_b);
double tw_similarity_figures(const struct tw_machine_spec *a,
			     const struct tw_machine_spec *b);

#endif /* TW_PROFILER_SIMILARITY_H */
