/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_MACHINE_TABLE_H
#define TW_TRAINER_MACHINE_TABLE_H

/*
 * Machines with measured wall power over load, from CSV: the columns of published
 * SPECpower_ssj2008 results (docs/machines.md). Unknown columns are ignored; an empty
 * cell is unknown.
 */

#include "model-db/prior/prior.h"
#include "profiler/spec.h"

#include <stddef.h>

struct tw_err;

struct tw_measured_machine {
	struct tw_prior_machine machine;
	struct tw_machine_spec spec; /* as a client would send it */
	double w[TW_PRIOR_LOADS];
	int year;         /* of the hardware, else of the publication */
	size_t processor; /* number of the CPU model, from 0 */
};

/* All zero bytes is empty. */
struct tw_machine_table {
	struct tw_measured_machine *machine; /* by year */
	size_t count;
	size_t processors;
};

/*
 * *out must be empty; it is yours. Errors name line and column. Power must be above 0 and
 * full power above idle power.
 */
int tw_machine_table_read(const char *data, size_t len, struct tw_machine_table *out,
			  struct tw_err *err);
int tw_machine_table_load(const char *path, struct tw_machine_table *out,
			  struct tw_err *err);
void tw_machine_table_release(struct tw_machine_table *t);

#endif /* TW_TRAINER_MACHINE_TABLE_H */
