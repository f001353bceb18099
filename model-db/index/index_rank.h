/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_INDEX_RANK_H
#define TW_MODEL_DB_INDEX_RANK_H

/*
 * The order in which models are preferred by who says nothing of his machine. For
 * model-db/index*.c only.
 *
 * Errors in watts compare models of one machine; between a server and a small board they
 * say which draws less. So machines are ordered first, for each source and output: those
 * of the pipelines in `prefer`, in that order; those measured well, by TW_RANK_ROWS_MIN
 * samples or more; the lowest relative error of their models; the most samples; the name
 * of the pipeline; the number. Then the models of a machine: lowest error (mae, or the
 * figure that was chosen instead), fewest features,
 * name, group. What is not defined comes last.
 */

#include <stddef.h>

struct tw_err;
struct tw_index;
struct tw_index_entry;
struct tw_strs;

/* Fewer samples than these say little, however small their error. */
#define TW_RANK_ROWS_MIN 1000

/* Sort all of the index's entries and set their rank. */
int tw_index_rank(const struct tw_index *x, const struct tw_strs *prefer,
		  struct tw_index_entry **all, struct tw_err *err);

#endif /* TW_MODEL_DB_INDEX_RANK_H */
