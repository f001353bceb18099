/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PROM_CLIENT_H
#define TW_TRAINER_PROM_CLIENT_H

/*
 * A Prometheus server, or what speaks its HTTP API: names of metrics, and samples of a
 * range of time into a spool. Answers are read as a stream.
 *
 * What may be over in a while (no connection, an answer cut short, status 429 and 5xx) is
 * tried again, at growing intervals or as the server's Retry-After says. For one thread.
 */

#include "lib/http/http.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_prom_client;
struct tw_spool;
struct tw_stop;
struct tw_strs;

/* Texts are borrowed, and live as long as the client. */
struct tw_prom_client_config {
	const char *url; /* "http://localhost:9090", perhaps with a path */
	struct tw_http_access access;
	uint64_t timeout_ms; /* of one request */
	uint64_t retry_ms;   /* how long nothing may come before it gives up */
	size_t answer_max;   /* bytes of one answer */
	struct tw_stop *stop;
	/* A failure that is tried again; or NULL. */
	void (*say)(const char *text);
};

/* *out is yours: tw_prom_client_free(). */
int tw_prom_client_new(const struct tw_prom_client_config *config,
		       struct tw_prom_client **out, struct tw_err *err);
void tw_prom_client_free(struct tw_prom_client *c); /* NULL is fine */

/* Samples at start, start + step, .. up to end. */
struct tw_prom_range {
	int64_t start_ms, end_ms, step_ms;
};

/* Called with each name of a metric. */
typedef int tw_prom_name_fn(void *arg, const char *name, size_t len, struct tw_err *err);

/* match: label matchers as PromQL writes them, "instance=\"a\"", "job=~\"b|c\"". */
int tw_prom_client_names(struct tw_prom_client *c, const struct tw_strs *match,
			 const struct tw_prom_range *range, tw_prom_name_fn *fn,
			 void *arg, struct tw_err *err);

struct tw_prom_count {
	uint64_t samples;    /* that were added */
	uint64_t not_finite; /* that were left out */
};

/*
 * Adds to *count. TW_UNSUPPORTED: the server says that this is too much at once: ask for
 * a part of it next.
 */
int tw_prom_client_range(struct tw_prom_client *c, const char *metric,
			 const struct tw_strs *match, const struct tw_prom_range *range,
			 struct tw_spool *spool, struct tw_prom_count *count,
			 struct tw_err *err);

#endif /* TW_TRAINER_PROM_CLIENT_H */
