/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_CHOOSE_H
#define TW_MODEL_DB_CHOOSE_H

/*
 * The choice of the model that answers a request.
 *
 * Among the models that match (model-db/index/matcher.h) the order is:
 * 1. models of the node type that the request asks for by number;
 * 2. models of machines that agree with all that the request knows of the machine, then
 *    of similar machines, the most alike first (profiler/likeness.h);
 * 3. of equally similar machines, the node type with more members;
 * 4. for weights of AbsPower, models that give power at zero use (model-db/weights.h);
 * 5. models whose mean error is small (tw_model_is_biased()), or whose error is clearly
 *    smaller than that of each such model of their machine;
 * 6. the index's order of preference (model-db/index/index_rank.h).
 *
 * The order is total: the same database and request always give the same model. There
 * are two exceptions to it. A client that names no trainer and sends no model_classes
 * gets trees where there are any, because kepler-model-server's estimator reads only
 * trees and linear models. A machine with at most half the cores of the model's machine
 * gets, if there is one, a model of the same machine that serves shares.
 *
 * A choice scans the families of the index (struct tw_index_family) in order of rank and
 * reads the models only of families that can still win. tests/bench/choose.c measured the
 * scan against a former index with binary searches. Time of the scan over theirs:
 *
 *	models	machines	by node type	by spec	any	no match
 *	180	3		0.7		0.7	0.6	1.1
 *	1920	32		0.8		0.8	0.7	2.7
 *	19200	320		2.3		2.2	0.6	36
 *
 * A choice among 19,200 models takes about 1 us. A request that no model matches takes
 * about 60 us there, because its explanation reads every model of the source and output.
 */

#include "model-db/index/matcher.h"

struct tw_err;
struct tw_index;
struct tw_index_entry;
struct tw_model;

/* How the chosen model's machine fits the request. */
enum tw_match {
	TW_MATCH_ANY,       /* not similar, or the request knows nothing of its machine */
	TW_MATCH_SIMILAR,   /* similar */
	TW_MATCH_SPEC,      /* agrees with all that the request knows of its machine */
	TW_MATCH_NODE_TYPE, /* has the node type that was asked for */
	TW_MATCH_COUNT
};

/* "any", "similar", "machine_spec", "node_type". */
const char *tw_match_name(enum tw_match m);

struct tw_choice {
	const struct tw_index_entry *entry;
	enum tw_match match;
};

/*
 * Choose a model. TW_NOTFOUND if no model matches: the text names the feature groups and
 * why the models of each do not match. TW_INVALID for a malformed filter. The entry lives
 * as long as the index.
 */
int tw_choose(const struct tw_index *x, const struct tw_wanted *w, struct tw_choice *out,
	      struct tw_err *err);

/* As tw_choose() with a matcher of the caller; out->entry is NULL if no model matches. */
void tw_choose_matching(struct tw_matcher *m, struct tw_choice *out);

/* Fail with TW_NOTFOUND and the reasons, as tw_choose() does. */
int tw_choose_not_found(const struct tw_matcher *m, struct tw_err *err);

/*
 * The preferred model of a source, output and group, as GET /best-models lists it;
 * node_type -1 is any. NULL if there is none.
 */
const struct tw_index_entry *
tw_choose_best(const struct tw_index *x, const struct tw_energy_source *source,
	       enum tw_output output, const struct tw_feature_group *group,
	       long long node_type, const struct tw_filter *filter);

/*
 * Make the prior's model for a request, of the machine of its spec. chosen is the
 * measured machine's model that tw_choose() chose, or NULL.
 *
 * TW_NOTFOUND if the chosen model has to answer: the request names a trainer, a pipeline,
 * a node type or a filter; the chosen machine has the same processor; there is no prior;
 * or too little is known of the machine.
 * TW_INVALID if no model should answer: the spec names no processor or no number of CPUs,
 * so that the chosen model is of any machine, and the prior cannot answer this client; or
 * the machine is a mainframe.
 * *out must be all zero; it is yours: tw_model_release().
 */
int tw_choose_prior(const struct tw_index *x, const struct tw_wanted *w,
		    const struct tw_choice *chosen, struct tw_model *out,
		    struct tw_err *err);

/*
 * All names of output types in requests, and the client generation that each name implies
 * (docs/wire.md, "Client generations").
 */
struct tw_output_name {
	const char *name;
	enum tw_output output;
	bool weight;           /* implied value of "weight", before that key existed */
	enum tw_client client; /* implied form of the weights, for Kepler up to 0.5.3 */
};

/* NULL if there is none. */
const struct tw_output_name *tw_output_name_find(const char *name, size_t len);

#endif /* TW_MODEL_DB_CHOOSE_H */
