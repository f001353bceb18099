/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_MEMBER_H
#define TW_TRAINER_TRAIN_MEMBER_H

/*
 * Members of a training request (docs/wire.md), and how the value of each is taken, event
 * by event. A part of trainer/train_request.c.
 */

#include "lib/core/strs.h"
#include "lib/json/jsax.h"
#include "trainer/train_request.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_prom_builder;

/* What the members' values are handed to. */
enum tw_train_member {
	TW_MEMBER_NOTHING, /* of a key that nobody knows */
	TW_MEMBER_NAME,
	TW_MEMBER_SOURCE,
	TW_MEMBER_VM_METRICS,
	TW_MEMBER_THIRDPARTY,
	TW_MEMBER_RESPONSE,
	TW_MEMBER_TRAINER,
	TW_MEMBER_ABS_TRAINERS,
	TW_MEMBER_DYN_TRAINERS,
	TW_MEMBER_ISOLATOR,
	TW_MEMBER_ISOLATOR_ARGS,
	TW_MEMBER_TARGET_HINTS,
	TW_MEMBER_BG_HINTS,
	TW_MEMBER_ABS_PIPELINE,
	TW_MEMBER_EXTRACTOR,
	TW_MEMBER_WINDOW,
	TW_MEMBER_IDLE,
	TW_MEMBER_COUNT
};

struct tw_train_reader {
	struct tw_jsax *parser;
	struct tw_train_request q;
	struct tw_prom_builder *builder; /* of the response being read */
	enum tw_train_member member;     /* whose value is being read */
	enum tw_train_member argument;   /* the same within isolator_args */
	unsigned depth;                  /* of that value */
	bool in_value;
	bool seen[TW_MEMBER_COUNT];
	struct tw_strs names; /* of third-party metrics */
	bool smooth;          /* the extractor is */
	uint32_t window;
};

/* "trainer.extractor", for errors. */
const char *tw_train_member_path(enum tw_train_member m);

/* Say that its value is not what is wanted: "a list". */
int tw_train_member_fail(enum tw_train_member m, const char *want, struct tw_err *err);

/*
 * What the event's key is; *out is TW_MEMBER_NOTHING where nobody knows it. TW_INVALID
 * where it is there for the second time.
 */
int tw_train_member_find(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 enum tw_train_member *out, struct tw_err *err);

/* One event of the value of r->member. */
int tw_train_member_take(struct tw_train_reader *r, const struct tw_jsax_event *e,
			 struct tw_err *err);

#endif /* TW_TRAINER_TRAIN_MEMBER_H */
