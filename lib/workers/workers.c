/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/workers/workers.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/hash.h"

#include <stdlib.h>
#include <string.h>

/* Limit of the bytes of one call of the link. */
#define PIECE ((size_t)8 << 20)

static bool alone(const struct tw_workers *w)
{
	return w == NULL || w->size <= 1;
}

void tw_workers_break(struct tw_workers *w, const struct tw_err *why)
{
	if (!alone(w) && w->broken.code == TW_OK)
		w->broken = *why;
}

int tw_workers_check(const struct tw_workers *w, struct tw_err *err)
{
	if (alone(w) || w->broken.code == TW_OK)
		return 0;
	return tw_fail(err, w->broken.code, "%s", w->broken.text);
}

/* Keep a failure of the link, and report it. */
static int broke(struct tw_workers *w, const struct tw_err *why, struct tw_err *err)
{
	tw_workers_break(w, why);
	return tw_workers_check(w, err);
}

/* Largest and smallest of a number over the workers. */
static int range(struct tw_workers *w, int64_t v, int64_t *most, int64_t *least,
		 struct tw_err *err)
{
	int64_t both[2] = { v, -v };

	if (w->link->integers(w->arg, both, TW_COUNT(both), TW_REDUCE_MAX, err) < 0)
		return -1;
	*most = both[0];
	*least = -both[1];
	return 0;
}

/*
 * Begin a call: all workers must be at the same one. A worker that failed alone is at
 * another call than the others, which would mix up their data.
 */
static int begin(struct tw_workers *w, char call, size_t count, struct tw_err *err)
{
	struct tw_err why = { 0 };
	int64_t most, least;

	if (tw_workers_check(w, err) < 0)
		return -1;
	if (range(w, (int64_t)(count << 8 | (unsigned char)call), &most, &least, &why) <
	    0)
		return broke(w, &why, err);
	if (most == least)
		return 0;
	tw_fail(&why, TW_IO, "the workers are at different steps: one of them failed");
	return broke(w, &why, err);
}

static int reduce(struct tw_workers *w, double *v, size_t count, enum tw_reduce op,
		  struct tw_err *err)
{
	const size_t most = PIECE / sizeof(*v);
	struct tw_err why = { 0 };

	if (begin(w, op == TW_REDUCE_SUM ? 's' : 'm', count, err) < 0)
		return -1;
	for (size_t at = 0; at < count; at += most)
		if (w->link->doubles(w->arg, v + at,
				     count - at < most ? count - at : most, op, &why) < 0)
			return broke(w, &why, err);
	return 0;
}

int tw_workers_sum(struct tw_workers *w, double *v, size_t count, struct tw_err *err)
{
	return alone(w) ? 0 : reduce(w, v, count, TW_REDUCE_SUM, err);
}

int tw_workers_max(struct tw_workers *w, double *v, size_t count, struct tw_err *err)
{
	return alone(w) ? 0 : reduce(w, v, count, TW_REDUCE_MAX, err);
}

int tw_workers_min(struct tw_workers *w, double *v, size_t count, struct tw_err *err)
{
	int status;

	if (alone(w))
		return 0;
	for (size_t i = 0; i < count; i++)
		v[i] = -v[i];
	status = reduce(w, v, count, TW_REDUCE_MAX, err);
	for (size_t i = 0; i < count; i++)
		v[i] = -v[i];
	return status;
}

static int broadcast(struct tw_workers *w, void *v, size_t bytes, unsigned root,
		     struct tw_err *err)
{
	struct tw_err why = { 0 };

	for (size_t at = 0; at < bytes; at += PIECE)
		if (w->link->broadcast(w->arg, (char *)v + at,
				       bytes - at < PIECE ? bytes - at : PIECE, root,
				       &why) < 0)
			return broke(w, &why, err);
	return 0;
}

int tw_workers_same(struct tw_workers *w, void *v, size_t bytes, struct tw_err *err)
{
	if (alone(w))
		return 0;
	if (begin(w, 'b', bytes, err) < 0)
		return -1;
	return broadcast(w, v, bytes, 0, err);
}

/* ---- parts of different sizes ---- */

/* The size of each worker's part; *out is yours: free(). */
static int get_sizes(struct tw_workers *w, char call, size_t own, int64_t **out,
		     struct tw_err *err)
{
	int64_t *size = calloc(w->size, sizeof(*size));
	struct tw_err why = { 0 };

	if (size == NULL)
		tw_fail(&why, TW_NOMEM, "%u workers", w->size);
	else if (begin(w, call, 0, err) < 0)
		goto failed;
	if (size != NULL) {
		size[w->rank] = (int64_t)own;
		if (w->link->integers(w->arg, size, w->size, TW_REDUCE_SUM, &why) == 0) {
			*out = size;
			return 0;
		}
	}
	broke(w, &why, err);
failed:
	free(size);
	return -1;
}

int tw_workers_place(struct tw_workers *w, size_t rows, size_t *first, size_t *all,
		     struct tw_err *err)
{
	int64_t *size;

	*first = 0;
	*all = rows;
	if (alone(w))
		return 0;
	if (get_sizes(w, 'p', rows, &size, err) < 0)
		return -1;
	*all = 0;
	for (unsigned i = 0; i < w->size; i++) {
		if (i == w->rank)
			*first = *all;
		*all += (size_t)size[i];
	}
	free(size);
	return 0;
}

/* Put the parts of all workers after one another. */
static int gather(struct tw_workers *w, const void *own, const int64_t *size,
		  size_t width, char *all, struct tw_err *err)
{
	for (unsigned i = 0; i < w->size; i++) {
		const size_t bytes = (size_t)size[i] * width;

		if (i == w->rank && bytes > 0)
			memcpy(all, own, bytes);
		if (broadcast(w, all, bytes, i, err) < 0)
			return -1;
		all += bytes;
	}
	return 0;
}

int tw_workers_gather(struct tw_workers *w, const double *own, size_t rows, double *all,
		      struct tw_err *err)
{
	int64_t *size;
	int status;

	if (alone(w)) {
		memcpy(all, own, rows * sizeof(*own));
		return 0;
	}
	if (get_sizes(w, 'g', rows, &size, err) < 0)
		return -1;
	status = gather(w, own, size, sizeof(*own), (char *)all, err);
	free(size);
	return status;
}

int tw_workers_texts(struct tw_workers *w, const char *own, size_t len,
		     struct tw_buf *out, struct tw_err *err)
{
	struct tw_err why = { 0 };
	int64_t *size;
	size_t all = 0;
	char *text;
	int status;

	if (alone(w)) {
		tw_buf_add(out, own, len);
		return 0;
	}
	if (get_sizes(w, 't', len, &size, err) < 0)
		return -1;
	for (unsigned i = 0; i < w->size; i++)
		all += (size_t)size[i];
	text = malloc(all + 1);
	if (text == NULL) {
		free(size);
		tw_fail(&why, TW_NOMEM, "texts of %u workers", w->size);
		return broke(w, &why, err);
	}
	status = gather(w, own, size, 1, text, err);
	if (status == 0)
		tw_buf_add(out, text, all);
	free(text);
	free(size);
	return status;
}

/* ---- agreement ---- */

int tw_workers_agree(struct tw_workers *w, struct tw_err *err)
{
	struct tw_err why = { 0 }, first;
	int64_t most, least;

	if (alone(w))
		return err->code == TW_OK ? 0 : -1;
	first = *err;
	tw_err_clear(err);
	if (begin(w, 'a', 0, err) < 0)
		return -1;
	if (range(w, first.code == TW_OK ? w->size : w->rank, &most, &least, &why) < 0)
		return broke(w, &why, err);
	if (least == w->size)
		return 0;
	if (broadcast(w, &first, sizeof(first), (unsigned)least, err) < 0)
		return -1;
	return tw_fail(err, first.code, "worker %d: %s", (int)least, first.text);
}

int tw_workers_match(struct tw_workers *w, const char *what, const void *v, size_t bytes,
		     struct tw_err *err)
{
	/* Half of the hash, so that it has a negative. */
	const int64_t hash = alone(w) ? 0 : (int64_t)(tw_hash(v, bytes) >> 1);
	struct tw_err why = { 0 };
	int64_t most, least;

	if (alone(w))
		return 0;
	if (begin(w, 'h', 0, err) < 0)
		return -1;
	if (range(w, hash, &most, &least, &why) < 0)
		return broke(w, &why, err);
	if (most != least)
		return tw_fail(err, TW_INVALID, "the workers differ in %s", what);
	return 0;
}
