/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_FAMILIES_H
#define TW_COLLECTOR_FAMILIES_H

/*
 * The collector's own answer at /metrics, in OpenMetrics, read back for receivers of
 * other formats. So names, types, units and help texts stand in one place.
 */

#include "lib/field/exposition.h"

#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_strs;

/* The head of a family; "" where the exposition has no such line. */
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

/* The head of a text. */
struct tw_push_head {
	uint64_t seq;              /* of the request for the text */
	uint64_t len;              /* of the text */
	int64_t time_ns, start_ns; /* since 1970: of the tick; when counters began */
};

/* Some samples of a text as the body of a request. */
struct tw_push_body {
	struct tw_buf *out;
	const struct tw_push_head *head;
	/* The origin of the samples: name, value, name, value ... */
	const struct tw_strs *resource;
	const char *text;
	struct tw_push_place *place; /* of the first sample */
	size_t most;
	size_t given; /* set: the samples in out */
};

/*
 * Call fn for the next samples of b->text, at most b->most of them, and move b->place
 * behind them. b->given becomes their number: 0 at the end.
 */
int tw_push_walk(struct tw_push_body *b, tw_push_sample_fn *fn, void *arg,
		 struct tw_err *err);

#endif /* TW_COLLECTOR_FAMILIES_H */
