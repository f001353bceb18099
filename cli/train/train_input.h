/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TRAIN_INPUT_H
#define TW_CLI_TRAIN_INPUT_H

/*
 * The input of `tallywatt train`: Prometheus responses, or extracted tables, and what the
 * options name beside them: specs of the measured machines, workloads, the isolator's
 * files, and the node types of the published pipeline.
 */

#include "cli/cmd_isolation.h"
#include "cli/train/input_cache.h"
#include "lib/field/dataset.h"
#include "profiler/node_types.h"
#include "trainer/fit/workload_runs.h"
#include "trainer/train.h"

struct tw_err;
struct tw_thirdparty;

/* All zero bytes is empty. */
struct tw_train_input {
	struct tw_train_response *response;
	struct tw_prom **prom;
	const char **path; /* of the responses: paths or URLs */
	size_t responses;
	struct tw_dataset *data; /* names of the tables' files */
	struct tw_train_table *table;
	size_t tables;
	struct tw_train_spec *spec; /* specs of named machines */
	size_t specs;
	struct tw_strs names; /* names of machines and files */
	struct tw_workload_runs workloads;
	struct tw_isolation_input isolation;
	struct tw_node_types known;
	/* Set by the caller. */
	const struct tw_thirdparty *thirdparty; /* or NULL */
	struct tw_input_cache cache;
};

/*
 * Name the responses without reading them: files or URLs, each PATH or MACHINE=PATH. *in
 * is yours, also after a failure, as in the functions below.
 */
int tw_train_input_name(struct tw_train_input *in, const struct tw_strs *files,
			struct tw_err *err);

/*
 * Read a response. sha256 (or NULL) is its expected digest; digest, unless NULL, is set.
 */
int tw_train_input_load(struct tw_train_input *in, size_t response, const char *sha256,
			char *digest, struct tw_err *err);

/* Free the responses that are read; their names stay. */
void tw_train_input_unload(struct tw_train_input *in);

/* Name and read the responses. */
int tw_train_input_responses(struct tw_train_input *in, const struct tw_strs *files,
			     struct tw_err *err);

/*
 * Read tables, each PATH or GROUP=PATH; `group` (may be NULL) is the default. Tables of
 * one group become one table in order of time. A warning names features of a group that a
 * table lacks. expected (or NULL): the files' digests; digests, unless NULL, is set.
 */
int tw_train_input_csv(struct tw_train_input *in, const struct tw_strs *files,
		       const struct tw_energy_source *source,
		       const struct tw_feature_group *group, struct tw_buf *warnings,
		       const struct tw_strs *expected, struct tw_strs *digests,
		       struct tw_err *err);

/*
 * Read specs, each PATH or MACHINE=PATH; the path "here" is this machine. A spec without
 * a name is that of the only machine, *one, which is unchanged without such a spec.
 */
int tw_train_input_specs(struct tw_train_input *in, const struct tw_strs *files,
			 struct tw_machine_spec *one, struct tw_err *err);

void tw_train_input_release(struct tw_train_input *in);

#endif /* TW_CLI_TRAIN_INPUT_H */
