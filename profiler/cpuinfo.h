/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_CPUINFO_H
#define TW_PROFILER_CPUINFO_H

/*
 * Parsers of what the kernel and the firmware tell of the processor: /proc/cpuinfo of
 * x86, arm64 and POWER, and SMBIOS.
 */

#include "profiler/cpu_identity.h"
#include "profiler/spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CPUID's brand text has 48 bytes. */
#define TW_CPU_BRAND_MAX 128

struct tw_cpuinfo {
	char vendor[TW_SPEC_TEXT];    /* "genuineintel", "arm" */
	char processor[TW_SPEC_TEXT]; /* normalised by tw_processor_name() */
	char brand[TW_CPU_BRAND_MAX]; /* "model name" as printed, cut if it is longer */
	struct tw_cpu_signature signature;
	/* The highest "cpu MHz", rounded to 100 because the kernel measures it. */
	uint32_t frequency_mhz;
	uint32_t cpus;             /* online logical CPUs */
	uint32_t chips;            /* with an online CPU, of the first 64 */
	uint32_t threads_per_core; /* "siblings" over "cpu cores" */
};

/*
 * Parse data[0..len), any bytes. Values that are missing or malformed stay unknown.
 */
void tw_cpuinfo_parse(const char *data, size_t len, struct tw_cpuinfo *out);

/*
 * The processor's names in the firmware's SMBIOS (DMI) tables: the structure of type 4 of
 * DMTF's SMBIOS specification, which /sys/firmware/dmi/entries/4-0/raw contains.
 */
struct tw_smbios_processor {
	/* Point into the parsed data; not NUL-terminated. Length 0 if missing. */
	const char *vendor, *version;
	size_t vendor_len, version_len;
};

/* False unless data[0..len) is such a structure. */
bool tw_smbios_processor_parse(const char *data, size_t len,
			       struct tw_smbios_processor *out);

#endif /* TW_PROFILER_CPUINFO_H */
