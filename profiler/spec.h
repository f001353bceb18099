/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_SPEC_H
#define TW_PROFILER_SPEC_H

/*
 * What a machine is: the attributes by which models are matched to machines.
 * 0 and "" mean unknown; all zero bytes is a machine of which nothing is known.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct tw_err;

#define TW_SPEC_TEXT 64

struct tw_machine_spec {
	char vendor[TW_SPEC_TEXT];    /* "authenticamd" */
	char processor[TW_SPEC_TEXT]; /* "intel_xeon_platinum_8259cl" */
	uint32_t cores;               /* logical CPUs */
	uint32_t chips;
	uint32_t memory_gib;
	uint32_t frequency_mhz;
	uint32_t threads_per_core;
};

/*
 * From the wire's object (docs/wire.md): any key may be missing, null, 0 or -1; numbers
 * may come as text ("4") or as 4.0. A number that is none is TW_INVALID with its path.
 * `where` is for errors.
 */
int tw_machine_spec_from_json(const json_t *obj, const char *where,
			      struct tw_machine_spec *out, struct tw_err *err);

/* The wire's object, whole numbers only (clients refuse 4.0). NULL without memory. */
json_t *tw_machine_spec_to_json(const struct tw_machine_spec *s);

/* Whether anything is known. */
bool tw_machine_spec_known(const struct tw_machine_spec *s);

#endif /* TW_PROFILER_SPEC_H */
