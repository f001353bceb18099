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
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_node_types;
struct tw_prom;
struct tw_time_span;
struct tw_thirdparty;
struct tw_workload_runs;

/* A table of node-level rows that were extracted earlier. */
struct tw_train_table {
	const struct tw_energy_source *source;
	const struct tw_feature_group *group;
	const struct tw_dataset *data; /* has at least one feature of the group */
	const char *origin;            /* file name for metadata and errors, or NULL */
};

/* A Prometheus response with the series of one machine or of several. */
struct tw_train_response {
	const struct tw_prom *prom; /* NULL: of machines that another share trains */
	const char *machine; /* name for a response without machine labels; or NULL */
	const char *origin;  /* file name; NULL only if there is one response */
	const struct tw_time_span
		*span; /* rows to train on (tw_extract_args); NULL: all */
	size_t spans;
};

/* The spec of one of several machines. */
struct tw_train_spec {
	const char *machine;
	struct tw_machine_spec spec;
};

/* A machine of a training of which this one is a share. */
struct tw_train_planned {
	const char *name; /* NULL: no name */
	struct tw_machine_spec spec;
	size_t node_type;
};

/* How far a training is. */
struct tw_train_progress {
	const char *stage; /* "extract", "isolate", "fit", "validate" or "pack" */
	size_t fits, of;   /* finished fits, and all fits, of the batch */
	/* Finished share of all fits, 0 to 1. Each batch counts by its share of the data.
	 */
	double fraction;
};

/* An observer of a training. The functions may be NULL, and are called by any thread. */
struct tw_train_watch {
	void (*progress)(void *arg, const struct tw_train_progress *at);
	/* Called before each task; it may wait. False: the training fails soon. */
	bool (*go_on)(void *arg);
	void *arg;
};

struct tw_train_job {
	const char *name; /* of the pipeline */
	const char *user; /* who trains, for the metadata; NULL: not known */
	const struct tw_train_response *responses;
	size_t response_count;
	/* Instead of responses; all tables are of one machine. */
	const struct tw_train_table *tables;
	size_t table_count;
	const struct tw_energy_source *source;  /* NULL: every source of the response */
	const struct tw_feature_group *group;   /* NULL: every group of the response */
	const struct tw_thirdparty *thirdparty; /* third-party metrics; or NULL */
	/* Names of trainers. An empty list: no models of that output type. */
	struct tw_strs abs_trainers, dyn_trainers;
	const struct tw_isolator *isolator;
	struct tw_isolation_config isolation; /* inputs of the isolator */
	enum tw_resets resets;
	uint32_t smooth;  /* window of the smooth extractor, rows; 0: default extractor */
	bool correct_lag; /* shift power by its lag behind the features */
	/* Train on guests, job="vm". Needs one machine, or ->machine. */
	bool vm_metrics;
	/* The machine to train on, or NULL: all. Also the name of the tables' machine. */
	const char *machine;
	struct tw_machine_spec spec;       /* if there is one machine */
	const struct tw_train_spec *specs; /* of several machines */
	size_t spec_count;
	/*
	 * All machines of the training of which this one is a share, in order of name;
	 * they have precedence over spec, specs and known. NULL: a whole training.
	 */
	const struct tw_train_planned *planned;
	size_t planned_count;
	/* Node types of the pipeline that the models are added to, or NULL. */
	const struct tw_node_types *known;
	const char *origin; /* of all data in the metadata; NULL: that of each input */
	uint64_t seed;
	unsigned threads; /* 0: as many as CPUs */
	unsigned folds;   /* blocks of time; 0: 5 */
	/* Limit of numbers in memory for data trained at the same time. 0: 8 Mi. */
	size_t batch_cells;
	const struct tw_train_watch *watch; /* or NULL */
	/*
	 * Alternative folds to validate with, too: one for each of these workloads or
	 * for each response, and shuffled rows.
	 */
	const struct tw_workload_runs *workloads;
	bool by_response, shuffled;
	/* Fit as kepler-model-server does, for comparison, without constraints. */
	bool unconstrained;
	/* Train on the first share / shares of the rows. shares 0: on all. */
	unsigned share, shares;
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
