/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/machines/prior_learn.h"

#include "lib/core/err.h"
#include "model-db/prior/prior_variance.h"
#include "trainer/machines/machine_table.h"
#include "trainer/machines/nearest_error.h"
#include "trainer/machines/prior_error.h"
#include "trainer/machines/prior_fit.h"
#include "trainer/machines/pupils.h"

#include <math.h>
#include <stdlib.h>

#define MACHINES_MIN 100
#define YEARS_AHEAD 5
#define YEARS_STEP 2

struct later {
	const struct tw_prior *p;
	const struct tw_machine_table *t;
	const bool *use;
	bool *before; /* machines up to the year */
	struct tw_prior then;
	struct tw_prior_held_out *judged; /* of each view */
	size_t size;
};

/* ---- years ---- */

static size_t count_until(const struct later *s, int year)
{
	size_t n = 0;

	for (size_t i = 0; i < s->t->count; i++)
		n += s->use[i] && s->t->machine[i].year <= year;
	return n;
}

static bool is_ahead(const struct later *s, size_t i, int year)
{
	return s->use[i] && s->t->machine[i].year > year &&
	       s->t->machine[i].year <= year + YEARS_AHEAD;
}

/* The first year with enough machines, and the last one with later machines. */
static void find_years(const struct later *s, int *first, int *last)
{
	int low = 9999, high = 0;

	for (size_t i = 0; i < s->t->count; i++)
		if (s->use[i]) {
			const int year = s->t->machine[i].year;

			low = year < low ? year : low;
			high = year > high ? year : high;
		}
	while (low < high && count_until(s, low) < MACHINES_MIN)
		low++;
	*first = low;
	*last = high - 1;
}

/* ---- one year ---- */

static bool knew_generation(const struct later *s, size_t i)
{
	const int generation = s->p->row[i].category[TW_PRIOR_GENERATION];

	for (size_t k = 0; generation >= 0 && k < s->t->count; k++)
		if (s->before[k] &&
		    s->p->row[k].category[TW_PRIOR_GENERATION] == generation)
			return true;
	return false;
}

static int judge(struct later *s, size_t v, size_t i, int year, struct tw_err *err)
{
	const struct tw_prior_view *view = &s->then.view[v];
	struct tw_prior_held_out *h = &s->judged[v];
	double log_w[TW_PRIOR_LOADS];
	struct tw_prior_row r = s->then.row[i];
	double parts = 1;

	if (h->rows == s->size || !tw_pupils_has_needs(view, &r))
		return 0;
	if (view->unit != TW_PRIOR_OF_MACHINE)
		parts *= r.number[TW_PRIOR_CHIPS];
	if (view->unit == TW_PRIOR_OF_CORE)
		parts *= r.number[TW_PRIOR_CORES];
	tw_prior_part(view, &r);
	tw_prior_view_log_w(&s->then, view, &r, log_w);
	if (tw_prior_variance(&s->then, view, &r, TW_PRIOR_ALL_ANCHORS,
			      h->variance[h->rows], err) < 0)
		return -1;
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
		h->log_ratio[h->rows][l] = log(s->t->machine[i].w[l] / parts) - log_w[l] +
					   h->variance[h->rows][l];
	h->group[h->rows++] =
		(size_t)year * s->t->processors + s->t->machine[i].processor;
	return 0;
}

static int try_year(struct later *s, int year, unsigned threads, struct tw_err *err)
{
	for (size_t i = 0; i < s->t->count; i++)
		s->before[i] = s->use[i] && s->t->machine[i].year <= year;
	if (tw_prior_learn_known(&s->then, s->t, s->before, threads, err) < 0)
		return -1;
	for (size_t i = 0; i < s->t->count; i++)
		if (is_ahead(s, i, year) && !knew_generation(s, i))
			for (size_t v = 0; v < s->then.views; v++)
				if (judge(s, v, i, year, err) < 0)
					return -1;
	return 0;
}

/* ---- all years ---- */

static int set_misses(struct later *s, struct tw_prior *p, struct tw_err *err)
{
	for (size_t v = 0; v < p->views; v++) {
		struct tw_prior_view *view = &p->view[v];

		view->later = view->known;
		if (s->judged[v].rows > 0 &&
		    tw_prior_find_misses(&s->judged[v], view->factor, &view->later, err) <
			    0)
			return -1;
		for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
			view->later.width[l] =
				fmax(view->later.width[l], view->known.width[l]);
			view->later.error[l] =
				fmax(view->later.error[l], view->known.error[l]);
		}
	}
	return 0;
}

static int begin(struct later *s, int years, struct tw_err *err)
{
	if (tw_prior_begin(s->t, tw_prior_kinds(s->p), &s->then, err) < 0)
		return -1;
	s->size = s->t->count * (size_t)(years > 0 ? years : 0);
	s->before = calloc(s->t->count + 1, sizeof(*s->before));
	s->judged = calloc(s->p->views + 1, sizeof(*s->judged));
	if (s->before == NULL || s->judged == NULL)
		return tw_fail(err, TW_NOMEM, "%zu machines", s->t->count);
	for (size_t v = 0; v < s->p->views; v++) {
		if (tw_prior_held_out_new(s->size, &s->judged[v], err) < 0)
			return -1;
		s->judged[v].rows = 0;
	}
	return 0;
}

static int find_later(struct tw_prior *p, const struct tw_machine_table *t,
		      const bool *use, unsigned threads, struct tw_err *err)
{
	struct later s = { .p = p, .t = t, .use = use };
	int first, last, rc = -1;

	find_years(&s, &first, &last);
	if (begin(&s, last - first + 1, err) < 0)
		goto out;
	for (int year = first; year <= last; year += YEARS_STEP)
		if (try_year(&s, year, threads, err) < 0)
			goto out;
	rc = set_misses(&s, p, err);
out:
	for (size_t v = 0; s.judged != NULL && v < p->views; v++)
		tw_prior_held_out_release(&s.judged[v]);
	free(s.judged);
	free(s.before);
	tw_prior_release(&s.then);
	return rc;
}

int tw_prior_learn(struct tw_prior *p, const struct tw_machine_table *t, const bool *use,
		   unsigned threads, struct tw_err *err)
{
	if (tw_prior_learn_known(p, t, use, threads, err) < 0)
		return -1;
	tw_nearest_error(t, use, p);
	return find_later(p, t, use, threads, err);
}
