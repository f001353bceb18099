/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/profile.h"

#include "lib/core/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more of n things of a size. */
static void *grow(void *at, size_t n, size_t size, struct tw_err *err)
{
	void *more = realloc(at, (n + 1) * size);

	if (more == NULL)
		tw_fail(err, TW_NOMEM, "profile of %zu entries", n);
	return more;
}

static int compare_doubles(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double within(double watts)
{
	return fmin(fmax(watts, 0.0), TW_PROFILE_WATTS_MAX);
}

int tw_profile_add_power(struct tw_profile *p, const struct tw_energy_source *source,
			 enum tw_component component, uint32_t node_type,
			 const double *watts, size_t rows, struct tw_err *err)
{
	const struct tw_profile_power *old =
		tw_profile_find(p, source, component, node_type);
	struct tw_profile_power entry = { source, component, node_type, 0, 0, 0, rows };
	double *sorted = malloc(rows * sizeof(*sorted));
	struct tw_profile_power *more;

	if (sorted == NULL)
		return tw_fail(err, TW_NOMEM, "profile of %zu rows", rows);
	memcpy(sorted, watts, rows * sizeof(*sorted));
	qsort(sorted, rows, sizeof(*sorted), compare_doubles);
	entry.min_w = within(sorted[0]);
	entry.median_w = (within(sorted[(rows - 1) / 2]) + within(sorted[rows / 2])) / 2;
	entry.max_w = within(sorted[rows - 1]);
	free(sorted);
	if (old != NULL) {
		p->power[old - p->power] = entry;
		return 0;
	}
	more = grow(p->power, p->powers, sizeof(*more), err);
	if (more == NULL)
		return -1;
	p->power = more;
	p->power[p->powers++] = entry;
	return 0;
}

int tw_profile_add_scaler(struct tw_profile *p, const struct tw_feature_group *group,
			  uint32_t node_type, const char *feature, double max,
			  struct tw_err *err)
{
	struct tw_profile_scaler *more;
	char *name;

	for (size_t i = 0; i < p->scalers; i++) {
		struct tw_profile_scaler *s = &p->scaler[i];

		if (s->group != group || s->node_type != node_type ||
		    strcmp(s->feature, feature) != 0)
			continue;
		s->max = max > s->max ? max : s->max;
		return 0;
	}
	more = grow(p->scaler, p->scalers, sizeof(*more), err);
	if (more == NULL)
		return -1;
	p->scaler = more;
	name = strdup(feature);
	if (name == NULL)
		return tw_fail(err, TW_NOMEM, "profile of '%s'", feature);
	p->scaler[p->scalers++] =
		(struct tw_profile_scaler){ group, node_type, name, max };
	return 0;
}

static struct tw_profile_background *find_background(const struct tw_profile *p,
						     uint32_t node_type)
{
	for (size_t i = 0; i < p->backgrounds; i++)
		if (p->background[i].node_type == node_type)
			return &p->background[i];
	return NULL;
}

int tw_profile_add_background(struct tw_profile *p, uint32_t node_type, const char *name,
			      struct tw_err *err)
{
	struct tw_profile_background *b = find_background(p, node_type);

	if (b == NULL) {
		struct tw_profile_background *more =
			grow(p->background, p->backgrounds, sizeof(*more), err);

		if (more == NULL)
			return -1;
		p->background = more;
		b = &p->background[p->backgrounds++];
		*b = (struct tw_profile_background){ .node_type = node_type };
	}
	if (tw_strs_has(&b->names, name))
		return 0;
	return tw_strs_adds(&b->names, name, err);
}

const struct tw_profile_power *tw_profile_find(const struct tw_profile *p,
					       const struct tw_energy_source *source,
					       enum tw_component component,
					       uint32_t node_type)
{
	for (size_t i = 0; i < p->powers; i++)
		if (p->power[i].source == source && p->power[i].component == component &&
		    p->power[i].node_type == node_type)
			return &p->power[i];
	return NULL;
}

bool tw_profile_is_background(const struct tw_profile *p, uint32_t node_type,
			      const char *name)
{
	const struct tw_profile_background *b = find_background(p, node_type);

	return b != NULL && tw_strs_has(&b->names, name);
}

static int join_power(struct tw_profile *to, const struct tw_profile_power *p,
		      bool replace, struct tw_err *err)
{
	const struct tw_profile_power *old =
		tw_profile_find(to, p->source, p->component, p->node_type);
	struct tw_profile_power *more;

	if (old != NULL) {
		if (replace)
			to->power[old - to->power] = *p;
		return 0;
	}
	more = grow(to->power, to->powers, sizeof(*more), err);
	if (more == NULL)
		return -1;
	to->power = more;
	to->power[to->powers++] = *p;
	return 0;
}

static bool has_scaler(const struct tw_profile *p, const struct tw_profile_scaler *s)
{
	for (size_t i = 0; i < p->scalers; i++)
		if (p->scaler[i].group == s->group &&
		    p->scaler[i].node_type == s->node_type &&
		    strcmp(p->scaler[i].feature, s->feature) == 0)
			return true;
	return false;
}

static int join(struct tw_profile *to, const struct tw_profile *from, bool replace,
		struct tw_err *err)
{
	for (size_t i = 0; i < from->powers; i++)
		if (join_power(to, &from->power[i], replace, err) < 0)
			return -1;
	for (size_t i = 0; i < from->scalers; i++) {
		const struct tw_profile_scaler *s = &from->scaler[i];

		if ((replace || !has_scaler(to, s)) &&
		    tw_profile_add_scaler(to, s->group, s->node_type, s->feature, s->max,
					  err) < 0)
			return -1;
	}
	for (size_t i = 0; i < from->backgrounds; i++) {
		const struct tw_profile_background *b = &from->background[i];

		for (size_t n = 0; n < b->names.count; n++)
			if (tw_profile_add_background(to, b->node_type, b->names.at[n],
						      err) < 0)
				return -1;
	}
	return 0;
}

int tw_profile_join(struct tw_profile *to, const struct tw_profile *from,
		    struct tw_err *err)
{
	return join(to, from, false, err);
}

int tw_profile_update(struct tw_profile *to, const struct tw_profile *from,
		      struct tw_err *err)
{
	return join(to, from, true, err);
}

void tw_profile_release(struct tw_profile *p)
{
	for (size_t i = 0; i < p->scalers; i++)
		free(p->scaler[i].feature);
	for (size_t i = 0; i < p->backgrounds; i++)
		tw_strs_clear(&p->background[i].names);
	free(p->power);
	free(p->scaler);
	free(p->background);
	*p = (struct tw_profile){ 0 };
}
