/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_CHOOSE_H
#define TW_MODEL_DB_CHOOSE_H

/*
 * Which model answers a request: the keys of POST /model (docs/wire.md).
 *
 * Candidates are the models of the wanted source and output whose features the client
 * can all measure, that pass trainer, pipeline, node type and filter, and that the client
 * can use:
 *
 * - weights: of fit models only (model-db/fitness.h). Weights of a curve only if the
 *   request's first metric is the curve's; weights that are not plain
 *   (model-db/weights.h) only by the trainer's name; trees only for clients that name
 *   them in model_classes.
 * - a zip: a client that names no trainer gets no unfit model. A client that sends no
 *   model_classes gets trees where there are any, because kepler-model-server's
 *   estimator unpacks no other class; and never an ensemble.
 *
 * Among them the order is: models of the node type asked for; models of machines that
 * agree with all that is known of the machine, then of machines that resemble it, the
 * most alike first; then, for weights of AbsPower, models that give power at zero use
 * (model-db/weights.h); then the index's order of preference
 * (model-db/index/index_rank.h). A machine with at most half the cores of the model's
 * machine gets a model whose parts add up roughly, if there is one of the same machine. A
 * total order, so that the same database and request always give the same model.
 *
 * The time that a choice takes grows with the logarithm of the number of models, but for
 * what a filter passes over.
 */

#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "model-db/weights.h"
#include "profiler/spec.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_filter;
struct tw_index;
struct tw_index_entry;

struct tw_wanted {
	struct tw_strs metrics; /* what the client can measure; the names of today */
	unsigned old_names;     /* metrics that it calls otherwise: server/old_names.h */
	/* It may lack the counters among them (lib/field/feature.h): no model of these.
	 */
	bool counters_unproven;
	const struct tw_energy_source *source;
	enum tw_output output;
	char *trainer;       /* NULL: any. Exact */
	char *pipeline;      /* NULL: any. Exact */
	char *filter;        /* NULL: none. "mae:10;features:a,b" */
	long long node_type; /* -1: any */
	bool loose_node_type;
	struct tw_machine_spec spec;
	bool weight;    /* weights wanted, else the zip */
	bool classes;   /* the client said which model classes it reads */
	bool ensembles; /* it said that it reads ensembles */
	bool trees;     /* it said that it reads trees ("xgboost") */
	enum tw_client client;
};

/* Why a model's machine was taken. */
enum tw_match {
	TW_MATCH_ANY,       /* nothing spoke for another */
	TW_MATCH_SIMILAR,   /* it resembles the one that asked */
	TW_MATCH_SPEC,      /* it agrees with all that is known of that */
	TW_MATCH_NODE_TYPE, /* it was asked for by its number */
	TW_MATCH_COUNT
};

/* "any", "similar", "machine_spec", "node_type". */
const char *tw_match_name(enum tw_match m);

struct tw_choice {
	const struct tw_index_entry *entry;
	enum tw_match match;
};

/*
 * The model, or TW_NOTFOUND with a text that names the groups tried and why none
 * served; TW_INVALID for a filter that is none. Lives as long as the index.
 */
int tw_choose(const struct tw_index *x, const struct tw_wanted *w, struct tw_choice *out,
	      struct tw_err *err);

/*
 * The model of a source, output and group that is preferred, as GET /best-models lists
 * it; node_type -1 is any. NULL if there is none.
 */
const struct tw_index_entry *
tw_choose_best(const struct tw_index *x, const struct tw_energy_source *source,
	       enum tw_output output, const struct tw_feature_group *group,
	       long long node_type, const struct tw_filter *filter);

/* Free what w owns. */
void tw_wanted_release(struct tw_wanted *w);

#endif /* TW_MODEL_DB_CHOOSE_H */
