/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TOP_COLLECTOR_H
#define TW_CLI_TOP_COLLECTOR_H

/* Requests of `tallywatt top` to collectors, all at a time. */

#include "lib/core/err.h"

#include <stddef.h>
#include <stdint.h>

struct tw_http_many;

/* A collector, and its last answers. */
struct tw_top_collector {
	const char *url; /* borrowed */
	/* Answers for the node and for a level; NULL after a failure. */
	char *node, *rows;
	struct tw_err failed; /* why there are none */
};

/* Free the answers; the collector may be asked again. */
void tw_top_collector_clear(struct tw_top_collector *c);

/*
 * Ask for the node and for a level. A collector that does not answer keeps its reason and
 * delays the others by timeout_ms at most. Fails only if the client does.
 */
int tw_top_ask(struct tw_http_many *m, struct tw_top_collector *c, size_t count,
	       const char *level, uint64_t timeout_ms, struct tw_err *err);

#endif /* TW_CLI_TOP_COLLECTOR_H */
