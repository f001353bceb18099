/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_STARTS_H
#define TW_TRAINER_STARTS_H

/*
 * When processes and containers started, by process_start_time_seconds. A series is of
 * those with its `pid` or `container_id`.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_prom;
struct tw_series;

#define TW_START_UNKNOWN INT64_MIN

struct tw_start {
	const char *id; /* text of the label, by address */
	int64_t ms;
};

/* In order of id, then of time. All zero bytes is empty. */
struct tw_starts {
	struct tw_start *at;
	size_t count, size;
};

/* The response is borrowed. */
int tw_starts_find(const struct tw_prom *p, struct tw_starts *out, struct tw_err *err);
void tw_starts_release(struct tw_starts *s);

/* s: or NULL. The last start of the workload of a series up to a time, ms, or
 * TW_START_UNKNOWN: an id is used again. */
int64_t tw_start_of(const struct tw_starts *s, const struct tw_series *of, int64_t ms);

#endif /* TW_TRAINER_STARTS_H */
