/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_SPEC_H
#define TW_PROFILER_SPEC_H

/*
 * What a machine is: the attributes by which models are matched to machines.
 * 0 and "" mean unknown; all zero bytes is a machine of which nothing is known.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
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
 * The processor is taken without a number of cores (tw_processor_drop_cores()).
 * `where` is for errors.
 */
int tw_machine_spec_from_json(const json_t *obj, const char *where,
			      struct tw_machine_spec *out, struct tw_err *err);

/* A value of the wire's object that is not null, as a parser finds it. */
struct tw_spec_value {
	const char *kind; /* "a list", for errors */
	const char *text; /* NULL: it is none; not NUL-terminated */
	size_t len;
	bool is_number;
	double number;
};

/*
 * The same, member by member: *seen, which begins as 0, tells those that were given; one
 * that is given twice is TW_INVALID. A key that is not known is passed over.
 */
int tw_machine_spec_take(struct tw_machine_spec *s, unsigned *seen, const char *key,
			 const struct tw_spec_value *v, const char *where,
			 struct tw_err *err);

/* The wire's object, whole numbers only (clients refuse 4.0). NULL without memory. */
json_t *tw_machine_spec_to_json(const struct tw_machine_spec *s);

/* Whether anything is known. */
bool tw_machine_spec_known(const struct tw_machine_spec *s);

#endif /* TW_PROFILER_SPEC_H */
