/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_STATS_H
#define TW_HTTPD_STATS_H

/*
 * Metrics of an HTTP server: requests by route and status, their durations from the end
 * of the headers to the start of the answer, open connections. Thread-safe, without
 * locks.
 */

#include "lib/http/server/expo.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_http_reply;
struct tw_http_request;
struct tw_http_route;
struct tw_http_stats;

/* The routes must outlive it. *out is yours: tw_http_stats_free(). */
int tw_http_stats_new(const struct tw_http_route *routes, size_t count,
		      struct tw_http_stats **out, struct tw_err *err);
void tw_http_stats_free(struct tw_http_stats *s); /* NULL is fine */

/* Count a request; route NULL: no route matched. s may be NULL. */
void tw_http_stats_add(struct tw_http_stats *s, const struct tw_http_route *route,
		       unsigned status, uint64_t ns);

/* Count a connection that opened (1) or closed (-1). s may be NULL. */
void tw_http_stats_connection(struct tw_http_stats *s, int change);

/* Write the metrics tw_build_info, and tw_http_... unless s is NULL. */
void tw_http_stats_write(const struct tw_http_stats *s, const char *program,
			 struct tw_expo *e);
extern const struct tw_expo_table tw_http_families[];

/* Answer GET /metrics, in the format of the request. */
void tw_http_reply_metrics(const struct tw_http_request *q, struct tw_http_reply *r,
			   void (*write)(void *arg, struct tw_expo *e), void *arg);

#endif /* TW_HTTPD_STATS_H */
