/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SCRAPE_H
#define TW_TRAINER_SCRAPE_H

/*
 * One scrape of an exporter's /metrics into a spool, with the labels that Prometheus
 * would store: __name__, and `instance` with the target's name; an exporter's own
 * `instance` becomes `exported_instance`. A malformed answer adds nothing.
 */

#include "lib/http/client/http.h"

#include <pthread.h>
#include <stdint.h>

struct tw_err;
struct tw_metric_choice;
struct tw_spool;

/* Owns its texts. */
struct tw_target {
	char *name; /* the label `instance` */
	char *url;
};

/* Parse "[NAME=]URL". The default path is /metrics, the default name host and port. */
int tw_target_parse(const char *text, struct tw_target *out, struct tw_err *err);
void tw_target_release(struct tw_target *t);

struct tw_scrape {
	const struct tw_target *target;
	const struct tw_metric_choice *choice;
	const struct tw_http_access *access;
	struct tw_http *session;
	uint64_t timeout_ms;
	size_t answer_max;
	bool (*stopped)(void *arg);
	void *stopped_arg;
};

struct tw_scrape_count {
	uint64_t samples;
	uint64_t not_finite, repeated; /* samples left out */
};

/* Scrape the target. lock is taken to use the spool. *out counts this scrape only. */
int tw_scrape_run(const struct tw_scrape *s, int64_t time_ms, struct tw_spool *spool,
		  pthread_mutex_t *lock, struct tw_scrape_count *out, struct tw_err *err);

#endif /* TW_TRAINER_SCRAPE_H */
