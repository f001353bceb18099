/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_SPEC_H
#define TW_PROFILER_SPEC_H

/*
 * A machine spec: the attributes by which models are matched to machines. 0 and "" mean
 * unknown; all zero bytes is an unknown machine.
 */

#include "profiler/name.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_field_own;

struct tw_machine_spec {
	char vendor[TW_SPEC_TEXT];    /* "authenticamd" */
	char processor[TW_SPEC_TEXT]; /* "intel_xeon_platinum_8259cl" */
	uint32_t cores;               /* logical CPUs */
	uint32_t chips;
	uint32_t memory_gib;
	uint32_t frequency_mhz;
	uint32_t threads_per_core;
	char system_vendor[TW_SPEC_TEXT]; /* of the machine: "dell" */
};

/*
 * From the object of the wire contract (docs/wire.md). Any key may be missing, null, 0 or
 * -1; a number may be text ("4") or 4.0. TW_INVALID, with the key's path, for text that
 * is not a number. The processor loses its number of cores (tw_processor_drop_cores()).
 * `where` is the object's path in errors.
 */
int tw_machine_spec_from_json(const json_t *obj, const char *where,
			      struct tw_machine_spec *out, struct tw_err *err);

/* A value of that object, other than null, from a stream parser. */
struct tw_spec_value {
	const char *kind; /* its JSON type, for errors: "a list" */
	const char *text; /* not NUL-terminated; NULL if it is not text */
	size_t len;
	bool is_number;
	double number;
};

/*
 * The same, one member at a time. *seen is a set of the members so far; it starts as 0.
 * TW_INVALID for a member given twice. Unknown keys are ignored.
 */
int tw_machine_spec_take(struct tw_machine_spec *s, unsigned *seen, const char *key,
			 const struct tw_spec_value *v, const char *where,
			 struct tw_err *err);

/* Make that object, with whole numbers (clients reject 4.0). NULL without memory. */
json_t *tw_machine_spec_to_json(const struct tw_machine_spec *s);

/* A member "machine_spec" or the like of a record (lib/json/fields.h). */
extern const struct tw_field_own tw_machine_spec_own;

/* Whether at least one attribute is known. */
bool tw_machine_spec_known(const struct tw_machine_spec *s);

#endif /* TW_PROFILER_SPEC_H */
