/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_FAMILIES_H
#define TW_COLLECTOR_FAMILIES_H

/*
 * Our own answer at /metrics, in OpenMetrics, read back for receivers of other formats.
 * It is the one description of what the collector exports: names, types, units, help.
 */

#include "lib/field/exposition.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* Of the samples that follow; "" where the exposition does not say. */
struct tw_push_family {
	char name[96]; /* without "_total" and "_info" */
	char type[16], unit[16], help[256];
};

typedef int tw_push_sample_fn(void *arg, const struct tw_push_family *f,
			      struct tw_exposition_sample *s, struct tw_err *err);

/* A place in a text: all zero bytes is its beginning. */
struct tw_push_place {
	size_t at;
	struct tw_push_family family; /* of the samples there */
};

/*
 * Call fn for the next samples, at most `most` of them, and move the place behind them.
 * *given is their number: 0 at the end.
 */
int tw_push_walk(const char *text, size_t len, struct tw_push_place *place, size_t most,
		 size_t *given, tw_push_sample_fn *fn, void *arg, struct tw_err *err);

/* What a receiver is told of all samples of a text. */
struct tw_push_head {
	uint64_t seq;              /* of the request for the text */
	uint64_t len;              /* of the text */
	int64_t time_ns, start_ns; /* since 1970: of the tick; when counters began */
};

#endif /* TW_COLLECTOR_FAMILIES_H */
