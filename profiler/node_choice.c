/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/node_choice.h"

#include "profiler/node_types.h"
#include "profiler/similarity.h"

#include <string.h>

/* One bit for each attribute that makes a node type. */
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
