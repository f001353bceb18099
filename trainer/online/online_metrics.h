/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_METRICS_H
#define TW_ONLINE_METRICS_H

/*
 * The metrics of online training. The thread of the loop sets them, and threads of the
 * HTTP server write them.
 */

#include "lib/core/err.h"
#include "lib/http/server/expo.h"
#include "trainer/online/node.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;

struct tw_online_metrics {
	pthread_mutex_t lock;
	struct tw_online_figures *node; /* nodes of them */
	size_t nodes;
	uint64_t samples, polls, failed_polls;
	int64_t behind_ms;
	bool down;                 /* the last poll failed */
	char problem[TW_ERR_TEXT]; /* of the last poll; "" */
};

void tw_online_metrics_init(struct tw_online_metrics *m);
void tw_online_metrics_release(struct tw_online_metrics *m);

/* Set the figures of machine i. Without memory they are left out. */
void tw_online_metrics_set(struct tw_online_metrics *m, size_t i,
			   const struct tw_online_figures *f);
void tw_online_metrics_add_samples(struct tw_online_metrics *m, uint64_t samples);
void tw_online_metrics_set_behind(struct tw_online_metrics *m, int64_t behind_ms);

/* Count a poll, and keep its problem ("": none). Returns whether its success differs from
 * that of the last one. */
bool tw_online_metrics_polled(struct tw_online_metrics *m, bool failed,
			      const char *problem);

/* Append the member `online` of /healthz: {"behind_seconds":1,"problem":null}. */
void tw_online_metrics_health(struct tw_online_metrics *m, struct tw_buf *out);

extern const struct tw_expo_table tw_online_families[];
void tw_online_metrics_write(struct tw_online_metrics *m, struct tw_expo *e);

#endif /* TW_ONLINE_METRICS_H */
