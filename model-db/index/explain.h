/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_EXPLAIN_H
#define TW_MODEL_DB_EXPLAIN_H

/* Explains the choice of a model: POST /model?explain=1 (docs/tw-server.md). */

struct tw_buf;
struct tw_err;
struct tw_index;
struct tw_wanted;

/* The number of candidates listed, in order of preference. */
#define TW_EXPLAIN_MAX 1000

/*
 * Append a JSON object: the chosen model with the match, similarity, uncertainty and
 * looseness of its machine, or the error of the request; and each candidate of the source
 * and output with the reason why it lost. Reads every model of the index.
 */
int tw_explain(const struct tw_index *x, const struct tw_wanted *w, struct tw_buf *out,
	       struct tw_err *err);

#endif /* TW_MODEL_DB_EXPLAIN_H */
