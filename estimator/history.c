/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/history.h"

#include "estimator/predict/predictor.h"
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

/* ---- series without a name ---- */

/*
 * The shortest time between rows of a series, and the longest, in steps of the model. Of
 * two clients behind one process that both ask at the model's pace, one row in two comes
 * within half a step of the other's.
 */
#define STEPS_MIN 0.55
#define STEPS_MAX 2.0

/* A single interval may be by chance. */
#define SURE_INTERVALS 2

/* All zero bytes but for the rows' memory: no series. */
struct node {
	bool used;
	bool several; /* rows came too soon after each other */
	struct tw_node_client client;
	uint64_t question;
	uint64_t last_ms;
	double step_ms;
	unsigned intervals; /* good ones in a row */
	struct tw_recent_rows rows;
};

struct tw_node_series {
	struct node node[TW_NODE_SERIES_MAX];
};

int tw_node_series_new(struct tw_node_series **out, struct tw_err *err)
{
	struct tw_node_series *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return tw_fail(err, TW_NOMEM, "series of nodes");
	*out = t;
	return 0;
}

static void drop_node(struct node *n)
{
	tw_recent_rows_release(&n->rows);
	*n = (struct node){ .used = false };
}

static void drop_stale(struct tw_node_series *t, uint64_t now_ms)
{
	for (size_t i = 0; i < TW_NODE_SERIES_MAX; i++) {
		struct node *n = &t->node[i];

		if (n->used && (double)(now_ms - n->last_ms) > STEPS_MAX * n->step_ms)
			drop_node(n);
	}
}

static bool is_same(const struct tw_node_client *a, const struct tw_node_client *b)
{
	return a->user == b->user && a->process == b->process &&
	       a->connection == b->connection;
}

static struct node *find_node(struct tw_node_series *t, const struct tw_node_row *row)
{
	for (size_t i = 0; i < TW_NODE_SERIES_MAX; i++) {
		struct node *n = &t->node[i];

		if (n->used && is_same(&n->client, &row->client) &&
		    n->question == row->question && n->rows.cols == row->cols)
			return n;
	}
	return NULL;
}

/* Find a free place, or free the place of the least recently used series. */
static struct node *make_place(struct tw_node_series *t)
{
	struct node *oldest = &t->node[0];

	for (size_t i = 0; i < TW_NODE_SERIES_MAX; i++) {
		if (!t->node[i].used)
			return &t->node[i];
		if (t->node[i].last_ms < oldest->last_ms)
			oldest = &t->node[i];
	}
	drop_node(oldest);
	return oldest;
}

/* Judge the interval since the last row of a series. */
static void judge(struct node *n, const struct tw_node_row *row)
{
	const double steps = (double)(row->now_ms - n->last_ms) / row->step_ms;

	if (steps < STEPS_MIN)
		n->several = true;
	else if (steps <= STEPS_MAX)
		n->intervals++;
	else
		n->intervals = 0;
}

void tw_node_series_add(struct tw_node_series *t, const struct tw_node_row *row,
			struct tw_rows *out)
{
	const size_t bytes = (row->back + 1) * (row->cols * sizeof(double) + 8);
	struct tw_err ignored = { 0 };
	struct node *n;

	drop_stale(t, row->now_ms);
	if (bytes > TW_NODE_SERIES_BYTES_MAX)
		return;
	n = find_node(t, row);
	if (n != NULL) {
		judge(n, row);
	} else {
		n = make_place(t);
		*n = (struct node){ .used = true,
				    .client = row->client,
				    .question = row->question };
	}
	n->last_ms = row->now_ms;
	n->step_ms = row->step_ms;
	if (tw_recent_rows_reserve(&n->rows, row->cols, row->back, &ignored) < 0) {
		drop_node(n);
		return;
	}
	tw_recent_rows_add(&n->rows, (int64_t)row->now_ms, row->x);
	if (!n->several && n->intervals >= SURE_INTERVALS)
		tw_recent_rows_newest(&n->rows, out);
}

size_t tw_node_series_count(const struct tw_node_series *t)
{
	size_t count = 0;

	for (size_t i = 0; i < TW_NODE_SERIES_MAX; i++)
		count += t->node[i].used;
	return count;
}

void tw_node_series_free(struct tw_node_series *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < TW_NODE_SERIES_MAX; i++)
		drop_node(&t->node[i]);
	free(t);
}
