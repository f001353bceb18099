/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_MODELS_NET_H
#define TW_ESTIMATOR_MODELS_NET_H

/*
 * Inside of models.h: the calls of its network thread.
 */

struct tw_err;
struct tw_http_answer;
struct tw_models;
struct tw_models_key;

/* Of one call. */
#define TW_MODELS_CALL_MS 4000

/* Any status is a success. *out is yours: tw_http_answer_release(). */
/* etag: as in struct tw_http_call. */
int tw_models_ask_server(const struct tw_models *m, const struct tw_models_key *k,
			 const char *etag, struct tw_http_answer *out,
			 struct tw_err *err);

#endif /* TW_ESTIMATOR_MODELS_NET_H */
