/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/likeness.h"

#include "lib/core/array.h"
#include "profiler/cpu_identity.h"
#include "profiler/spec.h"

#include <math.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static const double processor_weight = 10.0 / 16;

static const struct {
	size_t offset; /* of a uint32_t in struct tw_machine_spec */
	double weight;
} spec_figures[] = {
	{ offsetof(struct tw_machine_spec, cores), 2.0 / 16 },
	{ offsetof(struct tw_machine_spec, chips), 2.0 / 16 },
	{ offsetof(struct tw_machine_spec, memory_gib), 1.0 / 16 },
	{ offsetof(struct tw_machine_spec, frequency_mhz), 1.0 / 16 },
};

static void letters_of(const char *text, struct tw_letters *out)
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

/* |A and B| / (2 |A or B|), 0 to 0.5; not for two empty sets. */
static double letters_share(const struct tw_letters *a, const struct tw_letters *b)
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
	letters_of(a, &in_a);
	letters_of(b, &in_b);
	return letters_share(&in_a, &in_b);
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
	return processor_weight * letters_share(in_a, in_b);
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
	return *(const uint32_t *)(const void *)((const char *)s +
						 spec_figures[i].offset);
}

static double similarity_of_figures(const struct tw_machine_spec *a,
				    const struct tw_machine_spec *b)
{
	double sum = 0;

	for (size_t i = 0; i < TW_COUNT(spec_figures); i++) {
		const uint32_t x = figure_of(a, i), y = figure_of(b, i);

		if (x != 0 && y != 0)
			sum += spec_figures[i].weight * tw_similarity_figure(x, y);
	}
	return sum;
}

double tw_similarity(const struct tw_machine_spec *a, const struct tw_machine_spec *b)
{
	struct tw_letters in_a, in_b;

	letters_of(a->processor, &in_a);
	letters_of(b->processor, &in_b);
	return similarity_of_processors(a, &in_a, b, &in_b) + similarity_of_figures(a, b);
}

/* Distances of processors with different names. */
#define OTHER_PRODUCT 0.3
#define OTHER_GENERATION 0.5
#define OTHER_ARCHITECTURE 0.65
#define OTHER_VENDOR 0.8
#define OTHER_SUFFIX 0.3
#define PROCESS_WEIGHT 0.5 /* times the logarithm of the ratio */
/*
 * Distances of names that the tables lack: with different letters, and with the same
 * letters.
 */
#define UNKNOWN_PROCESSOR 1.25
#define UNKNOWN_ALL_LETTERS 0.5

#define CORES_WEIGHT 0.6
/* A smaller difference is chance: the type with more measured machines is the better. */
#define STEPS 20
/* Machines that differ in anything are not alike by all. */
#define OTHER_MACHINE 0.01
/* Limit of the distance by figures: machines with the same processor stay alike. */
#define FIGURES_MAX 0.9
/* Distance of a share of a machine from a whole machine with that processor. */
#define SHARE 0.05
/* Distance of a figure that the model's machine lacks: that of a ratio of sqrt(e). */
#define UNKNOWN_LOG 0.5

static const struct {
	size_t offset; /* of a double in struct tw_likeness */
	double weight;
} figures[] = {
	{ offsetof(struct tw_likeness, log_chips), 1.0 },
	{ offsetof(struct tw_likeness, log_cores_per_chip), CORES_WEIGHT },
	{ offsetof(struct tw_likeness, log_memory), 0.3 },
	{ offsetof(struct tw_likeness, log_frequency), 0.2 },
};

static double log_or_nan(double v)
{
	return v > 0 ? log(v) : NAN;
}

/* Physical cores; 0 if unknown. */
static double count_cores(const struct tw_machine_spec *s,
			  const struct tw_cpu_identity *id)
{
	double threads = s->threads_per_core;

	/* Of a hybrid processor only some cores have two. */
	if (threads != 1 && id->cores > 0 && id->threads > 0)
		threads = (double)id->threads / id->cores;
	return threads > 0 ? s->cores / threads : s->cores;
}

void tw_likeness_of(const struct tw_machine_spec *spec, struct tw_likeness *out)
{
	struct tw_cpu_identity id;
	double cores;

	tw_cpu_identify(spec->processor, strlen(spec->processor), NULL, &id);
	cores = count_cores(spec, &id);
	*out = (struct tw_likeness){
		.vendor = id.vendor,
		.architecture = id.architecture,
		.generation = id.generation,
		.low_power = id.low_power,
		.log_process = log_or_nan(id.process_nm),
		.log_chips = log_or_nan(spec->chips),
		.log_cores_per_chip =
			spec->chips > 0 ? log_or_nan(cores / spec->chips) : NAN,
		.log_cores = log_or_nan(cores),
		.log_memory = log_or_nan(spec->memory_gib),
		.log_frequency = log_or_nan(spec->frequency_mhz),
		.is_share = cores > 0 && cores < id.cores,
	};
	memcpy(out->processor, id.processor, sizeof(out->processor));
	letters_of(id.processor, &out->letters);
}

/* An attribute that the machine that asks lacks is the same for all models. */
static double difference(double wanted, double model)
{
	if (isnan(wanted))
		return 0;
	return isnan(model) ? UNKNOWN_LOG : fabs(wanted - model);
}

static double figures_distance(const struct tw_likeness *a, const struct tw_likeness *b)
{
	double d = OTHER_MACHINE;

	if (a->is_share)
		return SHARE;
	/* Without the chips the cores of a chip are unknown. */
	if (isnan(a->log_cores_per_chip) || isnan(b->log_cores_per_chip))
		d += CORES_WEIGHT * difference(a->log_cores, b->log_cores);
	for (size_t i = 0; i < TW_COUNT(figures); i++) {
		const char *at_a = (const char *)a + figures[i].offset;
		const char *at_b = (const char *)b + figures[i].offset;

		d += figures[i].weight * difference(*(const double *)(const void *)at_a,
						    *(const double *)(const void *)at_b);
	}
	return d;
}

static double identity_distance(const struct tw_likeness *a, const struct tw_likeness *b)
{
	double d = strcmp(a->low_power, b->low_power) != 0 ? OTHER_SUFFIX : 0;

	if (strcmp(a->architecture, b->architecture) != 0)
		return d + PROCESS_WEIGHT * difference(a->log_process, b->log_process) +
		       (strcmp(a->vendor, b->vendor) == 0 ? OTHER_ARCHITECTURE
							  : OTHER_VENDOR);
	if (a->generation[0] != '\0' && strcmp(a->generation, b->generation) == 0)
		return d + OTHER_PRODUCT;
	return d + OTHER_GENERATION;
}

/* "intel_xeon" and "amd_epyc" are families of twenty years. */
static bool is_product(const struct tw_likeness *l)
{
	return strpbrk(l->processor, "0123456789") != NULL;
}

static double processor_distance(const struct tw_likeness *a, const struct tw_likeness *b)
{
	if (a->processor[0] == '\0' || b->processor[0] == '\0')
		return UNKNOWN_PROCESSOR;
	if (strcmp(a->processor, b->processor) == 0)
		return is_product(a) ? 0 : OTHER_ARCHITECTURE;
	if (a->architecture[0] != '\0' && b->architecture[0] != '\0')
		return identity_distance(a, b);
	/* The share is at most a half. */
	return UNKNOWN_PROCESSOR - 2 * (UNKNOWN_PROCESSOR - UNKNOWN_ALL_LETTERS) *
					   letters_share(&a->letters, &b->letters);
}

double tw_likeness(const struct tw_likeness *wanted, const struct tw_likeness *model)
{
	const double processors = processor_distance(wanted, model);
	const double rest = figures_distance(wanted, model);

	const double d = processors + (processors > 0 ? rest : fmin(rest, FIGURES_MAX));

	return floor(STEPS / (1 + d)) / STEPS;
}
