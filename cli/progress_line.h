/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_PROGRESS_LINE_H
#define TW_CLI_PROGRESS_LINE_H

/* Progress lines of a training on this machine, on stderr. */

#include "trainer/train_job.h"

#include <stdatomic.h>
#include <stdint.h>

struct tw_progress_line {
	struct tw_train_watch watch; /* for the job */
	const char *program;         /* begins each line */
	uint64_t start_ns;
	_Atomic uint64_t next_ns; /* of the next line; shared by the threads */
};

/* The line must outlive the training and not move. */
void tw_progress_line_start(struct tw_progress_line *p, const char *program);

#endif /* TW_CLI_PROGRESS_LINE_H */
