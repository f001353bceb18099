/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/counts.h"

#include "lib/core/err.h"

#include <bpf/bpf.h>
#include <stdlib.h>
#include <string.h>

/* Reads for which counts of an unknown process are kept. */
#define UNKNOWN_MAX 3

/* Totals of a process, summed over all CPUs. */
struct tw_count_total {
	uint32_t tgid; /* 0: free */
	bool in_map;
	bool absent;           /* missing from this read, but not from the one before */
	unsigned char unknown; /* reads in which the process was unknown */
	uint64_t now[TW_COUNTS_MAX], reported[TW_COUNTS_MAX];
	uint64_t map_now[TW_COUNTS_MAX]; /* the part of now that is in the map */
};

/* The slot of a tgid, or the free slot where it belongs. */
static struct tw_count_total *find(const struct tw_count_totals *t, uint32_t tgid)
{
	size_t i = tgid * UINT32_C(2654435761) & (t->size - 1);

	while (t->at[i].tgid != 0 && t->at[i].tgid != tgid)
		i = (i + 1) & (t->size - 1);
	return &t->at[i];
}

/* At most half of the slots are taken. */
static int grow(struct tw_count_totals *t, struct tw_err *err)
{
	const struct tw_count_totals old = *t;
	const size_t size = old.size != 0 ? old.size * 2 : 1024;
	struct tw_count_total *at = calloc(size, sizeof(*at));

	if (at == NULL)
		return tw_fail(err, TW_NOMEM, "counts of %zu processes", size / 2);
	t->at = at;
	t->size = size;
	for (size_t i = 0; i < old.size; i++)
		if (old.at[i].tgid != 0)
			*find(t, old.at[i].tgid) = old.at[i];
	free(old.at);
	return 0;
}

int tw_counts_begin(struct tw_counts *c, struct tw_err *err)
{
	c->now.count = 0;
	if (c->now.at == NULL)
		return grow(&c->now, err);
	memset(c->now.at, 0, c->now.size * sizeof(*c->now.at));
	return 0;
}

int tw_counts_add(struct tw_counts *c, uint32_t tgid, const struct tw_counts_of *part,
		  bool map, struct tw_err *err)
{
	struct tw_count_total *t;

	if (2 * c->now.count >= c->now.size && grow(&c->now, err) < 0)
		return -1;
	t = find(&c->now, tgid);
	if (t->tgid == 0)
		c->now.count++;
	t->tgid = tgid;
	t->in_map = t->in_map || map;
	for (int i = 0; i < TW_COUNTS_MAX; i++) {
		t->now[i] += part->count[i];
		t->map_now[i] += map ? part->count[i] : 0;
	}
	return 0;
}

/*
 * The entry of a process of the last read; NULL: it is gone. A row that is moving from
 * one map to the other is in neither, and is back at the next read.
 */
static struct tw_count_total *find_again(struct tw_counts *c,
					 const struct tw_count_total *old)
{
	struct tw_count_total *t = find(&c->now, old->tgid);

	if (t->tgid != 0)
		return t;
	if (old->absent || c->now.count + 1 >= c->now.size)
		return NULL;
	t->tgid = old->tgid;
	t->absent = true;
	c->now.count++;
	return t;
}

/* Reported totals belong to the tgid, even if the pid was reused. */
static void take_reported(struct tw_counts *c)
{
	for (size_t i = 0; i < c->before.size; i++) {
		const struct tw_count_total *old = &c->before.at[i];
		struct tw_count_total *t = old->tgid != 0 ? find_again(c, old) : NULL;

		if (t == NULL)
			continue;
		memcpy(t->reported, old->reported, sizeof(t->reported));
		t->unknown = old->unknown;
	}
}

static void difference(const struct tw_counts_kinds *kinds,
		       const struct tw_count_total *t, uint64_t more[TW_COUNTER_COUNT])
{
	memset(more, 0, TW_COUNTER_COUNT * sizeof(*more));
	/* A row that is moving between the maps may be missing from the sum. */
	for (uint32_t i = 0; i < kinds->count; i++)
		if (t->now[i] > t->reported[i])
			more[kinds->kind[i]] = t->now[i] - t->reported[i];
}

static void take(const struct tw_counts_kinds *kinds, struct tw_count_total *t)
{
	for (uint32_t i = 0; i < kinds->count; i++)
		if (t->now[i] > t->reported[i])
			t->reported[i] = t->now[i];
}

/* Delete an ended process from the map: it is for living processes. */
static void forget(struct tw_count_total *t, int map)
{
	if (!t->in_map || bpf_map_delete_elem(map, &t->tgid) < 0)
		return;
	for (int i = 0; i < TW_COUNTS_MAX; i++)
		t->reported[i] -=
			t->reported[i] < t->map_now[i] ? t->reported[i] : t->map_now[i];
}

static void report(const struct tw_counts_kinds *kinds, struct tw_count_total *t, int map,
		   tw_counted *counted, void *arg)
{
	const bool last = t->unknown + 1 >= UNKNOWN_MAX;
	uint64_t more[TW_COUNTER_COUNT];
	enum tw_process_status status;

	difference(kinds, t, more);
	status = counted(arg, t->tgid, more, last);
	if (status == TW_PROCESS_UNKNOWN && !last) {
		t->unknown++;
		return;
	}
	t->unknown = 0;
	take(kinds, t);
	if (status != TW_PROCESS_LIVING)
		forget(t, map);
}

void tw_counts_report(struct tw_counts *c, const struct tw_counts_kinds *kinds, int map,
		      tw_counted *counted, void *arg)
{
	struct tw_count_totals swap;

	take_reported(c);
	for (size_t i = 0; i < c->now.size; i++)
		if (c->now.at[i].tgid != 0 && !c->now.at[i].absent)
			report(kinds, &c->now.at[i], map, counted, arg);
	swap = c->before;
	c->before = c->now;
	c->now = swap;
}

void tw_counts_release(struct tw_counts *c)
{
	free(c->now.at);
	free(c->before.at);
}
