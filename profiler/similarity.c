/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/similarity.h"

#include "profiler/spec.h"

#include <stdbool.h>
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

static void mark_letters(bool seen[256], const char *text)
{
	for (const char *p = text; *p != '\0'; p++)
		seen[(unsigned char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p)] =
			true;
}

double tw_similarity_text(const char *a, const char *b)
{
	bool in_a[256] = { false }, in_b[256] = { false };
	double both = 0, any = 0;

	if (strcasecmp(a, b) == 0)
		return 1;
	mark_letters(in_a, a);
	mark_letters(in_b, b);
	for (size_t i = 0; i < 256; i++) {
		both += in_a[i] && in_b[i];
		any += in_a[i] || in_b[i];
	}
	return both / (2 * any);
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

double tw_similarity(const struct tw_machine_spec *a, const struct tw_machine_spec *b)
{
	double sum = 0;

	if (a->processor[0] != '\0' && b->processor[0] != '\0')
		sum += processor_weight * tw_similarity_text(a->processor, b->processor);
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		const uint32_t x = figure_of(a, i), y = figure_of(b, i);

		if (x != 0 && y != 0)
			sum += figures[i].weight * tw_similarity_figure(x, y);
	}
	return sum;
}
