/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/agents/sums.h"

#include "collector/meters/meter.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/field/energy.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Nodes and namespaces: their workloads may return after a night. */
#define LONG_KEEP_NS (UINT64_C(24) * 3600 * 1000000000)

struct tw_sums {
	void *tree; /* of struct tw_sum, by level and names */
	void *vms;  /* those of VMs, by id in lower and upper case */
	struct tw_sum *first[TW_SUM_LEVELS];
	struct tw_sum *all;
	struct tw_quota quota;
	struct tw_strs sources;                          /* the first: TW_SUM_OTHER */
	struct tw_quota_user *named[TW_SUM_SOURCES_MAX]; /* who added a source */
	size_t nameds;
	uint64_t left_out;
};

const char *const tw_sum_level_names[TW_SUM_LEVELS + 1] = {
	[TW_SUM_ALL] = "all",
	[TW_SUM_NODE] = "node",
	[TW_SUM_NAMESPACE] = "namespace",
	[TW_SUM_POD] = "pod",
	[TW_SUM_CONTAINER] = "container",
	[TW_SUM_VM] = "vm",
	[TW_SUM_JOB] = "job",
};

/*
 * Order by what identifies a sum. A VM or job is its id alone, wherever it runs; its
 * names are those of its first user. A pod whose name becomes known later is another sum.
 */
static int compare(const void *a, const void *b)
{
	const struct tw_sum *x = a, *y = b;
	const char *const of_x[] = { x->names.node, x->names.id, x->names.name_space,
				     x->names.name, x->names.container };
	const char *const of_y[] = { y->names.node, y->names.id, y->names.name_space,
				     y->names.name, y->names.container };

	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	if (x->level == TW_SUM_VM || x->level == TW_SUM_JOB)
		return strcmp(x->names.id, y->names.id);
	for (size_t i = 0; i < TW_COUNT(of_x); i++) {
		const int order = strcmp(of_x[i], of_y[i]);

		if (order != 0)
			return order;
	}
	return 0;
}

static int compare_vms(const void *a, const void *b)
{
	const struct tw_sum *x = a, *y = b;

	return strcasecmp(x->names.id, y->names.id);
}

/* The texts are in the allocation of the sum. */
static struct tw_sum *make(enum tw_sum_level level, const struct tw_sum_names *n)
{
	const char *const from[] = { n->node,       n->id,        n->name,
				     n->name_space, n->container, n->runtime };
	const char *to[TW_COUNT(from)] = { NULL };
	size_t len = 0;
	struct tw_sum *sum;
	char *at;

	for (size_t i = 0; i < TW_COUNT(from); i++)
		len += strlen(from[i]) + 1;
	sum = malloc(sizeof(*sum) + len);
	if (sum == NULL)
		return NULL;
	at = (char *)(sum + 1);
	for (size_t i = 0; i < TW_COUNT(from); i++) {
		to[i] = at;
		at = stpcpy(at, from[i]) + 1;
	}
	*sum = (struct tw_sum){ .level = level,
				.names = { to[0], to[1], to[2], to[3], to[4], to[5] } };
	return sum;
}

static void remove_sum(struct tw_sums *s, struct tw_sum *sum)
{
	tdelete(sum, &s->tree, compare);
	*sum->at = sum->next;
	if (sum->next != NULL)
		sum->next->at = sum->at;
	for (size_t i = 0; i < sum->parts; i++)
		tw_quota_give(&s->quota, sum->part[i].by, TW_QUOTA_PARTS);
	tw_quota_give(&s->quota, sum->by, TW_QUOTA_SUMS);
	free(sum->part);
	free(sum);
}

static struct tw_sum *add(struct tw_sums *s, struct tw_quota_user *by,
			  enum tw_sum_level level, const struct tw_sum_names *names)
{
	const bool room = tw_quota_take(&s->quota, by, TW_QUOTA_SUMS);
	struct tw_sum *sum = room ? make(level, names) : NULL;

	if (sum == NULL || tsearch(sum, &s->tree, compare) == NULL) {
		if (room)
			tw_quota_give(&s->quota, by, TW_QUOTA_SUMS);
		free(sum);
		s->left_out++;
		return NULL;
	}
	sum->by = by;
	sum->next = s->first[level];
	sum->at = &s->first[level];
	if (sum->next != NULL)
		sum->next->at = &sum->next;
	s->first[level] = sum;
	return sum;
}

struct tw_quota *tw_sums_quota(struct tw_sums *s)
{
	return &s->quota;
}

struct tw_sum *tw_sums_use(struct tw_sums *s, struct tw_quota_user *by,
			   enum tw_sum_level level, const struct tw_sum_names *names)
{
	const struct tw_sum key = { .level = level, .names = *names };
	struct tw_sum **found = tfind(&key, &s->tree, compare);
	struct tw_sum *sum = found != NULL ? *found : add(s, by, level, names);

	if (sum == NULL)
		return NULL;
	sum->users++;
	/*
	 * tsearch() keeps the old sum if two ids differ only in case; this sum is found
	 * after the old one has ended.
	 */
	if (level == TW_SUM_VM)
		tsearch(sum, &s->vms, compare_vms);
	return sum;
}

void tw_sums_release(struct tw_sums *s, struct tw_sum *sum, uint64_t now_ns)
{
	struct tw_sum **listed;

	if (sum == NULL || --sum->users > 0)
		return;
	sum->ended_ns = now_ns;
	if (sum->level != TW_SUM_VM)
		return;
	listed = tfind(sum, &s->vms, compare_vms);
	if (listed != NULL && *listed == sum)
		tdelete(sum, &s->vms, compare_vms);
}

/* Names that this program knows take no agent's share. */
static int add_known_sources(struct tw_sums *s, struct tw_err *err)
{
	int rc = tw_strs_adds(&s->sources, TW_SUM_OTHER, err);

	for (size_t i = 0; rc == 0 && i < tw_meter_count(); i++)
		rc = tw_strs_adds(&s->sources, tw_meter_at(i)->name, err);
	for (size_t i = 0; rc == 0 && i < tw_energy_source_count(); i++)
		rc = tw_strs_adds(&s->sources, tw_energy_source_at(i)->name, err);
	return rc == 0 ? tw_strs_adds(&s->sources, "model", err) : -1;
}

int tw_sums_open(struct tw_sums **out, struct tw_err *err)
{
	static const struct tw_sum_names none = { "", "", "", "", "", "" };
	struct tw_sums *s = calloc(1, sizeof(*s));

	if (s != NULL && add_known_sources(s, err) == 0)
		s->all = tw_sums_use(s, NULL, TW_SUM_ALL, &none);
	if (s == NULL || s->all == NULL) {
		tw_sums_close(s);
		return tw_fail(err, TW_NOMEM, "sums");
	}
	*out = s;
	return 0;
}

void tw_sums_close(struct tw_sums *s)
{
	if (s == NULL)
		return;
	for (struct tw_sum *sum = s->first[TW_SUM_VM]; sum != NULL; sum = sum->next)
		tdelete(sum, &s->vms, compare_vms);
	for (int level = 0; level < TW_SUM_LEVELS; level++)
		while (s->first[level] != NULL)
			remove_sum(s, s->first[level]);
	for (size_t i = 0; i < s->nameds; i++)
		tw_quota_give(&s->quota, s->named[i], TW_QUOTA_SOURCES);
	tw_strs_clear(&s->sources);
	free(s);
}

struct tw_sum *tw_sums_all(struct tw_sums *s)
{
	return s->all;
}

/* Find the part of a sum with the kind and source of p, or add the part. */
static struct tw_sum_part *part_of(struct tw_sums *s, struct tw_quota_user *by,
				   struct tw_sum *sum, const struct tw_sum_part *p)
{
	for (size_t i = 0; i < sum->parts; i++)
		if (sum->part[i].kind == p->kind && sum->part[i].source == p->source)
			return &sum->part[i];
	if (!tw_quota_take(&s->quota, by, TW_QUOTA_PARTS)) {
		s->left_out++;
		return NULL;
	}
	if (!tw_resize(&sum->part, sum->parts + 1, sizeof(*sum->part))) {
		tw_quota_give(&s->quota, by, TW_QUOTA_PARTS);
		s->left_out++;
		return NULL;
	}
	sum->part[sum->parts] =
		(struct tw_sum_part){ .kind = p->kind, .source = p->source, .by = by };
	return &sum->part[sum->parts++];
}

void tw_sum_add(struct tw_sums *s, struct tw_quota_user *by, struct tw_sum *sum,
		const struct tw_sum_part *p)
{
	struct tw_sum_part *part = sum != NULL ? part_of(s, by, sum, p) : NULL;

	if (part == NULL)
		return;
	part->dynamic_uj += p->dynamic_uj;
	part->idle_uj += p->idle_uj;
}

void tw_sums_power_begin(struct tw_sums *s)
{
	for (int level = 0; level < TW_SUM_LEVELS; level++)
		for (struct tw_sum *sum = s->first[level]; sum != NULL; sum = sum->next)
			for (size_t i = 0; i < sum->parts; i++) {
				sum->part[i].watts = 0;
				sum->part[i].powered = false;
			}
}

void tw_sum_power(struct tw_sums *s, struct tw_quota_user *by, struct tw_sum *sum,
		  const struct tw_sum_part *p)
{
	struct tw_sum_part *part = sum != NULL ? part_of(s, by, sum, p) : NULL;

	if (part == NULL)
		return;
	part->watts += p->watts;
	part->powered = true;
}

static void expire_level(struct tw_sums *s, enum tw_sum_level level, uint64_t now_ns,
			 uint64_t keep_ns)
{
	struct tw_sum *next;

	for (struct tw_sum *sum = s->first[level]; sum != NULL; sum = next) {
		next = sum->next;
		if (sum->users == 0 && now_ns - sum->ended_ns > keep_ns)
			remove_sum(s, sum);
	}
}

void tw_sums_expire(struct tw_sums *s, uint64_t now_ns, uint64_t keep_ns)
{
	for (int level = 0; level < TW_SUM_LEVELS; level++) {
		const bool is_long = level <= TW_SUM_NAMESPACE && keep_ns < LONG_KEEP_NS;

		expire_level(s, (enum tw_sum_level)level, now_ns,
			     is_long ? LONG_KEEP_NS : keep_ns);
	}
}

const struct tw_sum *tw_sums_next(const struct tw_sums *s, enum tw_sum_level level,
				  const struct tw_sum *sum)
{
	return sum != NULL ? sum->next : s->first[level];
}

const char *tw_sums_source(struct tw_sums *s, struct tw_quota_user *by, const char *name)
{
	const ptrdiff_t at = tw_strs_find(&s->sources, name);
	struct tw_err err = { 0 };

	if (at >= 0)
		return s->sources.at[at];
	if (!tw_quota_take(&s->quota, by, TW_QUOTA_SOURCES)) {
		s->left_out++;
		return s->sources.at[0];
	}
	if (tw_strs_adds(&s->sources, name, &err) == 0) {
		s->named[s->nameds++] = by;
		return s->sources.at[s->sources.count - 1];
	}
	tw_quota_give(&s->quota, by, TW_QUOTA_SOURCES);
	s->left_out++;
	return s->sources.at[0];
}

const struct tw_sum *tw_sums_vm(const struct tw_sums *s, const char *id)
{
	const struct tw_sum key = { .level = TW_SUM_VM, .names = { .id = id } };
	struct tw_sum *const *found = tfind(&key, &s->vms, compare_vms);

	return found != NULL ? *found : NULL;
}

uint64_t tw_sums_left_out(const struct tw_sums *s)
{
	return s->left_out;
}
