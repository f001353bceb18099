/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_MATCHER_H
#define TW_MODEL_DB_MATCHER_H

/*
 * Tests models of an index against one request: the keys of POST /model (docs/wire.md).
 *
 * A model matches if it is of the wanted source and output, the client measures all its
 * features, its pipeline, trainer, node type and figures are those asked for, and the
 * client can use it:
 *
 * - weights: of fit models only (model-db/fitness.h). Weights of a curve only if the
 *   request's first metric is the curve's; weights that are not plain
 *   (model-db/weights.h) only by the trainer's name; weights of trees only for clients
 *   that list them in model_classes.
 * - a zip: a client that names no trainer gets no unfit model, and an ensemble only if it
 *   lists ensembles in model_classes. A client that names a default trainer gets only
 *   models whose weights it would get.
 */

#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "model-db/index/filter.h"
#include "model-db/weights.h"
#include "profiler/likeness.h"
#include "profiler/spec.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_index;
struct tw_index_entry;
struct tw_index_machine;

/* Machines less similar than this are not similar at all: docs/model-db.md. */
#define TW_SIMILAR_ENOUGH 0.5

struct tw_wanted {
	struct tw_strs metrics; /* what the client measures, by today's names */
	unsigned old_names;     /* metrics that it calls otherwise: server/old_names.h */
	/* The client may lack the counters among them (lib/field/feature.h): ignore them.
	 */
	bool counters_unproven;
	const struct tw_energy_source *source;
	enum tw_output output;
	char *trainer;        /* NULL: any. Exact, unless default_trainer */
	bool default_trainer; /* Kepler's default name: any linear model */
	char *pipeline;       /* NULL: any. Exact */
	char *filter;         /* NULL: none. "mae:10;features:a,b" */
	long long node_type;  /* -1: any */
	bool loose_node_type;
	struct tw_machine_spec spec;
	bool spec_sent; /* the client sends a spec, even if all of it is unknown */
	bool weight;    /* weights, not the zip */
	bool classes;   /* the request has model_classes */
	bool ensembles; /* these list ensembles */
	bool trees;     /* these list "xgboost" */
	/* The client rejects a zip with a machine_spec: kepler-model-server 0.7.7 to
	 * 0.7.11. */
	bool no_spec;
	enum tw_client client;
};

/* Free what w owns. */
void tw_wanted_release(struct tw_wanted *w);

/*
 * Whether the answers will be of rows as a series: programs that read ensembles keep the
 * earlier rows of a node.
 */
bool tw_wanted_series(const struct tw_wanted *w);

/*
 * Whether Kepler 0.7.9 to 0.9 sends this name for a user who names no trainer
 * (docs/wire.md). From such a client, the name means any linear model. NULL is fine.
 */
bool tw_trainer_is_default(const char *trainer);

/* The first check that a model fails, in the order of the checks. */
enum tw_mismatch {
	TW_MISMATCH_PIPELINE = 1,
	TW_MISMATCH_TRAINER,
	TW_MISMATCH_METRIC,  /* the client does not measure a feature */
	TW_MISMATCH_MACHINE, /* the node type or machine differs and must not */
	TW_MISMATCH_CLIENT,  /* the client cannot use the model */
	TW_MISMATCH_FILTER,
	TW_MISMATCH_BROKEN, /* the model could not be read (index_use.h) */
	TW_MATCHES,
};

/* The last group that was checked, and the feature of it that the client lacks. */
struct tw_matcher_memo {
	const char *const *features;
	const char *missing;
};

struct tw_matcher {
	const struct tw_index *index;
	const struct tw_wanted *wanted;
	const struct tw_energy_source *source; /* the wanted one, or its substitute */
	struct tw_filter filter;
	/* Interned texts of the index; NULL: not asked for, or unknown to the index. */
	const char *pipeline, *trainer, *processor, *first_metric;
	const char **metric;
	size_t metrics;
	struct tw_matcher_memo *memo; /* by feature group: its models mostly agree */
	struct tw_likeness likeness;  /* of wanted->spec */
	bool spec_known;              /* of wanted->spec */
	bool exact_machine;           /* no other node type or machine will do */

	/* Further conditions, which the caller sets. */
	bool only_trees;
	bool any_linear;                          /* linear models of every trainer */
	const struct tw_index_machine *shares_of; /* models that serve a share of it */
};

/*
 * *m must be all zero; release it also after a failure. TW_INVALID for a malformed
 * filter. Borrows x and w.
 */
int tw_matcher_begin(struct tw_matcher *m, const struct tw_index *x,
		     const struct tw_wanted *w, struct tw_err *err);
void tw_matcher_release(struct tw_matcher *m);

/*
 * Check a model of the wanted source and output. *detail is the missing metric, the
 * reason why the client cannot use the model, or the filter's attribute; else NULL. It
 * lives as long as the index and the matcher.
 */
enum tw_mismatch tw_matcher_check(const struct tw_matcher *m,
				  const struct tw_index_entry *e, const char **detail);

/*
 * How similar the machine is to the request's: 1 if it agrees with all that the request
 * knows of it, else tw_likeness(). 0 if the request knows nothing.
 */
double tw_matcher_similarity(const struct tw_matcher *m,
			     const struct tw_index_machine *machine);

/* Whether the model comes after models without a bias, for this client. */
bool tw_matcher_yields(const struct tw_matcher *m, const struct tw_index_entry *e);

#endif /* TW_MODEL_DB_MATCHER_H */
