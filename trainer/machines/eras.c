/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/machines/eras.h"

#include "lib/core/err.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* An era needs this part of the table before it: fewer machines predict too badly. */
#define EARLIER_SHARE 8

struct search {
	const struct tw_era_table *t;
	struct tw_process_stranger *out;
	size_t count;
	double *weight; /* of the prior's rows: 0 from the era on */
};

static bool is_of(const struct search *s, size_t i, enum tw_prior_category c, int level)
{
	return s->t->row[i].category[c] == level;
}

/* The range of the machines before the era. */
static void clip(const struct search *s, size_t first, struct tw_prior_member *frame)
{
	for (size_t n = 0; n < TW_PRIOR_NUMBERS; n++) {
		double low = INFINITY, high = -INFINITY;

		for (size_t i = 0; i < first; i++) {
			const double x = tw_prior_number(s->t->frame, &s->t->row[i],
							 (enum tw_prior_number)n);

			if (isnan(x))
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

/* The era's first machine is `first`. */
static void add_era(struct search *s, enum tw_prior_category c, int level, size_t first)
{
	const struct tw_era_table *t = s->t;
	struct tw_prior_view without = *t->view;
	struct tw_prior_member frame = *t->frame;

	memset(s->weight, 0, t->prior->rows * sizeof(*s->weight));
	for (size_t i = 0; i < first; i++)
		s->weight[t->from[i]] = 1;
	without.member[0].target[0].weight = s->weight;
	clip(s, first, &frame);
	for (size_t i = first; i < t->rows; i++) {
		struct tw_process_stranger *x = &s->out[s->count];
		struct tw_prior_machine m;

		if (!is_of(s, i, c, level))
			continue;
		*x = (struct tw_process_stranger){ .row = i, .from = first };
		tw_prior_machine_of_row(t->prior, t->from[i], &m);
		tw_prior_locate(t->prior, &without, &m, &x->as);
		memcpy(x->as.number, t->row[i].number, sizeof(x->as.number));
		tw_prior_standardise(t->view, &frame, &x->as, x->z);
		s->count++;
	}
}

static void add_eras(struct search *s, enum tw_prior_category c)
{
	for (size_t level = 0; level < s->t->prior->names[c].count; level++) {
		size_t machines = 0, first = 0;

		for (size_t i = s->t->rows; i-- > 0;)
			if (is_of(s, i, c, (int)level)) {
				machines++;
				first = i;
			}
		if (machines >= TW_ERA_MIN && first >= s->t->rows / EARLIER_SHARE)
			add_era(s, c, (int)level, first);
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
