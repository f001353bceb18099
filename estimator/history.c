/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/history.h"

#include "estimator/predict/series.h"
#include "lib/core/err.h"
#include "lib/core/hash.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define BUCKETS 1024

struct stored {
	LIST_ENTRY(stored) bucket;
	TAILQ_ENTRY(stored) use;
	struct tw_recent_rows series;
	size_t bytes;
	uint64_t hash, user, columns;
	char name[];
};

TAILQ_HEAD(uses, stored);
LIST_HEAD(bucket, stored);

struct tw_history {
	struct bucket bucket[BUCKETS];
	struct uses uses; /* the series not used for longest is first */
	size_t count, bytes, bytes_max;
	uint64_t dropped;
};

int tw_history_new(size_t bytes, struct tw_history **out, struct tw_err *err)
{
	struct tw_history *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return tw_fail(err, TW_NOMEM, "series");
	TAILQ_INIT(&h->uses);
	h->bytes_max = bytes;
	*out = h;
	return 0;
}

static void drop(struct tw_history *h, struct stored *r)
{
	LIST_REMOVE(r, bucket);
	TAILQ_REMOVE(&h->uses, r, use);
	h->bytes -= r->bytes;
	h->count--;
	tw_recent_rows_release(&r->series);
	free(r);
}

static uint64_t hash_of(const struct tw_history_key *k)
{
	const uint64_t parts[] = { tw_hash(k->name, strlen(k->name)), k->user,
				   k->columns };

	return tw_hash(parts, sizeof(parts));
}

static bool has_key(const struct stored *r, const struct tw_history_key *k, uint64_t hash)
{
	return r->hash == hash && r->user == k->user && r->columns == k->columns &&
	       r->series.cols == k->cols && strcmp(r->name, k->name) == 0;
}

/* Approximate memory of a series, with 64 bytes for the allocator. */
static size_t bytes_of(const struct tw_history_key *k, size_t back)
{
	return sizeof(struct stored) + strlen(k->name) + 64 +
	       (back + 1) * (k->cols * sizeof(double) + sizeof(int64_t));
}

static int add(struct tw_history *h, const struct tw_history_key *k, uint64_t hash,
	       size_t back, struct stored **out, struct tw_err *err)
{
	const size_t len = strlen(k->name);
	struct stored *r = calloc(1, sizeof(*r) + len + 1);

	if (r == NULL)
		return tw_fail(err, TW_NOMEM, "series '%.64s'", k->name);
	if (tw_recent_rows_reserve(&r->series, k->cols, back, err) < 0) {
		tw_recent_rows_release(&r->series);
		free(r);
		return -1;
	}
	memcpy(r->name, k->name, len);
	r->hash = hash;
	r->user = k->user;
	r->columns = k->columns;
	r->bytes = bytes_of(k, back);
	h->bytes += r->bytes;
	h->count++;
	LIST_INSERT_HEAD(&h->bucket[hash % BUCKETS], r, bucket);
	TAILQ_INSERT_TAIL(&h->uses, r, use);
	*out = r;
	return 0;
}

/* Make room if the model looks back further than earlier ones; mark the use. */
static int grow(struct tw_history *h, struct stored *r, const struct tw_history_key *k,
		size_t back, struct tw_err *err)
{
	if (back + 1 > r->series.room) {
		if (tw_recent_rows_reserve(&r->series, k->cols, back, err) < 0)
			return -1;
		h->bytes += bytes_of(k, back) - r->bytes;
		r->bytes = bytes_of(k, back);
	}
	TAILQ_REMOVE(&h->uses, r, use);
	TAILQ_INSERT_TAIL(&h->uses, r, use);
	return 0;
}

int tw_history_find(struct tw_history *h, const struct tw_history_key *k, size_t back,
		    struct tw_recent_rows **out, struct tw_err *err)
{
	const uint64_t hash = hash_of(k);
	struct stored *r;

	if (bytes_of(k, back) > h->bytes_max)
		return tw_fail(err, TW_INVALID,
			       "series '%.64s': %zu bytes, --series-memory allows %zu",
			       k->name, bytes_of(k, back), h->bytes_max);
	LIST_FOREACH(r, &h->bucket[hash % BUCKETS], bucket)
	if (has_key(r, k, hash))
		break;
	if ((r != NULL ? grow(h, r, k, back, err) : add(h, k, hash, back, &r, err)) < 0)
		return -1;
	/* This series is the last of the queue and fits, so the loop ends before it. */
	while (h->bytes > h->bytes_max) {
		drop(h, TAILQ_FIRST(&h->uses));
		h->dropped++;
	}
	*out = &r->series;
	return 0;
}

size_t tw_history_count(const struct tw_history *h)
{
	return h->count;
}

uint64_t tw_history_dropped(const struct tw_history *h)
{
	return h->dropped;
}

void tw_history_free(struct tw_history *h)
{
	if (h == NULL)
		return;
	while (!TAILQ_EMPTY(&h->uses))
		drop(h, TAILQ_FIRST(&h->uses));
	free(h);
}
