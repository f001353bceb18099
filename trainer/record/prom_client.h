/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PROM_CLIENT_H
#define TW_TRAINER_PROM_CLIENT_H

/*
 * Client of Prometheus' HTTP API: lists metric names, and reads samples of a range of
 * time into a spool. Answers are parsed as a stream.
 *
 * Temporary failures (no connection, an answer cut short, status 429 and 5xx) are
 * retried, after a growing delay or the server's Retry-After. For one thread.
 */

#include "lib/http/client/http.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_err;
struct tw_metric_choice;
struct tw_prom_client;
struct tw_spool;
struct tw_stop;
struct tw_strs;

/* Texts are borrowed and must outlive the client. */
struct tw_prom_client_config {
	const char *url; /* "http://localhost:9090", perhaps with a path */
	struct tw_http_access access;
	uint64_t timeout_ms; /* of one request */
	uint64_t retry_ms;   /* give up after this time without an answer */
	size_t answer_max;   /* bytes of one answer */
	struct tw_stop *stop;
	bool accept_partial; /* take answers that lack series, and say so */
	/* Called with the text of a failure that is retried, or of what a partial answer
	 * lacks; or NULL. */
	void (*say)(const char *text);
};

/* *out is the caller's: tw_prom_client_free(). */
int tw_prom_client_new(const struct tw_prom_client_config *config,
		       struct tw_prom_client **out, struct tw_err *err);
void tw_prom_client_free(struct tw_prom_client *c); /* NULL is fine */

/*
 * Times start, start + step, .. up to end. step_ms 0: the samples of (start, end] with
 * the times of their scrapes, so that nothing is repeated, as a range query repeats the
 * last sample of a gap.
 */
struct tw_prom_range {
	int64_t start_ms, end_ms, step_ms;
};

/*
 * Replace *out by the names of the chosen metrics, sorted and without repeats. match:
 * label matchers of PromQL, "instance=\"a\"", "job=~\"b|c\"".
 */
int tw_prom_client_names(struct tw_prom_client *c, const struct tw_strs *match,
			 const struct tw_prom_range *range,
			 const struct tw_metric_choice *choice, struct tw_strs *out,
			 struct tw_err *err);

struct tw_prom_count {
	uint64_t samples;    /* added to the spool */
	uint64_t not_finite; /* left out */
};

/*
 * Add a metric's samples to the spool and to *count. TW_UNSUPPORTED: the range exceeds a
 * limit of the server, or its answer exceeds answer_max; ask for a shorter one. Samples
 * that such a failure left in the spool are not added again.
 */
int tw_prom_client_range(struct tw_prom_client *c, const char *metric,
			 const struct tw_strs *match, const struct tw_prom_range *range,
			 struct tw_spool *spool, struct tw_prom_count *count,
			 struct tw_err *err);

/* The server's clock. */
int tw_prom_client_time(struct tw_prom_client *c, int64_t *now_ms, struct tw_err *err);

#endif /* TW_TRAINER_PROM_CLIENT_H */
