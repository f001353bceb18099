/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_RANK_H
#define TW_MODEL_DB_INDEX_RANK_H

/*
 * The machines of an index and the order of preference among its models, which decides
 * for a client that says nothing of its machine.
 *
 * Errors in watts compare models of one machine only: those of a server are larger than
 * those of a small board. So families (the models of one machine, source and output) are
 * ordered first:
 * 1. those of the pipelines in `prefer`, in that order;
 * 2. those with at least TW_RANK_ROWS_MIN samples;
 * 3. by the lowest relative error of their models that are not unfit;
 * 4. by the most samples;
 * 5. by pipeline, then node type.
 *
 * The models of a family are ordered by certificate (model-db/fitness.h, unfit models
 * last), then by error (TW_INDEX_ERROR in two digits, or the figure that replaces it),
 * fewest features, name and group. Figures that are not defined come last.
 */

struct tw_err;
struct tw_index;
struct tw_strs;

/* The relative error of fewer samples is not reliable. */
#define TW_RANK_ROWS_MIN 1000

/* List the machines of the entries, which are sorted, and set each entry's machine. */
int tw_index_find_machines(struct tw_index *x, struct tw_err *err);

/*
 * Rank the entries, whose machines are known: make by_rank and the families, set each
 * entry's error and rank. prefer may be NULL.
 */
int tw_index_rank(struct tw_index *x, const struct tw_strs *prefer, struct tw_err *err);

#endif /* TW_MODEL_DB_INDEX_RANK_H */
