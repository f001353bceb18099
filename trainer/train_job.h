/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_JOB_H
#define TW_TRAINER_TRAIN_JOB_H

/*
 * A training job: the data to train on, the trainers, and the options. All pointers are
 * borrowed and must outlive the training.
 */

#include "isolator/isolator.h"
#include "lib/core/strs.h"
#include "profiler/spec.h"
#include "trainer/extract/extract.h"
#include "trainer/isolation.h"

#include <jansson.h>
#include <stdint.h>

struct tw_err;
struct tw_node_types;
struct tw_prom;
struct tw_thirdparty;
struct tw_workload_runs;

/* Node-level data that was extracted before. */
struct tw_train_table {
	const struct tw_energy_source *source;
	const struct tw_feature_group *group;
	const struct tw_dataset *data; /* features: those of the group that it has */
	const char *origin;            /* what to call it: its file's name, or NULL */
};

/* One recording, of one machine or of several. */
struct tw_train_response {
	const struct tw_prom *prom;
	const char *machine; /* whose it is, where it does not tell itself; or NULL */
	const char *origin;  /* what to call it: its file's name; NULL only if alone */
};

/* What one of several machines is. */
struct tw_train_spec {
	const char *machine;
	struct tw_machine_spec spec;
};

struct tw_train_job {
	const char *name; /* of the pipeline; checked */
	const struct tw_train_response *responses;
	size_t response_count;
	const struct tw_train_table *tables; /* instead of responses: of one machine */
	size_t table_count;
	const struct tw_energy_source *source;  /* NULL: each that the response has */
	const struct tw_feature_group *group;   /* NULL: each that the response has */
	const struct tw_thirdparty *thirdparty; /* beside those of its groups; or NULL */
	struct tw_strs abs_trainers, dyn_trainers; /* names; empty: no such models */
	const struct tw_isolator *isolator;
	struct tw_isolation_config isolation; /* what it is told beside the data */
	enum tw_resets resets;
	uint32_t smooth;     /* window of the smooth extractor; 0: the default one */
	bool vm_metrics;     /* then there is one machine, or one is named */
	const char *machine; /* only this one, or that of tables; NULL: all */
	struct tw_machine_spec spec; /* of the one machine that was measured, if known */
	const struct tw_train_spec *specs; /* of several */
	size_t spec_count;
	const struct tw_node_types *known; /* of the pipeline that is added to, or NULL */
	const char *origin; /* where all data is from; NULL: as each calls itself */
	uint64_t seed;
	unsigned threads; /* 0: one a CPU */
	unsigned folds;   /* 0: 5 */
	/* Numbers that data trained at the same time may have: for tests. 0: 64 MiB. */
	size_t batch_cells;
	/* Called after each fit, from any of the threads; NULL: nobody asks. */
	void (*progress)(void *arg, size_t fits, size_t of);
	void *progress_arg;
	/* Judge by leaving workloads out too: these, or each response as one; or by
	 * shuffled rows. */
	const struct tw_workload_runs *workloads;
	bool by_response, shuffled;
	unsigned share, shares; /* only the first share / shares of the rows; 0: all */
};

/*
 * Check names, texts and trainers. TW_INVALID names the first that is wrong, TW_NOTFOUND
 * a third-party metric that no input has.
 */
int tw_train_job_check(const struct tw_train_job *job, struct tw_err *err);

/*
 * The options of the job that the models depend on: train_arguments.json of a pipeline,
 * with the keys of kepler-model-server where it has them. NULL without memory.
 */
json_t *tw_train_job_arguments(const struct tw_train_job *job);

/* "a.json,b.json": the origins of all inputs, or null. NULL without memory. */
json_t *tw_train_job_origins(const struct tw_train_job *job);

#endif /* TW_TRAINER_TRAIN_JOB_H */
