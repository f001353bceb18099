/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/machines/pupils.h"

#include "lib/core/err.h"
#include "trainer/machines/machine_table.h"

#include <math.h>
#include <stdlib.h>

#define ROWS_MIN 20

void tw_pupils_release(struct tw_pupils *s)
{
	free(s->row);
	free(s->machine);
	free(s->at);
	free(s->group);
	free(s->z);
	free(s->y);
	free(s->result);
}

bool tw_pupils_has_needs(const struct tw_prior_view *v, const struct tw_prior_row *r)
{
	for (size_t n = 0; n < TW_PRIOR_NUMBERS; n++)
		if ((v->needs >> n & 1) != 0 && isnan(r->number[n]))
			return false;
	return true;
}

int tw_pupils_of(const struct tw_prior *p, const struct tw_machine_table *t,
		 const bool *use, const struct tw_prior_view *v, struct tw_pupils *out,
		 struct tw_err *err)
{
	const size_t n = t->count + 1;

	out->row = calloc(n, sizeof(*out->row));
	out->machine = calloc(n, sizeof(*out->machine));
	out->at = calloc(n, sizeof(*out->at));
	out->group = calloc(n, sizeof(*out->group));
	out->z = calloc(n, sizeof(*out->z));
	out->y = calloc(n, sizeof(*out->y));
	out->result = calloc(n, sizeof(*out->result));
	if (out->row == NULL || out->machine == NULL || out->at == NULL ||
	    out->group == NULL || out->z == NULL || out->y == NULL || out->result == NULL)
		return tw_fail(err, TW_NOMEM, "%zu machines", t->count);
	for (size_t i = 0; i < t->count; i++) {
		if (!use[i] || !tw_pupils_has_needs(v, &p->row[i]))
			continue;
		out->row[out->count] = &p->row[i];
		out->machine[out->count] = &t->machine[i];
		out->at[out->count] = i;
		out->group[out->count++] = t->machine[i].processor;
	}
	if (out->count < ROWS_MIN)
		return tw_fail(err, TW_INVALID,
			       "%zu machines with the attributes of '%s', need %d",
			       out->count, v->name, ROWS_MIN);
	return 0;
}

void tw_pupils_range(const struct tw_prior_row *const *row, size_t rows,
		     struct tw_prior_member *m, enum tw_prior_number n)
{
	double sum = 0, squares = 0;
	size_t count = 0;

	m->low[n] = INFINITY;
	m->high[n] = -INFINITY;
	for (size_t i = 0; i < rows; i++) {
		const double x = tw_prior_number(m, row[i], n);

		if (isnan(x))
			continue;
		sum += x;
		squares += x * x;
		count++;
		m->low[n] = fmin(m->low[n], x);
		m->high[n] = fmax(m->high[n], x);
	}
	m->mean[n] = count > 0 ? sum / (double)count : 0;
	m->sd[n] =
		count > 0
			? sqrt(fmax(squares / (double)count - m->mean[n] * m->mean[n], 0))
			: 0;
	if (!(m->sd[n] > 1e-6))
		m->sd[n] = 1;
	if (count == 0)
		m->low[n] = m->high[n] = 0;
}
