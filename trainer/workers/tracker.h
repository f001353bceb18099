/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRACKER_H
#define TW_TRAINER_TRACKER_H

/*
 * The tracker of XGBoost's communicator: it learns the address of each worker, and tells
 * each worker which others to connect to. The tracker sees no data. It runs in a thread
 * of rank 0. IPv4 only, without authentication: for a trusted network.
 *
 * It speaks the protocol of the Rabit communicator of XGBoost 1.x.
 */

#include "lib/core/err.h"

#include <stdbool.h>
#include <stdint.h>

struct tw_tracker;

#define TW_WORKERS_MAX 1024

/*
 * Listen on the address of the host, or on all if it is not one of this machine. After
 * wait_s seconds without all workers, the tracker ends, and the workers fail.
 */
int tw_tracker_start(const char *host, uint16_t port, unsigned workers, unsigned wait_s,
		     struct tw_tracker **out, struct tw_err *err);

/* Why the tracker ended before all workers were linked. False: it did not. */
bool tw_tracker_failed(struct tw_tracker *t, char why[TW_ERR_TEXT]);

/*
 * Tell the tracker that a worker is here; *out is the connection, which the worker keeps.
 * The worker sends a byte when it is linked, and another when it needs the other workers
 * no more. If a worker ends before that, or does not come in time, the tracker closes the
 * connections of all. TW_INVALID: the tracker rejects the rank.
 */
int tw_tracker_join(const char *host, uint16_t port, unsigned rank, unsigned wait_s,
		    int *out, struct tw_err *err);

/* Wait up to wait_ms until all workers have left, and free. NULL is fine. */
void tw_tracker_stop(struct tw_tracker *t, unsigned wait_ms);

#endif /* TW_TRAINER_TRACKER_H */
