/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/likeness.h"

#include "lib/core/array.h"
#include "profiler/cpu_identity.h"
#include "profiler/spec.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Distances of processors with different names. */
#define OTHER_PRODUCT 0.3
#define OTHER_GENERATION 0.5
#define OTHER_ARCHITECTURE 0.65
#define OTHER_VENDOR 0.8
#define OTHER_SUFFIX 0.3
#define PROCESS_WEIGHT 0.5 /* times the logarithm of the ratio */
/* Of names that the tables do not know: less by the letters in common, 0 to 0.5. */
#define UNKNOWN_PROCESSOR 1.0

/* So that no figure makes machines with the same processor unlike. */
#define FIGURES_MAX 0.9
/* Of a share of a machine from any machine with that processor. */
#define SHARE 0.05
/* Of a figure that one machine lacks: as for a ratio of e to the half. */
#define UNKNOWN_LOG 0.5

static const struct {
	size_t offset; /* of a double in struct tw_likeness */
	double weight;
} figures[] = {
	{ offsetof(struct tw_likeness, log_chips), 1.0 },
	{ offsetof(struct tw_likeness, log_cores_per_chip), 0.6 },
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

	if (threads <= 0 && id->cores > 0 && id->threads > 0)
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
		.log_memory = log_or_nan(spec->memory_gib),
		.log_frequency = log_or_nan(spec->frequency_mhz),
		.is_share = cores > 0 && cores < id.cores,
	};
	memcpy(out->processor, id.processor, sizeof(out->processor));
	tw_letters_of(id.processor, &out->letters);
}

static double difference(double a, double b)
{
	return isnan(a) || isnan(b) ? UNKNOWN_LOG : fabs(a - b);
}

static double figures_distance(const struct tw_likeness *a, const struct tw_likeness *b)
{
	double d = 0;

	if (a->is_share)
		return SHARE;
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

static double processor_distance(const struct tw_likeness *a, const struct tw_likeness *b)
{
	if (a->processor[0] == '\0' || b->processor[0] == '\0')
		return UNKNOWN_PROCESSOR;
	if (strcmp(a->processor, b->processor) == 0)
		return 0;
	if (a->architecture[0] != '\0' && b->architecture[0] != '\0')
		return identity_distance(a, b);
	return UNKNOWN_PROCESSOR - tw_letters_share(&a->letters, &b->letters);
}

double tw_likeness(const struct tw_likeness *wanted, const struct tw_likeness *model)
{
	const double processors = processor_distance(wanted, model);
	const double rest = figures_distance(wanted, model);

	return 1 / (1 + processors + (processors > 0 ? rest : fmin(rest, FIGURES_MAX)));
}
