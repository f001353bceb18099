/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The most alike other machine of each node type of a pipeline.
 *
 *	left_out <node_type_index.json> <node type>..
 *
 * Only the node types that are given take part. A line each: node type, the other one,
 * likeness, ratio of physical cores, ratio of chips. The choice is that of
 * model-db/index/choose.c without the machine itself: the highest likeness, then the most
 * members.
 */
#include "lib/core/err.h"
#include "profiler/likeness.h"
#include "profiler/node_types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct machine {
	const struct tw_node_type *type;
	struct tw_likeness likeness;
};

static size_t find_nearest(const struct machine *m, size_t count, size_t self,
			   double *best)
{
	size_t found = self;

	*best = 0;
	for (size_t i = 0; i < count; i++) {
		double l;

		if (i == self)
			continue;
		l = tw_likeness(&m[self].likeness, &m[i].likeness);
		if (l < *best || (l <= *best && m[i].type->members.count <=
							m[found].type->members.count))
			continue;
		found = i;
		*best = l;
	}
	return found;
}

static double ratio(double a, double b)
{
	return a > 0 && b > 0 ? a / b : 1;
}

/* NaN: unknown. */
static double count_physical(const struct machine *m)
{
	return exp(m->likeness.log_cores_per_chip) * m->type->spec.chips;
}

static void print_nearest(const struct machine *m, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		double likeness;
		const size_t j = find_nearest(m, count, i, &likeness);
		const struct tw_machine_spec *a = &m[i].type->spec, *b = &m[j].type->spec;

		if (j != i)
			printf("%u %u %.6f %.9g %.9g\n", m[i].type->number,
			       m[j].type->number, likeness,
			       ratio(count_physical(&m[i]), count_physical(&m[j])),
			       ratio(a->chips, b->chips));
	}
}

static const struct tw_node_type *find_type(const struct tw_node_types *t,
					    const char *text)
{
	for (size_t i = 0; i < t->count; i++) {
		char number[16];

		snprintf(number, sizeof(number), "%u", t->at[i].number);
		if (strcmp(number, text) == 0)
			return &t->at[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct tw_node_types types = { 0 };
	struct machine *m = calloc((size_t)argc, sizeof(*m));
	struct tw_err err = { 0 };
	size_t count = 0;

	if (argc < 3 || m == NULL || tw_node_types_read(argv[1], &types, &err) < 0) {
		fprintf(stderr, "left_out: %s\n", err.text);
		free(m);
		return 1;
	}
	for (int i = 2; i < argc; i++) {
		m[count].type = find_type(&types, argv[i]);
		if (m[count].type == NULL)
			continue;
		tw_likeness_of(&m[count].type->spec, &m[count].likeness);
		count++;
	}
	print_nearest(m, count);
	tw_node_types_release(&types);
	free(m);
	return 0;
}
