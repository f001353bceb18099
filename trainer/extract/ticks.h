/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TICKS_H
#define TW_TRAINER_TICKS_H

/*
 * The times at which an exporter was read: the union of the times of its series. A series
 * that begins later than the first tick was absent at the tick before, so that its
 * workload began between the two.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_counter_set;
struct tw_err;

/* All zero bytes is empty. */
struct tw_ticks {
	int64_t *ms; /* ascending, without repeats */
	size_t count, size;
	int64_t *more; /* not sorted in yet */
	size_t waiting, room;
};

/* Add times. tw_ticks_settle() must follow before ->ms is read. */
int tw_ticks_add(struct tw_ticks *t, const int64_t *ms, size_t count, struct tw_err *err);

/* Add the times of all samples of the set's series. */
int tw_ticks_add_set(struct tw_ticks *t, const struct tw_counter_set *c,
		     struct tw_err *err);

int tw_ticks_settle(struct tw_ticks *t, struct tw_err *err);

/* The tick before a time; the time itself if there is none. *from, a place in ->ms of an
 * earlier call with a time not later, is advanced; it starts at 0. */
int64_t tw_ticks_before(const struct tw_ticks *t, int64_t ms, size_t *from);

void tw_ticks_release(struct tw_ticks *t);

#endif /* TW_TRAINER_TICKS_H */
