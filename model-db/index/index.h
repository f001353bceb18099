/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_H
#define TW_MODEL_DB_INDEX_H

/*
 * The model database in memory. It is made from the database's directories alone
 * (model-db/index/index_load.h), so losing it loses nothing.
 *
 * An index does not change after it is loaded, except for the state of models in use
 * (model-db/index/index_use.h). References are counted: a reload swaps the index while
 * requests still use the old one.
 *
 * Of each model the index holds what a choice needs: the metadata, and the facts about
 * its weights if the components are small. The rest is read when the model is used.
 */

#include "lib/core/arena.h"
#include "lib/core/intern.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "model-db/fitness.h"
#include "model-db/prior/prior.h"
#include "model-db/weights.h"
#include "profiler/node_types.h"
#include "profiler/likeness.h"
#include "profiler/spec.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of one model's zip. */
#define TW_INDEX_ZIP_BYTES_MAX ((size_t)64 << 20)

/* A machine that models were trained on: a node type of a pipeline. */
struct tw_index_machine {
	const char *pipeline;
	long long node_type;
	/* Spec from node_type_index.json, else from its models; all zero: unknown. */
	struct tw_machine_spec spec;
	const char *processor;       /* the canonical name, interned */
	struct tw_likeness likeness; /* of the spec */
	size_t members;              /* measured machines of this type; at least 1 */
};

/* Texts of an index are interned: equal texts have equal addresses. */
struct tw_index_entry {
	const char *pipeline;
	const char *name, *trainer, *predictor;
	const struct tw_energy_source *source;
	enum tw_output output;
	const struct tw_feature_group *group;
	const char *const *features; /* of all components, sorted; interned, too */
	size_t feature_count;
	long long node_type;
	const struct tw_machine_spec *spec; /* as the model's metadata has it */
	double mae_w, mape_percent;         /* NAN: not defined */
	double error; /* compares the models of a machine; lower is better */
	/* For clients of series: of that form or, if it has none, of single rows. */
	double series_error;
	const char *const *figure_names; /* sorted: the other numbers of the metadata */
	const double *figures;
	size_t figure_count;

	const char *zip_path;
	uint64_t zip_bytes; /* of the file */
	uint64_t zip_sum;   /* tw_zip_list_sum() */

	unsigned weights_for;     /* tw_weights_clients(); 0 of an unfit model */
	const char *first_metric; /* tw_weights_first_metric() */
	bool idle_power;          /* struct tw_weights_shape */
	enum tw_fitness fitness;
	const char *unfit_why;
	bool biased;        /* tw_model_is_biased() */
	bool yields;        /* biased: it comes after models that are not. Single rows */
	bool series_yields; /* the same for clients of series */
	bool has_details;   /* in metadata.json: tw_model_has_details() */
	bool serves_shares; /* also serves a machine that is a small share of its own */

	const struct tw_index_machine *machine;
	uint32_t rank; /* place in the order of preference: docs/model-db.md, "Choice" */
};

/* The models of one machine, source and output: neighbours in the order of preference. */
struct tw_index_family {
	const struct tw_index_machine *machine;
	const struct tw_energy_source *source;
	enum tw_output output;
	const struct tw_index_entry *const *model; /* the most preferred first */
	/* The same models, the most preferred by a client that sends series first. */
	const struct tw_index_entry *const *by_series;
	size_t count;
};

struct tw_index_pipeline {
	const char *name;
	char *metadata; /* bytes of metadata.json; NULL: there is no such file */
	size_t metadata_len;
	struct tw_node_types types; /* node_type_index.json */
	size_t first, count;        /* its models: tw_index_at(first) .. */
};

/* A text that stays in memory with the index. */
struct tw_index_cached {
	size_t len;
	char text[];
};

/* The state of a model in use, for model-db/index/index_use.c only. */
struct tw_index_state {
	_Atomic(struct tw_index_cached *) weights[TW_CLIENT_COUNT];
	_Atomic(struct tw_index_cached *) zip;
	atomic_bool checked;  /* the zip was read and is whole */
	atomic_bool proved;   /* tw_index_prove() succeeded */
	atomic_uint given_up; /* a bit for each client, one for defaults, one for all */
};

/* Fields are for model-db/index; other rooms call the functions below, and read prior. */
struct tw_index {
	atomic_uint refs;
	struct tw_intern texts;
	struct tw_arena arena;

	struct tw_index_entry *entry; /* by pipeline, source, output, group, name */
	size_t count;
	size_t size;                  /* allocated entries */
	struct tw_index_state *state; /* parallel to entry */
	atomic_size_t cached_bytes;
	atomic_bool any_given_up; /* false: no state needs a look */

	struct tw_index_pipeline *pipeline; /* by name */
	size_t pipeline_count;
	struct tw_index_machine *machine; /* by pipeline, then node type */
	size_t machine_count;

	struct tw_prior prior; /* without views: the database has none */

	const char *error_key;
	const struct tw_index_entry **by_rank, **by_series;
	struct tw_index_family *family; /* in order of rank */
	size_t family_count;
};

/*
 * The default figure of tw_index_entry.error: the blocked error together with the error
 * at rest, mae + |idle_bias| in W, of the worst component. A component without idle_bias
 * counts with its mae; a model without errors of components with its own mae.
 */
#define TW_INDEX_ERROR "mae+rest"
/*
 * The default figure of tw_index_entry.series_error. It includes the rows at rest. With
 * mae+rest, these rows, a twentieth, would count as much as all rows together, and rank
 * models of guests by chance.
 */
#define TW_INDEX_SERIES_ERROR "mae"

/* The figure that tw_index_entry.error is made from, or .series_error. */
const char *tw_index_error_key(const struct tw_index *x, bool series);

size_t tw_index_count(const struct tw_index *x);
/* In order of pipeline, source, output, group, name. Lives as long as the index. */
const struct tw_index_entry *tw_index_at(const struct tw_index *x, size_t i);
/* Bring the entries into that order; for model-db/index/index_load.c only. */
void tw_index_sort(struct tw_index *x);
/* The source whose models serve clients of `wanted`: itself, or its substitute if only
 * that has models of the output (tw_energy_source_substitute()). */
const struct tw_energy_source *tw_index_source(const struct tw_index *x,
					       const struct tw_energy_source *wanted,
					       enum tw_output output);
/* NULL if there is no such model. */
const struct tw_index_entry *tw_index_find(const struct tw_index *x, const char *pipeline,
					   const struct tw_energy_source *source,
					   enum tw_output output,
					   const struct tw_feature_group *group,
					   const char *name);

/* Pipelines with at least one model, in order of name. */
size_t tw_index_pipeline_count(const struct tw_index *x);
const struct tw_index_pipeline *tw_index_pipeline_at(const struct tw_index *x, size_t i);
const struct tw_index_pipeline *tw_index_pipeline_find(const struct tw_index *x,
						       const char *name);

/* In order of pipeline, then node type. */
size_t tw_index_machine_count(const struct tw_index *x);
const struct tw_index_machine *tw_index_machine_at(const struct tw_index *x, size_t i);

/* Whether the model has weights for the client. */
bool tw_index_has_weights(const struct tw_index_entry *e, enum tw_client client);

/* Whether only Tallywatt's own estimator reads the model. */
bool tw_index_is_ensemble(const struct tw_index_entry *e);

/* Whether it is in XGBoost's own form, which kepler-model-server's estimator reads. */
bool tw_index_is_trees(const struct tw_index_entry *e);
bool tw_index_is_linear(const struct tw_index_entry *e);

/*
 * A number of the model's metadata by its key; else the worst of the components' figures
 * of that name ("r2": package_r2, dram_r2 ..); else NaN.
 */
double tw_index_figure(const struct tw_index_entry *e, const char *name);

/* The figure of rows as a series; NaN: the model has no form for them. */
double tw_index_series_figure(const struct tw_index_entry *e, const char *name);

/*
 * mae + |bias| in W, of the worst component; series: of rows as a series, if the model
 * has a form for them.
 */
double tw_index_biased_error(const struct tw_index_entry *e, bool series);

/* Whether a larger figure of this name is better: abs_max_corr and r2. */
bool tw_index_figure_more_is_better(const char *name);

struct tw_index *tw_index_ref(struct tw_index *x); /* thread-safe */
void tw_index_unref(struct tw_index *x);           /* thread-safe; NULL is fine */

#endif /* TW_MODEL_DB_INDEX_H */
