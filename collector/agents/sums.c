/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/agents/sums.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SOURCES_MAX 64
/* Nodes and namespaces: their workloads may return after a night. */
#define LONG_KEEP_NS (UINT64_C(24) * 3600 * 1000000000)

struct tw_sums {
	void *tree; /* of struct tw_sum, by level and names */
	void *vms;  /* those of VMs, by id in lower and upper case */
	struct tw_sum *first[TW_SUM_LEVELS];
	struct tw_sum *all;
	size_t count;
	struct tw_strs sources;
	uint64_t left_out;
};

const char *tw_sum_level_name(enum tw_sum_level level)
{
	static const char *const names[TW_SUM_LEVELS] = {
		[TW_SUM_ALL] = "all",
		[TW_SUM_NODE] = "node",
		[TW_SUM_NAMESPACE] = "namespace",
		[TW_SUM_POD] = "pod",
		[TW_SUM_CONTAINER] = "container",
		[TW_SUM_VM] = "vm",
		[TW_SUM_JOB] = "job",
	};

	return names[level];
}

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
	for (size_t i = 0; i < sizeof(of_x) / sizeof(of_x[0]); i++) {
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
	const char *to[sizeof(from) / sizeof(from[0])];
	size_t len = 0;
	struct tw_sum *sum;
	char *at;

	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++)
		len += strlen(from[i]) + 1;
	sum = malloc(sizeof(*sum) + len);
	if (sum == NULL)
		return NULL;
	at = (char *)(sum + 1);
	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
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
	s->count--;
	free(sum->part);
	free(sum);
}

static struct tw_sum *add(struct tw_sums *s, enum tw_sum_level level,
			  const struct tw_sum_names *names)
{
	struct tw_sum *sum = s->count < TW_SUMS_MAX ? make(level, names) : NULL;

	if (sum == NULL || tsearch(sum, &s->tree, compare) == NULL) {
		free(sum);
		s->left_out++;
		return NULL;
	}
	sum->next = s->first[level];
	sum->at = &s->first[level];
	if (sum->next != NULL)
		sum->next->at = &sum->next;
	s->first[level] = sum;
	s->count++;
	return sum;
}

struct tw_sum *tw_sums_use(struct tw_sums *s, enum tw_sum_level level,
			   const struct tw_sum_names *names)
{
	const struct tw_sum key = { .level = level, .names = *names };
	struct tw_sum **found = tfind(&key, &s->tree, compare);
	struct tw_sum *sum = found != NULL ? *found : add(s, level, names);

	if (sum == NULL)
		return NULL;
	if (sum->users++ == 0 && level == TW_SUM_VM)
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

int tw_sums_open(struct tw_sums **out, struct tw_err *err)
{
	static const struct tw_sum_names none = { "", "", "", "", "", "" };
	struct tw_sums *s = calloc(1, sizeof(*s));

	if (s != NULL)
		s->all = tw_sums_use(s, TW_SUM_ALL, &none);
	if (s == NULL || s->all == NULL) {
		free(s);
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
	tw_strs_clear(&s->sources);
	free(s);
}

struct tw_sum *tw_sums_all(struct tw_sums *s)
{
	return s->all;
}

/* Find the part of a sum with this kind and source, or add the part. */
static struct tw_sum_part *part_of(struct tw_sums *s, struct tw_sum *sum,
				   enum tw_zone_kind kind, const char *source)
{
	struct tw_sum_part *part;

	for (size_t i = 0; i < sum->parts; i++)
		if (sum->part[i].kind == kind && sum->part[i].source == source)
			return &sum->part[i];
	if (sum->parts == TW_SUM_PARTS_MAX ||
	    !tw_resize(&sum->part, sum->parts + 1, sizeof(*part))) {
		s->left_out++;
		return NULL;
	}
	part = &sum->part[sum->parts++];
	*part = (struct tw_sum_part){ .kind = kind, .source = source };
	return part;
}

void tw_sum_add(struct tw_sums *s, struct tw_sum *sum, enum tw_zone_kind kind,
		const char *source, uint64_t dynamic_uj, uint64_t idle_uj)
{
	struct tw_sum_part *part = sum != NULL ? part_of(s, sum, kind, source) : NULL;

	if (part == NULL)
		return;
	part->dynamic_uj += dynamic_uj;
	part->idle_uj += idle_uj;
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

void tw_sum_power(struct tw_sums *s, struct tw_sum *sum, enum tw_zone_kind kind,
		  const char *source, double watts)
{
	struct tw_sum_part *part = sum != NULL ? part_of(s, sum, kind, source) : NULL;

	if (part == NULL)
		return;
	part->watts += watts;
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

const char *tw_sums_source(struct tw_sums *s, const char *name)
{
	const ptrdiff_t at = tw_strs_find(&s->sources, name);
	struct tw_err err = { 0 };

	if (at >= 0)
		return s->sources.at[at];
	if (s->sources.count == SOURCES_MAX ||
	    tw_strs_adds(&s->sources, name, &err) < 0) {
		s->left_out++;
		return NULL;
	}
	return s->sources.at[s->sources.count - 1];
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
