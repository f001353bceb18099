/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_SHOW_H
#define TW_SERVER_SHOW_H

/*
 * Routes of one model, whose path begins with TW_SHOW_MODEL: the model is found by its
 * place, or the answer says which part of that names nothing.
 */

struct tw_err;
struct tw_http_reply;
struct tw_http_request;
struct tw_index;
struct tw_index_entry;
struct tw_service;

#define TW_SHOW_MODEL "/api/v1/models/{pipeline}/{source}/{output}/{group}/{model}"

/*
 * What is told of a model. A failure is the model's: it is given up, and answered 500;
 * TW_UNSUPPORTED, that it has no weights, 404.
 */
typedef int tw_show_fn(struct tw_index *x, const struct tw_index_entry *e,
		       const struct tw_http_request *q, struct tw_http_reply *r,
		       struct tw_err *err);

/* The model of that name at the place that the path says. NULL: an error says which part
 * of the path names nothing. */
const struct tw_index_entry *tw_show_find(const struct tw_index *x,
					  const struct tw_http_request *q,
					  const char *name, struct tw_err *err);

void tw_show_entry(struct tw_service *s, struct tw_index *x,
		   const struct tw_index_entry *e, const struct tw_http_request *q,
		   struct tw_http_reply *r, tw_show_fn *fn);

/* For a handler of lib/http/httpd.h, whose parameters it gets. */
void tw_show_model(void *app, const struct tw_http_request *q, struct tw_http_reply *r,
		   tw_show_fn *fn);

#endif /* TW_SERVER_SHOW_H */
