/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_EXPLAIN_H
#define TW_MODEL_DB_EXPLAIN_H

/*
 * Why a request gets the model that it gets: POST /model?explain=1 (docs/tw-server.md).
 */

struct tw_buf;
struct tw_err;
struct tw_index;
struct tw_wanted;

/* Candidates that are told of; the best come first. */
#define TW_EXPLAIN_MAX 1000

/*
 * Append a JSON object: what is chosen and by what, with similarity, uncertainty and
 * looseness of its machine; each candidate of the source and output and why it lost; if
 * nothing is chosen, the error that the request gets. Takes time for every model of the
 * index.
 */
int tw_explain(const struct tw_index *x, const struct tw_wanted *w, struct tw_buf *out,
	       struct tw_err *err);

#endif /* TW_MODEL_DB_EXPLAIN_H */
