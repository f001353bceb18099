/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/node_types.h"

#include "lib/core/err.h"

#include <string.h>

static struct tw_node_type *find_number(struct tw_node_types *t, uint32_t number)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->at[i].number == number)
			return &t->at[i];
	return NULL;
}

static int merge_type(struct tw_node_types *t, const struct tw_node_type *from,
		      struct tw_err *err)
{
	struct tw_node_type *type = find_number(t, from->number);

	if (type == NULL &&
	    tw_node_types_add(t, from->number, &from->spec, &type, err) < 0)
		return -1;
	if (tw_machine_spec_known(&from->spec))
		type->spec = from->spec;
	for (size_t i = 0; i < from->members.count; i++)
		if (!tw_strs_has(&type->members, from->members.at[i]) &&
		    tw_strs_adds(&type->members, from->members.at[i], err) < 0)
			return -1;
	return 0;
}

int tw_node_types_merge(struct tw_node_types *t, const struct tw_node_types *from,
			struct tw_err *err)
{
	for (size_t i = 0; i < from->count; i++)
		if (merge_type(t, &from->at[i], err) < 0)
			return -1;
	return 0;
}

static bool contradict(uint32_t a, uint32_t b)
{
	return a != 0 && b != 0 && a != b;
}

/* What one of them does not know is no difference. */
static bool may_be_one(const struct tw_machine_spec *a, const struct tw_machine_spec *b)
{
	if (a->processor[0] != '\0' && b->processor[0] != '\0' &&
	    strcmp(a->processor, b->processor) != 0)
		return false;
	return !contradict(a->cores, b->cores) && !contradict(a->chips, b->chips) &&
	       !contradict(a->memory_gib, b->memory_gib) &&
	       !contradict(a->frequency_mhz, b->frequency_mhz);
}

static const struct tw_node_type *find_type(const struct tw_node_types *t,
					    const char *name,
					    const struct tw_machine_spec *spec)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct tw_node_type *type = &t->at[i];

		if (name != NULL
			    ? tw_strs_has(&type->members, name)
			    : type->members.count == 0 && may_be_one(&type->spec, spec))
			return type;
	}
	return NULL;
}

int tw_node_types_place(struct tw_node_types *t, const char *name,
			const struct tw_machine_spec *spec, uint32_t *number,
			struct tw_err *err)
{
	const struct tw_node_type *found = find_type(t, name, spec);
	struct tw_node_type *type;
	uint32_t next;

	if (found != NULL) {
		*number = found->number;
		return 0;
	}
	/* They are in order. */
	next = t->count > 0 ? t->at[t->count - 1].number + 1 : 0;
	if (tw_node_types_add(t, next, spec, &type, err) < 0)
		return -1;
	if (name != NULL && tw_strs_adds(&type->members, name, err) < 0)
		return -1;
	*number = next;
	return 0;
}
