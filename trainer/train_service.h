/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_SERVICE_H
#define TW_TRAINER_TRAIN_SERVICE_H

/*
 * The training service: POST /train and GET /healthz (docs/tw-trainer.md).
 *
 * One training at a time, since one uses all CPUs; a few requests wait for their turn,
 * and those beyond are told to come again. What fails publishes nothing.
 */

#include "lib/http/httpd.h"
#include "trainer/extract/extract.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_train_service;

struct tw_train_service_config {
	const char *model_db; /* where pipelines are published; NULL: nowhere */
	enum tw_resets resets;
	unsigned threads; /* of a training; 0: one a CPU */
	uint64_t seed;
	unsigned queue; /* requests that may wait for their turn */
};

/* config's texts must live as long as the service. *out is yours:
 * tw_train_service_free(). */
int tw_train_service_new(const struct tw_train_service_config *config,
			 struct tw_train_service **out, struct tw_err *err);

/* For struct tw_httpd_config, whose app is the service. */
extern const struct tw_http_route *const tw_train_service_routes[];
extern const size_t tw_train_service_route_count;

/*
 * Begin no training any more, send those that wait away, and return once the one in
 * progress is done. Before the HTTP server is closed, so that it still is answered.
 */
void tw_train_service_stop(struct tw_train_service *s);

/* After the HTTP server has been closed. NULL is fine. */
void tw_train_service_free(struct tw_train_service *s);

#endif /* TW_TRAINER_TRAIN_SERVICE_H */
