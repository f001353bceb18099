/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/prior/prior_machine.h"

#include "lib/core/array.h"
#include "profiler/cpu_identity.h"
#include "profiler/spec.h"
#include "profiler/typical_tdp.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void set(struct tw_prior_machine *m, enum tw_prior_category c, const char *text)
{
	snprintf(m->category[c], TW_PRIOR_TEXT, "%s", text);
}

/* 0 is unknown. */
static double known(double v)
{
	return v > 0 ? v : NAN;
}

/*
 * The key of a brand that was sold for several generations, of which the name tells none.
 * It counts as one after the middle of them.
 */
static const char *find_brand(const char *processor)
{
	static const char *const brands[][2] = {
		{ "amd_epyc", "epyc" },
		{ "intel_xeon_platinum", "xeon_scalable" },
		{ "intel_xeon_gold", "xeon_scalable" },
		{ "intel_xeon_silver", "xeon_scalable" },
		{ "intel_xeon_bronze", "xeon_scalable" },
	};

	for (size_t i = 0; i < TW_COUNT(brands); i++)
		if (strncmp(processor, brands[i][0], strlen(brands[i][0])) == 0)
			return brands[i][1];
	return NULL;
}

/*
 * The generation, or an architecture alone, whose key is its name; and what follows from
 * it. Of a brand all of it is that of the middle: without process and memory, a machine
 * would have those of twenty years.
 */
static void set_generation(struct tw_prior_machine *m, const struct tw_cpu_identity *id)
{
	const bool is_known = *id->generation != '\0' || *id->architecture != '\0';
	const char *brand = is_known ? NULL : find_brand(id->processor);
	const struct tw_cpu_generation *g =
		brand != NULL ? tw_cpu_generation_find(brand) : NULL;

	m->number[TW_PRIOR_PROCESS] = known(g != NULL ? g->process_nm : id->process_nm);
	set(m, TW_PRIOR_GENERATION,
	    g != NULL                 ? g->key
	    : *id->generation != '\0' ? id->generation
				      : id->architecture);
	set(m, TW_PRIOR_MEMORY_TYPE,
	    g != NULL && g->memory != NULL ? g->memory : id->memory);
}

static void machine_of_name(const char *processor, struct tw_prior_machine *out,
			    struct tw_cpu_identity *of)
{
	struct tw_cpu_identity id;

	memset(out, 0, sizeof(*out));
	tw_cpu_identify(processor, strlen(processor), NULL, &id);
	for (size_t i = 0; i < TW_PRIOR_NUMBERS; i++)
		out->number[i] = NAN;
	out->number[TW_PRIOR_CORES] = known(id.cores);
	out->number[TW_PRIOR_TDP] = known(id.tdp_w);
	/* Parts that are named by their highest frequency have no nominal one. */
	out->number[TW_PRIOR_MHZ] =
		known(id.nominal_mhz > 0 ? id.nominal_mhz : id.turbo_mhz);
	set(out, TW_PRIOR_VENDOR, id.vendor);
	set_generation(out, &id);
	/* Intel's L and AMD's HE mean the same; EE is lower. */
	if (id.how[TW_CPU_LOW_POWER] != TW_CPU_UNKNOWN)
		set(out, TW_PRIOR_LOW_POWER,
		    *id.low_power == '\0'             ? "-"
		    : strcmp(id.low_power, "ee") == 0 ? "ee"
						      : "low");
	if (id.how[TW_CPU_GENERATION] != TW_CPU_UNKNOWN)
		set(out, TW_PRIOR_PROCESSOR, id.processor);
	*of = id;
}

void tw_prior_machine_of_name(const char *processor, struct tw_prior_machine *out)
{
	struct tw_cpu_identity id;

	machine_of_name(processor, out, &id);
}

bool tw_prior_generation_before(struct tw_prior_machine *m)
{
	const struct tw_cpu_generation *g =
		tw_cpu_generation_find(m->category[TW_PRIOR_GENERATION]);

	if (g == NULL || g->after == NULL)
		return false;
	set(m, TW_PRIOR_GENERATION, g->after);
	return true;
}

bool tw_prior_memory_before(struct tw_prior_machine *m)
{
	static const char *const before[][2] = {
		{ "lpddr5", "ddr5" }, { "ddr5", "ddr4" },   { "lpddr4", "ddr4" },
		{ "hbm2", "ddr4" },   { "ddr4", "ddr3" },   { "ddr3", "ddr2" },
		{ "ddr2", "ddr" },    { "fbdimm", "ddr2" },
	};

	for (size_t i = 0; i < TW_COUNT(before); i++)
		if (strcmp(before[i][0], m->category[TW_PRIOR_MEMORY_TYPE]) == 0) {
			set(m, TW_PRIOR_MEMORY_TYPE, before[i][1]);
			return true;
		}
	return false;
}

void tw_prior_machine_set_system(struct tw_prior_machine *m, const char *vendor)
{
	/* Two names of one vendor: of results, and what firmware prints. */
	static const char *const same[][2] = {
		{ "super", "supermicro" }, { "hp", "hewlett" },    { "hpe", "hewlett" },
		{ "new", "h3c" },          { "giga", "gigabyte" },
	};
	char word[32];
	size_t n = 0;

	for (; n + 1 < sizeof(word) && isalnum((unsigned char)vendor[n]); n++)
		word[n] = (char)tolower((unsigned char)vendor[n]);
	word[n] = '\0';
	for (size_t i = 0; i < TW_COUNT(same); i++)
		if (strcmp(word, same[i][0]) == 0)
			snprintf(word, sizeof(word), "%s", same[i][1]);
	set(m, TW_PRIOR_SYSTEM, word);
	if (word[0] != '\0' && m->category[TW_PRIOR_GENERATION][0] != '\0')
		snprintf(m->category[TW_PRIOR_GENERATION_SYSTEM], TW_PRIOR_TEXT,
			 "%.40s/%.40s", m->category[TW_PRIOR_GENERATION], word);
}

/*
 * Cores of a chip whose number nobody published. A machine with fewer than a typical
 * product of the generation is a part of it: most such names are custom parts of clouds,
 * whose guests see few of the cores. Without products of the generation, only machines
 * with a frequency count as whole: few guests have it.
 */
static double cores_of_chip(const struct tw_prior_machine *m, double counted)
{
	struct tw_typical_tdp t;

	if (!tw_typical_tdp(m->category[TW_PRIOR_GENERATION], "", NAN, &t))
		return isnan(m->number[TW_PRIOR_MHZ]) ? NAN : counted;
	return fmax(counted, t.cores);
}

void tw_prior_machine_of_spec(const struct tw_machine_spec *s,
			      struct tw_prior_machine *out)
{
	const double threads = s->threads_per_core > 0 ? s->threads_per_core : 1;
	double *cores = &out->number[TW_PRIOR_CORES];
	struct tw_cpu_identity id;
	double counted;

	machine_of_name(s->processor, out, &id);
	tw_prior_machine_set_system(out, s->system_vendor);
	out->number[TW_PRIOR_THREADS] = known(s->threads_per_core);
	out->number[TW_PRIOR_MEMORY] = known(s->memory_gib);
	if (isnan(out->number[TW_PRIOR_MHZ]))
		out->number[TW_PRIOR_MHZ] = known(s->frequency_mhz);
	/* A hypervisor that hides the product makes up the rest, too. */
	if (s->chips == 0 || s->cores == 0 || id.how[TW_CPU_GENERATION] < TW_CPU_BY_NAME)
		return;
	/*
	 * A hypervisor may present a part of a chip. Chips are those of the machine only
	 * if they have as many cores as the product, or as many threads: threads of a
	 * core may be unknown, and of a hybrid processor only the large cores have two.
	 */
	counted = s->cores / threads / s->chips;
	if (isnan(*cores))
		*cores = cores_of_chip(out, counted);
	if (fabs(counted - *cores) < 0.01 * *cores ||
	    (s->threads_per_core != 1 && s->cores == s->chips * id.threads))
		out->number[TW_PRIOR_CHIPS] = s->chips;
}
