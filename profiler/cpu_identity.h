/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_CPU_IDENTITY_H
#define TW_PROFILER_CPU_IDENTITY_H

/*
 * The identity of a processor, from its brand text and signature: vendor,
 * micro-architecture, generation, process, memory, and the published figures of one chip.
 * Rules and tables, with their sources: profiler/data.
 */

#include "profiler/name.h"

#include <stddef.h>
#include <stdint.h>

struct tw_machine_spec;

/* ---- facts that vendors publish: text is NULL and numbers are 0 where unknown ---- */

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

/* A product. Cores, threads and power are those of one chip. */
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
/* By a canonical name: the rules of names.csv. */
const struct tw_cpu_generation *tw_cpu_generation_of_name(const char *processor);
const struct tw_arm_part *tw_arm_part_find(uint32_t implementer, uint32_t part);

/* For tests of the tables: entry i, NULL behind the last. */
const struct tw_cpu_generation *tw_cpu_generation_at(size_t i);
const struct tw_cpu_product *tw_cpu_product_at(size_t i);
const char *tw_cpu_pattern_at(size_t i, const char **generation);

/* How a field is known. */
enum tw_cpu_evidence {
	TW_CPU_UNKNOWN,
	/* Of most processors of that signature or text. Also the model that a hypervisor
	 * presents; the host may be a newer one. */
	TW_CPU_LIKELY,
	TW_CPU_BY_SIGNATURE, /* CPUID or MIDR_EL1 */
	TW_CPU_BY_NAME,      /* the name has it, or a rule for such names */
	TW_CPU_BY_TABLE      /* the published figure of this product */
};

enum tw_cpu_field {
	TW_CPU_VENDOR,
	TW_CPU_ARCHITECTURE,
	TW_CPU_GENERATION,
	TW_CPU_PROCESS,
	TW_CPU_MEMORY,
	TW_CPU_LOW_POWER,
	TW_CPU_NOMINAL_MHZ,
	TW_CPU_TURBO_MHZ,
	TW_CPU_CORES,
	TW_CPU_THREADS,
	TW_CPU_TDP,
	TW_CPU_FIELDS
};

/*
 * Unknown text is "", never NULL; an unknown number is 0. The texts are constants. `how`
 * tells an unknown field from a known "" (a processor without a low-power suffix).
 */
struct tw_cpu_identity {
	/*
	 * The canonical name: tw_processor_name() with other spellings of the same
	 * product made equal ("Intel E3-1260L v5" is "intel_xeon_e3_1260lv5").
	 */
	char processor[TW_SPEC_TEXT];
	const char *vendor;       /* "intel", "amd", "ampere" */
	const char *architecture; /* "ice_lake", "zen3", "neoverse_n1" */
	const char *generation;   /* "ice_lake_sp", "milan", "graviton2" */
	const char *memory;       /* "ddr4" */
	const char *low_power;    /* "l", "he", "ee"; "" is a common one */
	uint32_t process_nm; /* as the vendor names it; Intel 7 is 10, Intel 3 is 3 */
	uint32_t nominal_mhz, turbo_mhz;
	uint32_t cores, threads; /* of one chip; threads with SMT on */
	uint32_t tdp_w;          /* of one chip */
	enum tw_cpu_evidence how[TW_CPU_FIELDS];
};

/*
 * Identify a processor by brand[0..len), any bytes: "model name" of /proc/cpuinfo,
 * SMBIOS, a data sheet's or SPECpower's spelling, or a normalised name. sig may be NULL.
 * Unknown brands and signatures are allowed. Reads no files.
 */
void tw_cpu_identify(const char *brand, size_t len, const struct tw_cpu_signature *sig,
		     struct tw_cpu_identity *out);

/* TDP of all processors of a machine, W; 0: not known. */
double tw_machine_tdp_w(const struct tw_machine_spec *s);

/* "table", "name", "signature", "likely", "unknown". */
const char *tw_cpu_evidence_name(enum tw_cpu_evidence how);

#endif /* TW_PROFILER_CPU_IDENTITY_H */
