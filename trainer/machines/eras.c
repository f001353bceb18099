/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/machines/eras.h"

#include "lib/core/err.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OTHERS_MIN 20

struct search {
	const struct tw_era_table *t;
	struct tw_process_stranger *out;
	size_t count, eras;
	double *weight; /* of the prior's rows: 0 for those of the era */
};

static bool is_of(const struct search *s, size_t i, enum tw_prior_category c, int level)
{
	return s->t->row[i].category[c] == level;
}

/* The range of the machines that remain. */
static void clip(const struct search *s, enum tw_prior_category c, int level,
		 struct tw_prior_member *frame)
{
	for (size_t n = 0; n < TW_PRIOR_NUMBERS; n++) {
		double low = INFINITY, high = -INFINITY;

		for (size_t i = 0; i < s->t->rows; i++) {
			const double x = tw_prior_number(s->t->frame, &s->t->row[i],
							 (enum tw_prior_number)n);

			if (is_of(s, i, c, level) || isnan(x))
				continue;
			low = fmin(low, x);
			high = fmax(high, x);
		}
		if (low <= high) {
			frame->low[n] = low;
			frame->high[n] = high;
		}
	}
}

static void add_era(struct search *s, enum tw_prior_category c, int level)
{
	const struct tw_era_table *t = s->t;
	struct tw_prior_view without = *t->view;
	struct tw_prior_member frame = *t->frame;

	memset(s->weight, 0, t->prior->rows * sizeof(*s->weight));
	for (size_t i = 0; i < t->rows; i++)
		s->weight[t->from[i]] = !is_of(s, i, c, level);
	without.member[0].target[0].weight = s->weight;
	clip(s, c, level, &frame);
	for (size_t i = 0; i < t->rows; i++) {
		struct tw_process_stranger *x = &s->out[s->count];
		struct tw_prior_machine m;

		if (!is_of(s, i, c, level))
			continue;
		*x = (struct tw_process_stranger){ .row = i, .era = s->eras };
		tw_prior_machine_of_row(t->prior, t->from[i], &m);
		tw_prior_locate(t->prior, &without, &m, &x->as);
		memcpy(x->as.number, t->row[i].number, sizeof(x->as.number));
		tw_prior_standardise(t->view, &frame, &x->as, x->z);
		s->count++;
	}
	s->eras++;
}

static void add_eras(struct search *s, enum tw_prior_category c)
{
	for (size_t level = 0; level < s->t->prior->names[c].count; level++) {
		size_t machines = 0;

		for (size_t i = 0; i < s->t->rows; i++)
			machines += is_of(s, i, c, (int)level);
		if (machines >= TW_ERA_MIN && s->t->rows - machines >= OTHERS_MIN)
			add_era(s, c, (int)level);
	}
}

int tw_eras_find(const struct tw_era_table *t, struct tw_process_stranger **out,
		 size_t *count, struct tw_err *err)
{
	struct search s = { .t = t };

	s.out = calloc(2 * t->rows + 1, sizeof(*s.out));
	s.weight = calloc(t->prior->rows + 1, sizeof(*s.weight));
	if (s.out == NULL || s.weight == NULL) {
		free(s.out);
		free(s.weight);
		return tw_fail(err, TW_NOMEM, "%zu machines", t->rows);
	}
	add_eras(&s, TW_PRIOR_GENERATION);
	add_eras(&s, TW_PRIOR_MEMORY_TYPE);
	free(s.weight);
	*out = s.out;
	*count = s.count;
	return 0;
}
