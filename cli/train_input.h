/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TRAIN_INPUT_H
#define TW_CLI_TRAIN_INPUT_H

/*
 * What `tallywatt train` reads: Prometheus responses, or tables that were extracted
 * before, and what the machines are that were measured.
 */

#include "lib/field/dataset.h"
#include "trainer/fit/workloads.h"
#include "trainer/train.h"

struct tw_buf;
struct tw_err;
struct tw_prom;
struct tw_thirdparty;

/* All zero bytes is nothing. */
struct tw_train_input {
	struct tw_train_response *response;
	struct tw_prom **prom; /* of the responses */
	size_t responses;
	struct tw_dataset *data; /* of the tables */
	struct tw_train_table *table;
	size_t tables;
	struct tw_train_spec *spec; /* of named machines */
	size_t specs;
	struct tw_strs names; /* of machines and files */
	struct tw_workloads workloads;
	const struct tw_thirdparty *thirdparty; /* set by who fills it; or NULL */
};

/*
 * Each of files is PATH or MACHINE=PATH. *in is yours, on failure too; so with the
 * others.
 */
int tw_train_input_responses(struct tw_train_input *in, const struct tw_strs *files,
			     struct tw_err *err);

/*
 * Each of files is PATH or GROUP=PATH; where it names no group, `group` (may be NULL)
 * holds. Several of a group become one table, in order of time. Features of a group that
 * a table lacks are told in warnings, a line each.
 */
int tw_train_input_csv(struct tw_train_input *in, const struct tw_strs *files,
		       const struct tw_energy_source *source,
		       const struct tw_feature_group *group, struct tw_buf *warnings,
		       struct tw_err *err);

/*
 * Each of files is PATH or MACHINE=PATH, with "here" for this machine. Without a name it
 * is of the one machine that there is: *one, which is left as it was where there is none.
 */
int tw_train_input_specs(struct tw_train_input *in, const struct tw_strs *files,
			 struct tw_machine_spec *one, struct tw_err *err);

void tw_train_input_release(struct tw_train_input *in);

#endif /* TW_CLI_TRAIN_INPUT_H */
