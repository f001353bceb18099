/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_CHOOSE_PRIOR_H
#define TW_MODEL_DB_CHOOSE_PRIOR_H

/*
 * The choice between the prior of machines (model-db/prior/prior.h) and the models of
 * measured machines: docs/model-db.md, "Choice".
 */

struct tw_choice;
struct tw_err;
struct tw_index;
struct tw_model;
struct tw_wanted;

/*
 * Make the prior's model for a request, of the machine of its spec. chosen is the
 * measured machine's model that tw_choose() chose, or NULL.
 *
 * TW_NOTFOUND if the chosen model has to answer: the request names a trainer, a pipeline,
 * a node type or a filter; the chosen machine has the same processor; there is no prior;
 * or too little is known of the machine. *out must be all zero; it is yours:
 * tw_model_release().
 */
int tw_choose_prior(const struct tw_index *x, const struct tw_wanted *w,
		    const struct tw_choice *chosen, struct tw_model *out,
		    struct tw_err *err);

#endif /* TW_MODEL_DB_CHOOSE_PRIOR_H */
