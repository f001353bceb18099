/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_SERVICE_H
#define TW_TRAINER_TRAIN_SERVICE_H

/*
 * The training service: POST /train and GET /healthz (docs/tw-trainer.md).
 *
 * One training runs at a time, because it uses all CPUs. A few requests wait in a queue;
 * if it is full, a request gets 503 with Retry-After. A failed training publishes
 * nothing.
 */

#include "lib/http/httpd.h"
#include "trainer/extract/extract.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_signer;
struct tw_train_service;

struct tw_train_service_config {
	const char *model_db; /* model database to publish in; NULL: do not publish */
	const struct tw_signer *signer; /* signs what is published; NULL: nobody */
	enum tw_resets resets;
	unsigned threads; /* threads of a training; 0: as many as CPUs */
	uint64_t seed;
	unsigned queue; /* limit of waiting requests */
};

/*
 * The texts of config must outlive the service. *out is yours:
 * tw_train_service_free().
 */
int tw_train_service_new(const struct tw_train_service_config *config,
			 struct tw_train_service **out, struct tw_err *err);

/* Routes for struct tw_httpd_config; ->app is the service. */
extern const struct tw_http_route *const tw_train_service_routes[];
extern const size_t tw_train_service_route_count;

/*
 * Stop: waiting requests get 503, and the function returns once the running training is
 * done. Call it before the HTTP server is closed, so that the training is still answered.
 */
void tw_train_service_stop(struct tw_train_service *s);

/* Call it after the HTTP server is closed. NULL is fine. */
void tw_train_service_free(struct tw_train_service *s);

#endif /* TW_TRAINER_TRAIN_SERVICE_H */
