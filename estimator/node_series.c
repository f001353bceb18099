/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/node_series.h"

#include "estimator/predict/predictor.h"
#include "estimator/predict/series.h"
#include "lib/core/err.h"

#include <stdbool.h>
#include <stdlib.h>

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

static void drop(struct node *n)
{
	tw_recent_rows_release(&n->rows);
	*n = (struct node){ .used = false };
}

static void drop_stale(struct tw_node_series *t, uint64_t now_ms)
{
	for (size_t i = 0; i < TW_NODE_SERIES_MAX; i++) {
		struct node *n = &t->node[i];

		if (n->used && (double)(now_ms - n->last_ms) > STEPS_MAX * n->step_ms)
			drop(n);
	}
}

static bool is_same(const struct tw_node_client *a, const struct tw_node_client *b)
{
	return a->user == b->user && a->process == b->process &&
	       a->connection == b->connection;
}

static struct node *find(struct tw_node_series *t, const struct tw_node_row *row)
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
	drop(oldest);
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
	n = find(t, row);
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
		drop(n);
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
		drop(&t->node[i]);
	free(t);
}
