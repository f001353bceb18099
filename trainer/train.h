/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_H
#define TW_TRAINER_TRAIN_H

/*
 * Training of a pipeline: responses or datasets in, the pipeline's files out.
 *
 * For each source, feature group, output type and trainer: fit each component, judge
 * by blocked folds through the estimator's own predictors, make the model. A
 * trainer that fails, or data that lacks a metric, gives a row with its reason and
 * does not stop the others; a response that is wrong in itself fails the whole. Of
 * several machines (trainer/train_machines.h) each has its own models, of a node type of
 * its own, which are those that it alone would give. What several responses have of one
 * machine is put together in order of time; no rate is taken across two of them.
 */

#include "isolator/isolator.h"
#include "lib/core/strs.h"
#include "lib/zip/fileset.h"
#include "profiler/spec.h"
#include "trainer/extract/extract.h"
#include "trainer/fit/trainer.h"
#include "trainer/isolation.h"

#include <stdint.h>

struct tw_err;
struct tw_node_types;
struct tw_prom;
struct tw_thirdparty;
struct tw_workloads;

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
	const struct tw_workloads *workloads;
	bool by_response, shuffled;
	unsigned share, shares; /* only the first share / shares of the rows; 0: all */
};

/* One model that was made, or was not. */
struct tw_train_row {
	const char *source, *output, *group, *trainer; /* static texts; "-": of none */
	const char *machine; /* the response's text; NULL: not told */
	size_t node_type;
	double mae_w, mape_percent; /* as in the metadata */
	size_t rows;
	char failure[256]; /* "" if there is a model */
	char note[256];    /* what of the validation could not be done; "" if nothing */
};

struct tw_train_result {
	struct tw_fileset pipeline; /* model-db/pipeline.h */
	struct tw_train_row *row;
	size_t rows;
	size_t models;   /* rows without a failure */
	size_t machines; /* node types */
	/* Wall time of the stages, ns. Fit and validate run on several threads. */
	uint64_t extract_ns, isolate_ns, fit_ns, pack_ns;
};

/*
 * *out must be all zero; it is yours: tw_train_result_release(). Fails where no model
 * at all could be made, with the first reason.
 */
int tw_train(const struct tw_train_job *job, struct tw_train_result *out,
	     struct tw_err *err);

void tw_train_result_release(struct tw_train_result *r);

#endif /* TW_TRAINER_TRAIN_H */
