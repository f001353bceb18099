/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_CPU_FACTS_H
#define TW_PROFILER_CPU_FACTS_H

/*
 * Facts about processors that vendors publish: the tables of profiler/data, whose README
 * has the columns and the sources. Text fields are NULL and numbers 0 where unknown.
 */

#include "profiler/name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The numbers by which a processor names itself. x86: vendor, and CPUID's family (with
 * the extended family), model and stepping as /proc/cpuinfo prints them. arm64:
 * implementer and part of MIDR_EL1. All zero bytes is unknown.
 */
struct tw_cpu_signature {
	char vendor[TW_SPEC_TEXT]; /* "genuineintel" */
	uint32_t family, model, stepping;
	uint32_t implementer, part;
};

/* Processors of one design and platform. Several keys may be of one architecture. */
struct tw_cpu_generation {
	const char *key;
	const char *name;   /* NULL: only the architecture is known */
	const char *vendor; /* "intel" */
	const char *architecture;
	uint32_t process_nm;
	const char *memory; /* "ddr4" */
	const char *after;  /* key of the generation before it */
};

/* One product. Cores, threads and power are those of one chip. */
struct tw_cpu_product {
	const char *processor; /* canonical: tw_cpu_identify() */
	uint32_t cores, threads;
	uint32_t nominal_mhz, turbo_mhz;
	uint32_t tdp_w;
};

/* An Arm core, by the register MIDR_EL1. */
struct tw_arm_part {
	uint32_t implementer, part;
	const char *name;       /* "Neoverse-N1" */
	const char *generation; /* a key */
};

/* Each NULL if the table has no such entry. */
const struct tw_cpu_generation *tw_cpu_generation_find(const char *key);
const struct tw_cpu_product *tw_cpu_product_find(const char *processor);
const struct tw_arm_part *tw_arm_part_find(uint32_t implementer, uint32_t part);

/* The generation of a canonical name, NULL if no pattern matches. */
const struct tw_cpu_generation *tw_cpu_generation_of_name(const char *processor);

/*
 * The generation of a CPUID signature or MIDR_EL1; NULL if unknown. *likely: other
 * generations of the same architecture have that signature, too.
 */
const struct tw_cpu_generation *
tw_cpu_generation_of_signature(const struct tw_cpu_signature *sig, bool *likely);

/* A brand text that a hypervisor made up, or that only old processors print. */
struct tw_cpu_brand {
	const struct tw_cpu_generation *generation; /* NULL: unknown */
	bool is_virtual;
};

/*
 * Find a brand text: lower case, with '_' for each run of other characters than letters,
 * digits and '@'. False if no pattern matches.
 */
bool tw_cpu_brand_find(const char *brand, struct tw_cpu_brand *out);

/* For tests of the tables: entry i, NULL behind the last. */
const struct tw_cpu_generation *tw_cpu_generation_at(size_t i);
const struct tw_cpu_product *tw_cpu_product_at(size_t i);
const char *tw_cpu_pattern_at(size_t i, const char **generation);

#endif /* TW_PROFILER_CPU_FACTS_H */
