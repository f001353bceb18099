/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_REQUEST_H
#define TW_TRAINER_TRAIN_REQUEST_H

/*
 * The body of POST /train (docs/wire.md), read as a stream: what is wrong with a small
 * member is told as soon as that member has been read, without the rest. Unknown keys are
 * passed over; known ones must be what they should be, once.
 */

#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "trainer/extract/thirdparty.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_isolator;
struct tw_prom;

/* Most names in a list of trainers. */
#define TW_TRAIN_REQUEST_TRAINERS_MAX 64

struct tw_train_request {
	char *name; /* of the pipeline; checked */
	const struct tw_energy_source *source;
	struct tw_strs abs_trainers, dyn_trainers; /* known names; not both empty */
	const struct tw_isolator *isolator;
	struct tw_strs target_hints, bg_hints; /* for the isolator */
	uint32_t smooth;    /* window of the smooth extractor; 0: the default one */
	char *abs_pipeline; /* whose models the isolator uses; checked, or NULL */
	bool vm_metrics;
	struct tw_thirdparty thirdparty;
	struct tw_prom *response;
	struct tw_prom *idle; /* NULL where there is none */
};

void tw_train_request_release(struct tw_train_request *q);

struct tw_train_reader;

/* *out is yours: tw_train_reader_free(). */
int tw_train_reader_new(struct tw_train_reader **out, struct tw_err *err);

/* The next bytes of the body. After a failure the reader only takes _free. */
int tw_train_reader_feed(struct tw_train_reader *r, const char *data, size_t len,
			 struct tw_err *err);

/* No more bytes. *out must be all zero; it is yours: tw_train_request_release(). */
int tw_train_reader_end(struct tw_train_reader *r, struct tw_train_request *out,
			struct tw_err *err);

void tw_train_reader_free(struct tw_train_reader *r); /* NULL is fine */

#endif /* TW_TRAINER_TRAIN_REQUEST_H */
