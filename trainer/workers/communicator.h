/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_COMMUNICATOR_H
#define TW_TRAINER_COMMUNICATOR_H

/*
 * The link between workers: XGBoost's communicator, which its own distributed training
 * uses, too. It belongs to the thread that opens it. With XGBOOST=0 it does not open.
 */

#include "lib/workers/workers.h"

#include <stdint.h>

struct tw_tracker;

struct tw_communicator_config {
	unsigned rank, size;
	const char *host; /* of the tracker, which rank 0 holds */
	uint16_t port;
	unsigned wait_s; /* for all workers */
	/*
	 * A worker left before tw_communicator_unwatch(). Called by another thread,
	 * because the library may wait for that worker without end: it must end the
	 * process.
	 */
	void (*lost)(const struct tw_err *why);
};

/* All zero bytes is closed. */
struct tw_communicator {
	struct tw_workers workers;
	struct tw_tracker *tracker; /* of rank 0 */
	struct tw_communicator_watch *watch;
	bool open;
};

/* Wait for all workers, and check that sums, extremes and copies are right. */
int tw_communicator_open(const struct tw_communicator_config *config,
			 struct tw_communicator *out, struct tw_err *err);

/* The sums are complete: no longer end the process if another worker leaves. */
void tw_communicator_unwatch(struct tw_communicator *c);

/* Leave. After a failure, all other workers fail. */
void tw_communicator_close(struct tw_communicator *c);

#endif /* TW_TRAINER_COMMUNICATOR_H */
