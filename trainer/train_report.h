/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_REPORT_H
#define TW_TRAINER_TRAIN_REPORT_H

/*
 * What a training came to, for people.
 */

#include <stdint.h>

struct tw_buf;
struct tw_train_result;

/* Wall time of what happens around tw_train(), ns. */
struct tw_train_times {
	uint64_t parse_ns, publish_ns, total_ns;
};

/* A line for each model that was made, or was not, and one with the stages' times. */
void tw_train_report(const struct tw_train_result *r, const struct tw_train_times *t,
		     struct tw_buf *out);

#endif /* TW_TRAINER_TRAIN_REPORT_H */
