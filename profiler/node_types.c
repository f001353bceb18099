/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/node_types.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHERE_TEXT 256
#define FILE_MAX ((size_t)64 << 20)

static int make_room(struct tw_node_types *t, struct tw_err *err)
{
	if (t->count >= TW_NODE_TYPES_MAX)
		return tw_fail(err, TW_INVALID, "more than %d node types",
			       TW_NODE_TYPES_MAX);
	if (!tw_grow(&t->at, &t->size, t->count, sizeof(*t->at)))
		return tw_fail(err, TW_NOMEM, "%zu node types", t->count);
	return 0;
}

int tw_node_types_add(struct tw_node_types *t, uint32_t number,
		      const struct tw_machine_spec *spec, struct tw_node_type **out,
		      struct tw_err *err)
{
	size_t i = t->count;

	/* Types usually arrive in ascending order. */
	while (i > 0 && t->at[i - 1].number >= number)
		i--;
	if (i < t->count && t->at[i].number == number)
		return tw_fail(err, TW_INVALID, "node type %u appears twice", number);
	if (make_room(t, err) < 0)
		return -1;
	memmove(&t->at[i + 1], &t->at[i], (t->count - i) * sizeof(t->at[0]));
	t->at[i] = (struct tw_node_type){ .number = number, .spec = *spec };
	t->count++;
	if (out != NULL)
		*out = &t->at[i];
	return 0;
}

static int read_type(struct tw_node_types *t, const char *key, const json_t *v,
		     const char *index, struct tw_err *err)
{
	char where[WHERE_TEXT], attrs_where[WHERE_TEXT + 8];
	struct tw_machine_spec spec;
	struct tw_node_type *type;
	const json_t *obj;
	uint32_t number;

	if (tw_parse_u32(key, 0, INT32_MAX, &number, err) < 0)
		return tw_err_wrap(err, "%s", index);
	snprintf(where, sizeof(where), "%s.%s", index, key);
	snprintf(attrs_where, sizeof(attrs_where), "%s.attrs", where);
	if (tw_json_object(v, where, "attrs", false, &obj, err) < 0 ||
	    tw_machine_spec_from_json(obj, attrs_where, &spec, err) < 0)
		return -1;
	if (tw_node_types_add(t, number, &spec, &type, err) < 0)
		return tw_err_wrap(err, "%s", index);
	return tw_json_strs(v, where, "members", true, &type->members, err);
}

int tw_node_types_from_json(json_t *obj, const char *where, struct tw_node_types *out,
			    struct tw_err *err)
{
	struct tw_node_types t = { 0 };
	const char *key;
	json_t *v;
	int rc = -1;

	if (!json_is_object(obj)) {
		tw_fail(err, TW_INVALID, "%s: expected an object, got %s", where,
			tw_json_type_name(obj));
		goto out;
	}
	json_object_foreach(obj, key, v) {
		if (read_type(&t, key, v, where, err) < 0)
			goto out;
	}

	*out = t;
	t = (struct tw_node_types){ 0 };
	rc = 0;
out:
	tw_node_types_release(&t);
	return rc;
}

json_t *tw_node_types_to_json(const struct tw_node_types *t)
{
	json_t *index = json_object();

	for (size_t i = 0; i < t->count; i++) {
		json_t *attrs = tw_machine_spec_to_json(&t->at[i].spec);
		char key[16];

		/* These do not define a type. */
		json_object_del(attrs, "vendor");
		json_object_del(attrs, "threads_per_core");
		snprintf(key, sizeof(key), "%u", t->at[i].number);
		if (json_object_set_new(index, key,
					json_pack("{s:o, s:o}", "attrs", attrs, "members",
						  tw_json_texts(&t->at[i].members))) <
		    0) {
			json_decref(index);
			return NULL;
		}
	}
	return index;
}

void tw_node_types_release(struct tw_node_types *t)
{
	for (size_t i = 0; i < t->count; i++)
		tw_strs_clear(&t->at[i].members);
	free(t->at);
	*t = (struct tw_node_types){ 0 };
}

int tw_node_types_read(const char *path, struct tw_node_types *out, struct tw_err *err)
{
	json_t *index = NULL;
	int rc = -1;

	if (tw_json_read(path, FILE_MAX, &index, err) == 0 &&
	    tw_node_types_from_json(index, path, out, err) == 0)
		rc = 0;
	json_decref(index);
	return rc;
}

/* ---- merging ---- */

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

/* Whether both may describe one machine: unknown attributes do not differ. */
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
	next = t->count > 0 ? t->at[t->count - 1].number + 1 : 0;
	if (tw_node_types_add(t, next, spec, &type, err) < 0)
		return -1;
	if (name != NULL && tw_strs_adds(&type->members, name, err) < 0)
		return -1;
	*number = next;
	return 0;
}
