/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_CPUINFO_H
#define TW_PROFILER_CPUINFO_H

/*
 * /proc/cpuinfo of x86, arm64 and POWER: what the processors call themselves.
 */

#include "profiler/spec.h"

#include <stddef.h>
#include <stdint.h>

struct tw_cpuinfo {
	char vendor[TW_SPEC_TEXT];    /* "genuineintel", "arm" */
	char processor[TW_SPEC_TEXT]; /* as tw_processor_name() gives it */
	/* The highest "cpu MHz", to the nearest 100: it is measured, and never twice the
	 * same. */
	uint32_t frequency_mhz;
};

/*
 * What data[0..len) says, of any bytes: what it does not say, or says in no known form,
 * stays unknown.
 */
void tw_cpuinfo_parse(const char *data, size_t len, struct tw_cpuinfo *out);

#endif /* TW_PROFILER_CPUINFO_H */
