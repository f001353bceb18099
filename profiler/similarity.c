/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/similarity.h"

#include "lib/core/array.h"
#include "profiler/spec.h"

#include <stddef.h>
#include <strings.h>

static const double processor_weight = 10.0 / 16;

static const struct {
	size_t offset; /* of a uint32_t in struct tw_machine_spec */
	double weight;
} figures[] = {
	{ offsetof(struct tw_machine_spec, cores), 2.0 / 16 },
	{ offsetof(struct tw_machine_spec, chips), 2.0 / 16 },
	{ offsetof(struct tw_machine_spec, memory_gib), 1.0 / 16 },
	{ offsetof(struct tw_machine_spec, frequency_mhz), 1.0 / 16 },
};

void tw_letters_of(const char *text, struct tw_letters *out)
{
	*out = (struct tw_letters){ 0 };
	for (const char *p = text; *p != '\0'; p++) {
		const char lower = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
		const unsigned char c = (unsigned char)lower;

		out->bits[c / 64] |= UINT64_C(1) << c % 64;
	}
}

static int count_bits(uint64_t v)
{
	return __builtin_popcountll(v);
}

double tw_letters_share(const struct tw_letters *a, const struct tw_letters *b)
{
	int both = 0, any = 0;

	for (size_t i = 0; i < TW_COUNT(a->bits); i++) {
		both += count_bits(a->bits[i] & b->bits[i]);
		any += count_bits(a->bits[i] | b->bits[i]);
	}
	return (double)both / (2.0 * any);
}

double tw_similarity_text(const char *a, const char *b)
{
	struct tw_letters in_a, in_b;

	if (strcasecmp(a, b) == 0)
		return 1;
	tw_letters_of(a, &in_a);
	tw_letters_of(b, &in_b);
	return tw_letters_share(&in_a, &in_b);
}

static double similarity_of_processors(const struct tw_machine_spec *a,
				       const struct tw_letters *in_a,
				       const struct tw_machine_spec *b,
				       const struct tw_letters *in_b)
{
	if (a->processor[0] == '\0' || b->processor[0] == '\0')
		return 0;
	if (strcasecmp(a->processor, b->processor) == 0)
		return processor_weight;
	return processor_weight * tw_letters_share(in_a, in_b);
}

double tw_similarity_figure(uint32_t a, uint32_t b)
{
	const double mean = ((double)a + b) / 2;
	const double apart = a > b ? (double)a - b : (double)b - a;

	if (a == b)
		return 1;
	return apart < mean ? 1 - apart / mean : 0;
}

static uint32_t figure_of(const struct tw_machine_spec *s, size_t i)
{
	return *(const uint32_t *)(const void *)((const char *)s + figures[i].offset);
}

static double similarity_of_figures(const struct tw_machine_spec *a,
				    const struct tw_machine_spec *b)
{
	double sum = 0;

	for (size_t i = 0; i < TW_COUNT(figures); i++) {
		const uint32_t x = figure_of(a, i), y = figure_of(b, i);

		if (x != 0 && y != 0)
			sum += figures[i].weight * tw_similarity_figure(x, y);
	}
	return sum;
}

double tw_similarity(const struct tw_machine_spec *a, const struct tw_machine_spec *b)
{
	struct tw_letters in_a, in_b;

	tw_letters_of(a->processor, &in_a);
	tw_letters_of(b->processor, &in_b);
	return similarity_of_processors(a, &in_a, b, &in_b) + similarity_of_figures(a, b);
}
