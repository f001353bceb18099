/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_SIMILARITY_H
#define TW_PROFILER_SIMILARITY_H

/*
 * Similarity of two machines, from 0 to 1. Formula and weights are kepler-model-server's,
 * so that both choose the same models.
 */

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
 * Weighted sum of the attributes' similarities: processor 10/16, cores and chips 2/16
 * each, memory and frequency 1/16 each. An attribute that a or b lacks adds 0.
 */
double tw_similarity(const struct tw_machine_spec *a, const struct tw_machine_spec *b);

/* The set of letters of a text, for comparing one text with many. */
struct tw_letters {
	uint64_t bits[4];
};

void tw_letters_of(const char *text, struct tw_letters *out);

/* |A and B| / (2 |A or B|), 0 to 0.5; not for two empty sets. */
double tw_letters_share(const struct tw_letters *a, const struct tw_letters *b);

#endif /* TW_PROFILER_SIMILARITY_H */
