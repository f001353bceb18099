/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TRAIN_PROGRESS_H
#define TW_CLI_TRAIN_PROGRESS_H

/* Progress lines of a training, on stderr. */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct tw_train_progress {
	const char *program; /* begins each line */
	uint64_t start_ns;
	_Atomic uint64_t next_ns; /* of the next line; shared by the threads */
};

void tw_train_progress_start(struct tw_train_progress *p, const char *program);

/* A `progress` of struct tw_train_job; its argument is a struct tw_train_progress. */
void tw_train_progress_show(void *arg, size_t fits, size_t of);

#endif /* TW_CLI_TRAIN_PROGRESS_H */
