/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/index_machines.h"

#include "lib/core/err.h"
#include "model-db/index/index_impl.h"
#include "profiler/node_choice.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

size_t tw_index_machine_count(const struct tw_index *x)
{
	return x->machines.count;
}

const struct tw_index_machine *tw_index_machine_at(const struct tw_index *x, size_t i)
{
	assert(i < x->machines.count);
	return &x->machines.at[i];
}

static int by_place(const void *a, const void *b)
{
	const struct tw_index_machine *x = a, *y = b;
	int d = strcmp(x->pipeline, y->pipeline);

	if (d != 0)
		return d;
	return (x->node_type > y->node_type) - (x->node_type < y->node_type);
}

const struct tw_index_machine *
tw_index_machine_find(const struct tw_index *x, const char *pipeline, long long node_type)
{
	const struct tw_index_machine want = { .pipeline = pipeline,
					       .node_type = node_type };

	if (x->machines.count == 0)
		return NULL;
	return bsearch(&want, x->machines.at, x->machines.count, sizeof(want), by_place);
}

static const struct tw_node_type *find_type(const struct tw_index_pipeline *p,
					    long long number)
{
	for (size_t i = 0; i < p->types.count; i++)
		if (p->types.at[i].number == number)
			return &p->types.at[i];
	return NULL;
}

/* What the pipeline's list of node types knows goes before what a model says. */
static void describe(const struct tw_index *x, const struct tw_index_entry *e,
		     struct tw_index_machine *m)
{
	const struct tw_index_pipeline *p = tw_index_pipeline_find(x, e->pipeline);
	const struct tw_node_type *type = p != NULL ? find_type(p, e->node_type) : NULL;

	m->pipeline = e->pipeline;
	m->node_type = e->node_type;
	m->members = type != NULL && type->members.count > 0 ? type->members.count : 1;
	if (type != NULL && tw_machine_spec_known(&type->spec))
		m->spec = type->spec;
	else
		m->spec = *e->spec;
}

static int by_machine(const void *a, const void *b)
{
	const struct tw_index_entry *const *p = a, *const *q = b;
	const struct tw_index_entry *x = *p, *y = *q;

	if (x->pipeline != y->pipeline)
		return strcmp(x->pipeline, y->pipeline);
	if (x->node_type != y->node_type)
		return x->node_type < y->node_type ? -1 : 1;
	/* One that knows its machine first; else in order of place. */
	if (tw_machine_spec_known(x->spec) != tw_machine_spec_known(y->spec))
		return tw_machine_spec_known(x->spec) ? -1 : 1;
	return x < y ? -1 : x > y;
}

static bool same_machine(const struct tw_index_entry *a, const struct tw_index_entry *b)
{
	return a->pipeline == b->pipeline && a->node_type == b->node_type;
}

static int by_processor(const void *a, const void *b)
{
	const struct tw_index_machine *const *x = a, *const *y = b;
	int d = strcmp((*x)->spec.processor, (*y)->spec.processor);

	return d != 0 ? d : (*x > *y) - (*x < *y);
}

static int sort_by_processor(struct tw_index_machines *m, struct tw_err *err)
{
	m->by_processor = calloc(m->count + 1, sizeof(*m->by_processor));
	m->letters = calloc(m->count + 1, sizeof(*m->letters));
	if (m->by_processor == NULL || m->letters == NULL)
		return tw_fail(err, TW_NOMEM, "%zu machines", m->count);
	for (size_t i = 0; i < m->count; i++)
		m->by_processor[i] = &m->at[i];
	qsort(m->by_processor, m->count, sizeof(*m->by_processor), by_processor);
	for (size_t i = 0; i < m->count; i++)
		tw_letters_of(m->by_processor[i]->spec.processor, &m->letters[i]);
	return 0;
}

int tw_index_machines_make(struct tw_index *x, struct tw_err *err)
{
	struct tw_index_entry **sorted = calloc(x->count + 1, sizeof(*sorted));
	struct tw_index_machines *m = &x->machines;
	int rc = -1;

	m->at = calloc(x->count + 1, sizeof(*m->at));
	if (sorted == NULL || m->at == NULL) {
		tw_fail(err, TW_NOMEM, "machines of %zu models", x->count);
		goto out;
	}
	for (size_t i = 0; i < x->count; i++)
		sorted[i] = &x->entry[i];
	qsort(sorted, x->count, sizeof(*sorted), by_machine);
	for (size_t i = 0; i < x->count; i++) {
		if (i == 0 || !same_machine(sorted[i - 1], sorted[i]))
			describe(x, sorted[i], &m->at[m->count++]);
		sorted[i]->machine = &m->at[m->count - 1];
	}
	if (sort_by_processor(m, err) < 0)
		goto out;
	rc = 0;
out:
	free(sorted);
	return rc;
}

void tw_index_machines_release(struct tw_index_machines *m)
{
	free(m->at);
	free(m->by_processor);
	free(m->letters);
	*m = (struct tw_index_machines){ 0 };
}

/* The first place at or behind which processors are at least this one. */
static size_t lower_bound(const struct tw_index_machines *m, const char *processor)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(m->by_processor[middle]->spec.processor, processor) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int by_similarity(const void *a, const void *b)
{
	const struct tw_index_similar *x = a, *y = b;

	if (x->similarity < y->similarity || x->similarity > y->similarity)
		return x->similarity > y->similarity ? -1 : 1;
	if (x->machine->members != y->machine->members)
		return x->machine->members > y->machine->members ? -1 : 1;
	return (x->machine > y->machine) - (x->machine < y->machine);
}

/* How alike; the text's part is the same for all machines of one processor. */
struct comparison {
	const struct tw_machine_spec *spec;
	struct tw_letters letters;
	const char *processor; /* of the text's part; NULL: none yet */
	double text;
};

static double compare(struct comparison *c, const struct tw_machine_spec *other,
		      const struct tw_letters *letters)
{
	if (tw_node_equal(c->spec, other))
		return 1;
	if (c->processor == NULL || strcmp(c->processor, other->processor) != 0) {
		c->processor = other->processor;
		c->text = tw_similarity_processor(c->spec, &c->letters, other, letters);
	}
	return c->text + tw_similarity_figures(c->spec, other);
}

int tw_index_similar(const struct tw_index *x, const struct tw_machine_spec *spec,
		     double least, bool one_processor, struct tw_index_similar **out,
		     size_t *count, struct tw_err *err)
{
	const struct tw_index_machines *m = &x->machines;
	size_t from = one_processor ? lower_bound(m, spec->processor) : 0, to, n = 0;
	struct comparison c = { .spec = spec };
	struct tw_index_similar *list;

	for (to = one_processor ? from : m->count; to < m->count; to++)
		if (strcmp(m->by_processor[to]->spec.processor, spec->processor) != 0)
			break;
	list = calloc(to - from + 1, sizeof(*list));
	if (list == NULL)
		return tw_fail(err, TW_NOMEM, "%zu similar machines", to - from);
	tw_letters_of(spec->processor, &c.letters);
	for (size_t i = from; i < to; i++) {
		const struct tw_index_machine *other = m->by_processor[i];
		const double similarity = compare(&c, &other->spec, &m->letters[i]);

		if (similarity >= least)
			list[n++] = (struct tw_index_similar){ other, similarity };
	}
	qsort(list, n, sizeof(*list), by_similarity);
	*out = list;
	*count = n;
	return 0;
}
