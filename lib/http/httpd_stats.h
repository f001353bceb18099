/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_HTTPD_STATS_H
#define TW_HTTPD_STATS_H

/*
 * What an HTTP server counts of its requests: how many, by route and status, and how long
 * they took from their headers to the start of their answer. Thread-safe, without locks.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_expo;
struct tw_http_route;
struct tw_http_stats;

/* For these routes, which must outlive it. *out is yours: tw_http_stats_free(). */
int tw_http_stats_new(const struct tw_http_route *const *routes, size_t count,
		      struct tw_http_stats **out, struct tw_err *err);
void tw_http_stats_free(struct tw_http_stats *s); /* NULL is fine */

/* Count a request; route NULL: it was for none. s may be NULL. */
void tw_http_stats_add(struct tw_http_stats *s, const struct tw_http_route *route,
		       unsigned status, uint64_t ns);

/* A connection came (1) or went (-1). */
void tw_http_stats_connection(struct tw_http_stats *s, int change);

/* Write them as metrics: tw_http_.. */
void tw_http_stats_write(const struct tw_http_stats *s, struct tw_expo *e);

#endif /* TW_HTTPD_STATS_H */
