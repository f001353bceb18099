/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_UNIT_WATCH_H
#define TW_TRAINER_UNIT_WATCH_H

/*
 * tw-trainer --unit: a thread that evaluates each unit of work of a file again and again,
 * as `tallywatt unit` does, on the samples that a Prometheus has of the last window.
 */

#include "trainer/record/prom_client.h"

#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_expo;
struct tw_unit_file;
struct tw_unit_watch;

/* All is borrowed and must outlive the thread. */
struct tw_unit_watch_config {
	const struct tw_unit_file *file;
	struct tw_prom_client_config client; /* without stop and retry_ms */
	uint64_t delay_ms;                   /* younger samples may still arrive */
};

/* Start the thread. *out is yours: tw_unit_watch_close(). */
int tw_unit_watch_open(const struct tw_unit_watch_config *c, struct tw_unit_watch **out,
		       struct tw_err *err);

/* Ask the thread to end, and wait for it. NULL is fine. */
void tw_unit_watch_close(struct tw_unit_watch *w);

/*
 * Write metrics, health and results, on threads of the HTTP server. watch is a struct
 * tw_unit_watch.
 */
void tw_unit_watch_metrics(void *watch, struct tw_expo *e);
void tw_unit_watch_health(void *watch, struct tw_buf *out);
void tw_unit_watch_list(void *watch, struct tw_buf *out);

#endif /* TW_TRAINER_UNIT_WATCH_H */
