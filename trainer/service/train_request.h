/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_REQUEST_H
#define TW_TRAINER_TRAIN_REQUEST_H

/*
 * The body of POST /train (docs/wire.md), parsed as a stream. An invalid member is
 * rejected as soon as it has been read, before the rest of the body. Unknown keys are
 * skipped. A known key must have the right type and may appear once.
 */

#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "trainer/response/thirdparty.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_isolator;
struct tw_prom;

/* Limit of names in each list of the request. */
#define TW_TRAIN_REQUEST_TRAINERS_MAX 64

struct tw_train_request {
	char *name; /* name of the pipeline, checked with tw_name_check() */
	char *user; /* who asks; NULL: not known. The reader leaves it NULL */
	const struct tw_energy_source *source;
	/* Known names. At least one of both lists has entries. */
	struct tw_strs abs_trainers, dyn_trainers;
	const struct tw_isolator *isolator;
	struct tw_strs target_hints, bg_hints; /* hints for the isolator */
	uint32_t smooth; /* window of the smooth extractor, rows; 0: default extractor */
	char *abs_pipeline; /* pipeline with the isolator's models; or NULL */
	bool vm_metrics;
	struct tw_thirdparty thirdparty;
	struct tw_prom *response;
	struct tw_prom *idle; /* response of the idle machines; or NULL */
};

void tw_train_request_release(struct tw_train_request *q);

struct tw_train_reader;

/* A reader of one request. *out is yours: tw_train_reader_free(). */
int tw_train_reader_new(struct tw_train_reader **out, struct tw_err *err);

/* Parse the next bytes of the body. After a failure only _free may be called. */
int tw_train_reader_feed(struct tw_train_reader *r, const char *data, size_t len,
			 struct tw_err *err);

/*
 * Finish parsing at the end of the body. TW_INVALID names a missing member. *out must be
 * all zero; it is yours: tw_train_request_release().
 */
int tw_train_reader_end(struct tw_train_reader *r, struct tw_train_request *out,
			struct tw_err *err);

void tw_train_reader_free(struct tw_train_reader *r); /* NULL is fine */

#endif /* TW_TRAINER_TRAIN_REQUEST_H */
