/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PRIOR_MACHINE_H
#define TW_MODEL_DB_PRIOR_MACHINE_H

/*
 * The known facts about a machine whose power nobody has measured. Training and serving
 * make it by the same function, so that a feature means the same in both.
 */

#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_machine_spec;

enum tw_prior_number {
	TW_PRIOR_CORES, /* physical, of one chip */
	TW_PRIOR_CHIPS,
	TW_PRIOR_TDP,     /* W, of one chip */
	TW_PRIOR_MEMORY,  /* GiB */
	TW_PRIOR_MHZ,     /* nominal */
	TW_PRIOR_SUPPLY,  /* W, rating of one power supply */
	TW_PRIOR_PROCESS, /* nm */
	TW_PRIOR_THREADS, /* of one core */
	TW_PRIOR_FACTS,
	/*
	 * W that were measured, for a calibration (trainer/machines/posterior.h): the one
	 * at the highest load first. Not in files.
	 */
	TW_PRIOR_READ = TW_PRIOR_FACTS,
	TW_PRIOR_NUMBERS = TW_PRIOR_READ + 4
};

#define TW_PRIOR_READINGS_MAX (TW_PRIOR_NUMBERS - TW_PRIOR_READ)

enum tw_prior_category {
	TW_PRIOR_VENDOR,
	TW_PRIOR_GENERATION, /* a key of generations.csv; of an architecture or a brand,
				too */
	TW_PRIOR_MEMORY_TYPE,
	TW_PRIOR_LOW_POWER, /* "low", "ee"; "-": a common processor */
	TW_PRIOR_SYSTEM,    /* vendor of the system */
	TW_PRIOR_GENERATION_SYSTEM,
	TW_PRIOR_PROCESSOR,
	TW_PRIOR_CATEGORIES
};

#define TW_PRIOR_TEXT 96

struct tw_prior_machine {
	double number[TW_PRIOR_NUMBERS];                   /* NaN: unknown */
	char category[TW_PRIOR_CATEGORIES][TW_PRIOR_TEXT]; /* "": unknown */
};

/* The machine of a brand text or normalised name; all that the name tells. */
void tw_prior_machine_of_name(const char *processor, struct tw_prior_machine *out);

/* Replace the generation, or the memory type, by the one before it. False: none is known.
 */
bool tw_prior_generation_before(struct tw_prior_machine *m);
bool tw_prior_memory_before(struct tw_prior_machine *m);

/* Set the vendor of the system by its first word: "Dell Inc." is "dell". */
void tw_prior_machine_set_system(struct tw_prior_machine *m, const char *vendor);

/*
 * The machine of a spec. Cores of the spec are logical. On a virtual machine, whose
 * sockets are unknown or made up, the number of chips stays unknown: see
 * tw_prior_answer() for shares.
 */
void tw_prior_machine_of_spec(const struct tw_machine_spec *s,
			      struct tw_prior_machine *out);

#endif /* TW_MODEL_DB_PRIOR_MACHINE_H */
