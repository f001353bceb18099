/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_POLL_H
#define TW_ONLINE_POLL_H

/*
 * Reads samples from Prometheus, an interval at a time, and tells the machines apart.
 */

#include "trainer/response/machines.h"
#include "trainer/record/prom_client.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_poll;
struct tw_prom;
struct tw_strs;

/*
 * dir gets temporary files, which the kernel removes. match: label matchers. All are
 * borrowed. *out is yours: tw_poll_free().
 */
int tw_poll_new(const struct tw_prom_client_config *client, const struct tw_strs *match,
		const char *dir, struct tw_poll **out, struct tw_err *err);
void tw_poll_free(struct tw_poll *p); /* NULL is fine */

/* The server's clock. */
int tw_poll_time(struct tw_poll *p, int64_t *now_ms, struct tw_err *err);

/* The samples of an interval, by machine. All zero bytes is empty. */
struct tw_polled {
	struct tw_prom *response;
	struct tw_machines machines; /* with the name of each */
	struct tw_prom **of;         /* the samples of each machine */
	uint64_t samples;
};

/* Read the samples of (from_ms, to_ms]. There may be none. *out must be empty. */
int tw_poll_read(struct tw_poll *p, int64_t from_ms, int64_t to_ms, struct tw_polled *out,
		 struct tw_err *err);
void tw_polled_release(struct tw_polled *p);

#endif /* TW_ONLINE_POLL_H */
