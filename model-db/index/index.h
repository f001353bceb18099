/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_H
#define TW_MODEL_DB_INDEX_H

/*
 * The model database in memory: what there is, made from the directories alone, so
 * that losing it loses nothing. Immutable after it is made, but for what is found out
 * about models in use (model-db/index/index_use.h); counted references let a reload
 * swap it under requests in progress.
 *
 * Of a model the index reads what a choice needs: metadata.json and, of kinds whose
 * components are a few hundred bytes, what their weights say. The rest is looked at when
 * the model is used.
 */

#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "model-db/fitness.h"
#include "model-db/weights.h"
#include "profiler/node_types.h"
#include "profiler/spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_index;
struct tw_strs;

/* A machine that models are of: a node type of a pipeline. */
struct tw_index_machine {
	const char *pipeline;
	long long node_type;
	/* From node_type_index.json, else from its models; all zero: unknown. */
	struct tw_machine_spec spec;
	size_t members; /* machines of this type that were measured; at least 1 */
};

/* Texts of an index are kept once: equal texts have equal addresses. */
struct tw_index_entry {
	const char *pipeline;
	const char *name, *trainer, *predictor;
	const struct tw_energy_source *source;
	enum tw_output output;
	const struct tw_feature_group *group;
	const char *const *features; /* of all components together, sorted */
	size_t feature_count;
	long long node_type;
	const struct tw_machine_spec *spec; /* as the model itself has it */
	double mae_w, mape_percent;         /* NAN: not defined */
	double error; /* by which models of a machine are compared: the lower the better
		       */
	const char *const *figure_names; /* sorted: metadata's other numbers */
	const double *figures;
	size_t figure_count;

	const char *zip_path;
	uint64_t zip_bytes; /* of the file */
	uint64_t zip_sum;   /* tw_zip_list_sum() */

	unsigned weights_for;     /* tw_weights_clients(); 0 of an unfit model */
	const char *first_metric; /* tw_weights_first_metric() */
	bool floor;               /* struct tw_weights_shape */
	enum tw_fitness fitness;
	const char *unfit_why;
	bool serves_shares; /* also a machine that is a small share of the model's */

	const struct tw_index_machine *machine;
	uint32_t rank; /* place in the order of preference: docs/model-db.md, "Choice" */
	uint32_t kind, part; /* model-db/index/index_order.h */
};

struct tw_index_pipeline {
	const char *name;
	char *metadata; /* metadata.json as it is; NULL: none */
	size_t metadata_len;
	struct tw_node_types types; /* node_type_index.json */
	size_t first, count;        /* its models */
};

/* A broken model is left out and told to this; the others are served. */
typedef void tw_index_refused_fn(void *arg, const char *path, const struct tw_err *why);

/* What is preferred (docs/model-db.md, "Choice"). All zero bytes: as it is by itself. */
struct tw_index_preference {
	const struct tw_strs *pipelines; /* these, in this order; NULL: none */
	const char *error; /* models of a machine by this figure; NULL: "mae" */
};

/*
 * Read <db>/<pipeline>/<source>/<output>/<group>/<model>.zip. An empty or absent
 * database is an empty index. prefer may be NULL. *out is yours: tw_index_unref().
 */
int tw_index_load_preferring(const char *db, const struct tw_index_preference *prefer,
			     tw_index_refused_fn *refused, void *arg,
			     struct tw_index **out, struct tw_err *err);

/* The same without preference. */
int tw_index_load(const char *db, tw_index_refused_fn *refused, void *arg,
		  struct tw_index **out, struct tw_err *err);

/* The figure that tw_index_entry.error is of. */
const char *tw_index_error_key(const struct tw_index *x);

size_t tw_index_count(const struct tw_index *x);
/* In order of pipeline, source, output, group, name. Lives as long as the index. */
const struct tw_index_entry *tw_index_at(const struct tw_index *x, size_t i);
/* NULL if there is no such model. */
const struct tw_index_entry *tw_index_find(const struct tw_index *x, const char *pipeline,
					   const struct tw_energy_source *source,
					   enum tw_output output,
					   const struct tw_feature_group *group,
					   const char *name);

/* Those that have models, in order of name. */
size_t tw_index_pipeline_count(const struct tw_index *x);
const struct tw_index_pipeline *tw_index_pipeline_at(const struct tw_index *x, size_t i);
const struct tw_index_pipeline *tw_index_pipeline_find(const struct tw_index *x,
						       const char *name);

/* In order of pipeline, then number. */
size_t tw_index_machine_count(const struct tw_index *x);
const struct tw_index_machine *tw_index_machine_at(const struct tw_index *x, size_t i);

/*
 * A number of the model's metadata, or NaN: mae, mape, any other by its key, or else the
 * worst of the components' figures of that name ("r2": package_r2, dram_r2 ..).
 */
double tw_index_figure(const struct tw_index_entry *e, const char *name);

/* Of figures of this name the larger is the better one. */
bool tw_index_figure_more_is_better(const char *name);

struct tw_index *tw_index_ref(struct tw_index *x); /* thread-safe */
void tw_index_unref(struct tw_index *x);           /* thread-safe; NULL is fine */

#endif /* TW_MODEL_DB_INDEX_H */
