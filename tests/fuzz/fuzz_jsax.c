/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/core/hash.h"
#include "lib/json/jsax.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The result of a parse: a hash of the events, and how the parse ended. */
struct outcome {
	uint64_t sum;
	size_t events, used;
	unsigned depth;
	struct tw_err err;
};

static void add(struct outcome *o, const void *data, size_t len)
{
	o->sum = tw_hash_add(o->sum, data, len);
}

static int take(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct outcome *o = arg;

	(void)err;
	o->events++;
	add(o, &e->type, sizeof(e->type));
	add(o, &e->depth, sizeof(e->depth));
	add(o, &e->offset, sizeof(e->offset));
	if (e->type == TW_JSAX_KEY || e->type == TW_JSAX_TEXT)
		add(o, e->text, e->len);
	if (e->type == TW_JSAX_NUMBER)
		add(o, &e->number, sizeof(e->number));
	/* Containers close in the order in which they open. */
	if (e->type == TW_JSAX_OBJECT || e->type == TW_JSAX_ARRAY) {
		if (e->depth != o->depth++)
			abort();
	} else if (e->type == TW_JSAX_OBJECT_END || e->type == TW_JSAX_ARRAY_END) {
		if (e->depth != --o->depth)
			abort();
	} else if (e->depth != o->depth) {
		abort();
	}
	return 0;
}

/* piece: bytes a call; 0: a pseudo-random number for each call, from seed. */
static void run(const char *data, size_t len, size_t piece, uint32_t seed,
		struct outcome *out)
{
	const struct tw_jsax_limits limits = { .depth = 8, .text_bytes = 64 };
	struct outcome o = { 0 };
	struct tw_jsax *p = NULL;
	int rc = 0;

	if (tw_jsax_new(&limits, take, &o, &p, &o.err) < 0)
		abort();
	while (rc == 0 && o.used < len && !tw_jsax_done(p)) {
		size_t n = piece, used = 0;

		if (n == 0) {
			seed = seed * 1664525 + 1013904223;
			n = seed >> 28;
		}
		if (n > len - o.used)
			n = len - o.used;
		rc = tw_jsax_feed(p, data + o.used, n, &used, &o.err);
		o.used += used;
	}
	if (rc < 0)
		o.used = 0;
	else
		rc = tw_jsax_end(p, &o.err);
	if ((rc < 0) != (o.err.code != TW_OK) || (rc == 0) != tw_jsax_done(p))
		abort();
	tw_jsax_free(p);
	*out = o;
}

/* Property: events and error do not depend on the sizes of the pieces. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct outcome whole, other;

	run(text, size, size + 1, 0, &whole);
	for (uint32_t i = 0; i < 4; i++) {
		run(text, size, i == 0 ? 1 : 0, i, &other);
		if (other.sum != whole.sum || other.events != whole.events ||
		    other.used != whole.used || other.err.code != whole.err.code ||
		    strcmp(other.err.text, whole.err.text) != 0) {
			fprintf(stderr, "cut %u: %s, whole: %s\n", (unsigned)i,
				other.err.text, whole.err.text);
			abort();
		}
	}
	return 0;
}
