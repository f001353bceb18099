/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_SHOW_H
#define TW_SERVER_SHOW_H

/*
 * Routes of one model. The path begins with TW_SHOW_MODEL; an error names the part of the
 * path that does not exist.
 */

struct tw_err;
struct tw_http_reply;
struct tw_http_request;
struct tw_index;
struct tw_index_entry;
struct tw_service;

#define TW_SHOW_MODEL "/api/v1/models/{pipeline}/{source}/{output}/{group}/{model}"

/*
 * Write the reply about a model. TW_UNSUPPORTED, for a model without weights, is a 404.
 * After another failure the model is given up, and the reply is a 500.
 */
typedef int tw_show_fn(struct tw_index *x, const struct tw_index_entry *e,
		       const struct tw_http_request *q, struct tw_http_reply *r,
		       struct tw_err *err);

/*
 * Find the model that the path names. NULL: the error names the part of the path that
 * does not exist.
 */
const struct tw_index_entry *tw_show_find(const struct tw_index *x,
					  const struct tw_http_request *q,
					  const char *name, struct tw_err *err);

void tw_show_entry(struct tw_service *s, struct tw_index *x,
		   const struct tw_index_entry *e, const struct tw_http_request *q,
		   struct tw_http_reply *r, tw_show_fn *fn);

/* For handlers (lib/http/server/httpd.h), with their parameters. */
void tw_show_model(void *app, const struct tw_http_request *q, struct tw_http_reply *r,
		   tw_show_fn *fn);

#endif /* TW_SERVER_SHOW_H */
