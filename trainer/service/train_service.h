/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_SERVICE_H
#define TW_TRAINER_TRAIN_SERVICE_H

/*
 * The HTTP service of tw-trainer (docs/tw-trainer.md): POST /train answers after the
 * training, POST /api/v1/train at once, with a job.
 */

#include "lib/http/server/expo.h"
#include "lib/http/server/httpd.h"
#include "trainer/service/trainings.h"

#include <stddef.h>

struct tw_buf;
struct tw_http_stats;
struct tw_train_service;

/*
 * stats counts the requests of the routes, for /metrics; or NULL. What config and stats
 * point to must outlive the service. *out is yours: tw_train_service_free().
 */
int tw_train_service_new(const struct tw_trainings_config *config,
			 const struct tw_http_stats *stats, struct tw_train_service **out,
			 struct tw_err *err);

/* The trainings of the service, for the trainer's own. */
struct tw_trainings *tw_train_service_trainings(struct tw_train_service *s);

extern const struct tw_expo_table tw_train_service_families[];

/*
 * Output of another part of the program. Functions are called from any thread, or NULL.
 */
struct tw_train_part {
	void *arg;
	void (*metrics)(void *arg, struct tw_expo *e); /* families of /metrics */
	void (*health)(void *arg, struct tw_buf *out); /* members of /healthz */
	void (*units)(void *arg, struct tw_buf *out);  /* entries of /api/v1/units */
};

#define TW_TRAIN_PARTS_MAX 2

/* Add a part, at most TW_TRAIN_PARTS_MAX. Before the server opens. */
void tw_train_service_add(struct tw_train_service *s, const struct tw_train_part *part);

/* Routes for struct tw_httpd_config; ->app is the service. */
extern const struct tw_http_route tw_train_service_routes[];
extern const size_t tw_train_service_route_count;

/*
 * Stop as tw_trainings_stop() does. Call it before the HTTP server is closed, so that the
 * requests of ended trainings are still answered.
 */
void tw_train_service_stop(struct tw_train_service *s);

/* Call it after the HTTP server is closed. NULL is fine. */
void tw_train_service_free(struct tw_train_service *s);

#endif /* TW_TRAINER_TRAIN_SERVICE_H */
