/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/node_types.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"
#include "profiler/likeness.h"

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
		json_object_del(attrs, "system_vendor");
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

/* The attributes that make a node type, a bit each. */
enum { PROCESSOR = 1, CORES = 2, CHIPS = 4, MEMORY = 8, FREQUENCY = 16, ATTRS = 5 };

/* Attributes other than 0 and "" (profiler/spec.h). */
static unsigned known_attrs(const struct tw_machine_spec *s)
{
	return (s->processor[0] != '\0' ? PROCESSOR : 0u) | (s->cores ? CORES : 0u) |
	       (s->chips ? CHIPS : 0u) | (s->memory_gib ? MEMORY : 0u) |
	       (s->frequency_mhz ? FREQUENCY : 0u);
}

/* Attributes that are known and equal in both. */
static unsigned equal_attrs(const struct tw_machine_spec *a,
			    const struct tw_machine_spec *b)
{
	unsigned equal = 0;

	if (strcmp(a->processor, b->processor) == 0)
		equal |= PROCESSOR;
	if (a->cores == b->cores)
		equal |= CORES;
	if (a->chips == b->chips)
		equal |= CHIPS;
	if (a->memory_gib == b->memory_gib)
		equal |= MEMORY;
	if (a->frequency_mhz == b->frequency_mhz)
		equal |= FREQUENCY;
	return equal & known_attrs(a);
}

static unsigned count_bits(unsigned set)
{
	unsigned n = 0;

	for (; set != 0; set &= set - 1)
		n++;
	return n;
}

static size_t members_of(const struct tw_node_type *n)
{
	return n->members.count > 0 ? n->members.count : 1;
}

/* Number of members of all types that equal the spec in these attributes. */
static double count_members(const struct tw_node_types *t,
			    const struct tw_machine_spec *spec, unsigned wanted)
{
	double count = 0;

	for (size_t i = 0; i < t->count; i++)
		if ((equal_attrs(spec, &t->at[i].spec) & wanted) == wanted)
			count += (double)members_of(&t->at[i]);
	return count;
}

/* The type with most members that agrees with all known attributes, or NULL. */
static const struct tw_node_type *find_equal(const struct tw_node_types *t,
					     const struct tw_machine_spec *spec)
{
	const unsigned wanted = known_attrs(spec);
	const struct tw_node_type *best = NULL;

	for (size_t i = 0; i < t->count; i++) {
		const struct tw_node_type *n = &t->at[i];

		if (equal_attrs(spec, &n->spec) == wanted &&
		    (best == NULL || members_of(n) > members_of(best)))
			best = n;
	}
	return best;
}

static const struct tw_node_type *find_similar(const struct tw_node_types *t,
					       const struct tw_machine_spec *spec,
					       double *similarity)
{
	const struct tw_node_type *best = NULL;

	for (size_t i = 0; i < t->count; i++) {
		const struct tw_node_type *n = &t->at[i];
		const double s = tw_similarity(spec, &n->spec);

		if (best != NULL &&
		    (s < *similarity ||
		     (s <= *similarity && members_of(n) <= members_of(best))))
			continue;
		best = n;
		*similarity = s;
	}
	return best;
}

bool tw_node_equal(const struct tw_machine_spec *a, const struct tw_machine_spec *b)
{
	const unsigned known = known_attrs(a);

	return known != 0 && equal_attrs(a, b) == known;
}

static void rate_choice(const struct tw_node_types *t, const struct tw_machine_spec *spec,
			const struct tw_node_type *n, struct tw_node_choice *out)
{
	const unsigned known = known_attrs(spec), agreed = equal_attrs(spec, &n->spec);
	double certainty = (double)members_of(n) / count_members(t, spec, agreed);

	/* The fewer attributes are known, the more types are possible. */
	if (agreed != known)
		certainty /= 1 + (double)(ATTRS - count_bits(known)) /
					 (ATTRS - count_bits(agreed));
	out->node_type = n->number;
	out->uncertainty = 1 - certainty;
	out->looseness = agreed == known ? 0 : 1 - tw_similarity(spec, &n->spec);
}

bool tw_node_judge(const struct tw_node_types *t, const struct tw_machine_spec *spec,
		   uint32_t number, struct tw_node_choice *out)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->at[i].number == number) {
			rate_choice(t, spec, &t->at[i], out);
			return true;
		}
	}
	return false;
}

bool tw_node_choose(const struct tw_node_types *t, const struct tw_machine_spec *spec,
		    bool loose, struct tw_node_choice *out)
{
	const struct tw_node_type *n = find_equal(t, spec);
	double similarity;

	if (n == NULL && loose)
		n = find_similar(t, spec, &similarity);
	if (n == NULL)
		return false;
	rate_choice(t, spec, n, out);
	return true;
}
