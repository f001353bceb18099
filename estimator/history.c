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

struct remembered {
	LIST_ENTRY(remembered) bucket;
	TAILQ_ENTRY(remembered) use;
	struct tw_recent_rows series;
	size_t bytes;
	uint64_t hash, user, columns;
	char name[];
};

TAILQ_HEAD(uses, remembered);
LIST_HEAD(bucket, remembered);

struct tw_history {
	struct bucket bucket[BUCKETS];
	struct uses uses; /* the one not asked for longest first */
	size_t count, bytes, bytes_max;
	uint64_t forgotten;
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

static void forget(struct tw_history *h, struct remembered *r)
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

static bool is_of(const struct remembered *r, const struct tw_history_key *k,
		  uint64_t hash)
{
	return r->hash == hash && r->user == k->user && r->columns == k->columns &&
	       r->series.cols == k->cols && strcmp(r->name, k->name) == 0;
}

/* What a series takes, the struct and the allocator's own included, about. */
static size_t bytes_of(const struct tw_history_key *k, size_t back)
{
	return sizeof(struct remembered) + strlen(k->name) + 64 +
	       (back + 1) * (k->cols * sizeof(double) + sizeof(int64_t));
}

static int add(struct tw_history *h, const struct tw_history_key *k, uint64_t hash,
	       size_t back, struct remembered **out, struct tw_err *err)
{
	const size_t len = strlen(k->name);
	struct remembered *r = calloc(1, sizeof(*r) + len + 1);

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

/* A model that looks back further may have come. */
static int grow(struct tw_history *h, struct remembered *r,
		const struct tw_history_key *k, size_t back, struct tw_err *err)
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
	struct remembered *r;

	if (bytes_of(k, back) > h->bytes_max)
		return tw_fail(err, TW_INVALID,
			       "series '%.64s': %zu bytes, %zu are for all", k->name,
			       bytes_of(k, back), h->bytes_max);
	LIST_FOREACH(r, &h->bucket[hash % BUCKETS], bucket)
	if (is_of(r, k, hash))
		break;
	if ((r != NULL ? grow(h, r, k, back, err) : add(h, k, hash, back, &r, err)) < 0)
		return -1;
	/* It is the last of them, and fits by itself. */
	while (h->bytes > h->bytes_max) {
		forget(h, TAILQ_FIRST(&h->uses));
		h->forgotten++;
	}
	*out = &r->series;
	return 0;
}

size_t tw_history_count(const struct tw_history *h)
{
	return h->count;
}

uint64_t tw_history_forgotten(const struct tw_history *h)
{
	return h->forgotten;
}

void tw_history_free(struct tw_history *h)
{
	if (h == NULL)
		return;
	while (!TAILQ_EMPTY(&h->uses))
		forget(h, TAILQ_FIRST(&h->uses));
	free(h);
}
