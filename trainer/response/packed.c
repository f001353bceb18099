/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/response/packed.h"

#include "lib/core/arena.h"
#include "lib/core/array.h"
#include "lib/core/err.h"

#include <assert.h>
#include <endian.h>
#include <math.h>
#include <string.h>

/* Doubles represent all integers up to WHOLE_MAX, and all halves up to HALF_MAX. */
#define WHOLE_MAX 9007199254740992.0 /* 2^53 */
#define HALF_MAX 4503599627370496.0  /* 2^52 */

static const double powers[] = { 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };

#define DIGITS_MAX (TW_COUNT(powers) - 1)

/* Differences are read and written as eight bytes, whatever their width. */
#define SLACK 8

static int64_t round_up(double v)
{
	return (int64_t)(v < HALF_MAX ? v + 0.5 : v);
}

/* v * scale as an integer. False unless dividing it by scale restores v; v is not
 * negative and not -0. */
static bool make_whole(double v, double scale, int64_t *out)
{
	if (signbit(v) || v * scale > WHOLE_MAX)
		return false;
	*out = round_up(v * scale);
	return (double)*out / scale == v;
}

/* Find the first integer and the smallest and largest difference. False unless all
 * numbers are multiples of 1 / scale. */
static bool find_range(const double *v, size_t count, double scale, int64_t *first,
		       int64_t *least, int64_t *most)
{
	int64_t before, whole;

	if (!make_whole(v[0], scale, &before))
		return false;
	*first = before;
	*least = INT64_MAX;
	*most = INT64_MIN;
	for (size_t i = 1; i < count; i++) {
		if (!make_whole(v[i], scale, &whole))
			return false;
		*least = whole - before < *least ? whole - before : *least;
		*most = whole - before > *most ? whole - before : *most;
		before = whole;
	}
	if (count == 1)
		*least = *most = 0;
	return true;
}

static uint8_t count_bytes(uint64_t v)
{
	uint8_t bytes = 0;

	for (; v > 0; v >>= 8)
		bytes++;
	return bytes;
}

static void put_differences(unsigned char *to, const double *v, const struct tw_packed *p)
{
	const double scale = powers[p->digits];
	int64_t before = p->first;

	for (size_t i = 1; i < p->count; i++) {
		const int64_t whole = round_up(v[i] * scale);
		const uint64_t word = htole64((uint64_t)(whole - before - p->least));

		/* The next difference, or the slack, overwrites the excess bytes. */
		memcpy(to, &word, sizeof(word));
		to += p->width;
		before = whole;
	}
}

static void *get_room(struct tw_arena *arena, size_t len, struct tw_err *err)
{
	void *room = tw_arena_get(arena, len);

	if (room == NULL)
		tw_fail(err, TW_NOMEM, "numbers packed in %zu bytes", len);
	return room;
}

static int keep_as_is(const double *v, size_t count, struct tw_arena *arena,
		      struct tw_packed *out, struct tw_err *err)
{
	void *copy = get_room(arena, count * sizeof(*v), err);

	if (copy == NULL)
		return -1;
	memcpy(copy, v, count * sizeof(*v));
	*out = (struct tw_packed){
		.data = copy, .count = (uint32_t)count, .width = sizeof(*v), .as_is = true
	};
	return 0;
}

int tw_pack(const double *v, size_t count, struct tw_arena *arena, struct tw_packed *out,
	    struct tw_err *err)
{
	static const unsigned char nothing[SLACK];
	struct tw_packed p = { .data = nothing, .count = (uint32_t)count };
	unsigned char *room;
	int64_t most = 0;

	assert(count <= TW_PACKED_COUNT_MAX);
	if (count == 0) {
		*out = (struct tw_packed){ 0 };
		return 0;
	}
	while (!find_range(v, count, powers[p.digits], &p.first, &p.least, &most))
		if (++p.digits > DIGITS_MAX)
			return keep_as_is(v, count, arena, out, err);
	p.width = count_bytes((uint64_t)most - (uint64_t)p.least);
	if (p.width > 0) {
		room = get_room(arena, (count - 1) * p.width + SLACK, err);
		if (room == NULL)
			return -1;
		put_differences(room, v, &p);
		p.data = room;
	}
	*out = p;
	return 0;
}

bool tw_packed_rises(const struct tw_packed *p)
{
	struct tw_unpack u;
	double before;

	if (!p->as_is || p->count < 2)
		return p->least >= 0;
	u = tw_unpack_begin(p);
	before = tw_unpack_next(&u);
	while (u.at < p->count) {
		const double v = tw_unpack_next(&u);

		if (v < before)
			return false;
		before = v;
	}
	return true;
}

struct tw_unpack tw_unpack_begin(const struct tw_packed *p)
{
	return (struct tw_unpack){
		.packed = p,
		.whole = p->first,
		.mask = p->width > 0 ? UINT64_MAX >> (64 - 8 * p->width) : 0,
		.scale = powers[p->digits],
	};
}

double tw_unpack_next(struct tw_unpack *u)
{
	const struct tw_packed *p = u->packed;
	uint64_t word;
	double v;

	assert(u->at < p->count);
	if (p->as_is) {
		memcpy(&v, p->data + u->at++ * sizeof(v), sizeof(v));
		return v;
	}
	if (u->at > 0) {
		memcpy(&word, p->data + (u->at - 1) * p->width, sizeof(word));
		u->whole += p->least + (int64_t)(le64toh(word) & u->mask);
	}
	u->at++;
	return (double)u->whole / u->scale;
}

double tw_packed_first(const struct tw_packed *p)
{
	struct tw_unpack u = tw_unpack_begin(p);

	return tw_unpack_next(&u);
}

double tw_packed_last(const struct tw_packed *p)
{
	struct tw_unpack u = tw_unpack_begin(p);

	while (u.at + 1 < p->count)
		tw_unpack_next(&u);
	return tw_unpack_next(&u);
}
