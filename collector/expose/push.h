/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_PUSH_H
#define TW_COLLECTOR_PUSH_H

/*
 * Push the metrics to receivers of OTLP and of remote write. For each receiver a helper,
 * tw-ask, asks for the text of /metrics (collector/ask/ask_push.c); a child writes the
 * text after the next tick (tw_metrics_push()). So neither a tick nor a scrape waits for
 * a receiver, and each receiver has at most one text in memory.
 */

#include "collector/push/format.h"
#include "lib/http/server/expo.h"

#include <stdbool.h>
#include <sys/types.h>

struct tw_collector_settings;
struct tw_err;
struct tw_push;

/* *out stays NULL if no receiver is configured; else it is yours: tw_push_close(). */
int tw_push_open(const struct tw_collector_settings *s, const char *node_name,
		 struct tw_push **out, struct tw_err *err);
void tw_push_close(struct tw_push *p); /* NULL is fine */

/* Call tw_push_hear() when the descriptor of receiver i is readable; -1: none. */
int tw_push_fd(const struct tw_push *p, int i);
void tw_push_hear(struct tw_push *p, int i);

/*
 * Whether the helper of receiver i waits for a text, and no child writes one yet. Sets
 * the socket for the text, and the text's head without len and time_ns.
 */
bool tw_push_wanted(struct tw_push *p, int i, int *fd, struct tw_push_head *head);
/* The child now writes the text that the helper waits for. */
void tw_push_began(struct tw_push *p, int i, pid_t child);

/* Export whether the receivers get the metrics. p may be NULL. */
void tw_push_expose(const struct tw_push *p, struct tw_expo *e);

extern const struct tw_expo_table tw_push_families[];

#endif /* TW_COLLECTOR_PUSH_H */
