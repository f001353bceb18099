/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_H
#define TW_ONLINE_H

/*
 * Online training (docs/tw-trainer.md, "Online training"): a thread that reads Prometheus
 * at each interval, keeps a window of samples for each node type, and publishes a model
 * that is better than the serving one.
 */

#include "trainer/online/attempt.h"
#include "trainer/record/prom_client.h"

#include <stdint.h>

struct tw_expo;
struct tw_online;

/* All is borrowed and must outlive the thread. */
struct tw_online_config {
	struct tw_online_rules rules;        /* without store */
	struct tw_prom_client_config client; /* without stop */
	const struct tw_strs *match;         /* label matchers of the series */
	uint64_t interval_ms;
	uint64_t delay_ms;    /* samples younger than that may still arrive */
	uint64_t lookback_ms; /* oldest samples to read at the first start and after a
				 pause */
};

/* Open the store in rules.dir and start the thread. *out is yours: tw_online_close(). */
int tw_online_open(const struct tw_online_config *c, struct tw_online **out,
		   struct tw_err *err);

/* Ask the thread to end. A training ends with its tw_trainings_stop(). */
void tw_online_stop(struct tw_online *o);

/* Wait for the thread. NULL is fine. */
void tw_online_close(struct tw_online *o);

/* Append the member `online` of /healthz. online is a struct tw_online. */
void tw_online_write_damage(void *why, struct tw_buf *out); /* of a store that is lost */
void tw_online_write_health(void *online, struct tw_buf *out);

/* Add the families of /metrics. online is a struct tw_online. */
void tw_online_write_metrics(void *online, struct tw_expo *e);

#endif /* TW_ONLINE_H */
