/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_UNIT_FILE_H
#define TW_TRAINER_UNIT_FILE_H

/*
 * The file of tw-trainer --unit (docs/unit.md, "Live"): units of work to evaluate again
 * and again.
 *
 *	{"window":"24h","every":"10m","units":[
 *	 {"name":"chat","energy":["joules_total{namespace=\"chat\"}"],
 *	  "work":["prefill=prompt_tokens_total","decode=tokens_total"],"idle":"3.5"}]}
 *
 * Unknown keys are errors.
 */

#include "trainer/unit/unit_data.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;

#define TW_UNIT_FILE_UNITS 32
#define TW_UNIT_FILE_NAME 64

struct tw_unit_spec {
	char name[TW_UNIT_FILE_NAME];
	struct tw_unit_ask ask;
};

/* All zero bytes is empty. */
struct tw_unit_file {
	uint64_t window_ms, every_ms;
	struct tw_unit_spec *unit;
	size_t count;
};

/* Read and check all of the file. Errors name the file and the place in it. */
int tw_unit_file_read(const char *path, struct tw_unit_file *out, struct tw_err *err);
void tw_unit_file_release(struct tw_unit_file *f);

#endif /* TW_TRAINER_UNIT_FILE_H */
