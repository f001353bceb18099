/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/power_series.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "trainer/extract/clean.h"
#include "trainer/extract/clock.h"
#include "trainer/extract/counter_series.h"
#include "trainer/extract/falls.h"
#include "trainer/extract/meter_views.h"
#include "trainer/extract/metric_series.h"
#include "trainer/extract/package_shares.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * A meter that has not moved for this long, and for three times its usual interval, has
 * stopped: tw-collector rejects such a meter, too.
 */
#define STOPPED_MS 30000

/* A meter with this multiple of the samples' interval is slower than they are; samples so
 * far apart lack others. */
#define APART 1.5

/* tw-collector loses the energy of a time without readings if it is longer. */
#define ABSENT_MS 60000
#define ABSENT_STEPS 10

/* Power of one component and its packages over time. The columns hold joules until
 * derive(). */
struct curve {
	enum tw_component component;
	bool is_gauge;
	double factor;              /* from the metric's unit */
	int64_t *from_ms, *time_ms; /* from_ms is set by drop_first_time() */
	size_t count, room;
	size_t *view;  /* of the meter, for each sample */
	bool *stopped; /* the time before this sample has no known power */
	double *watts; /* columns of `room` values: the component, then its packages */
	const char *package[1 + TW_PACKAGES_MAX]; /* name for each column; NULL: all */
	size_t columns;
	size_t merged; /* series that others repeat */
};

static void release_curve(struct curve *c)
{
	free(c->from_ms);
	free(c->time_ms);
	free(c->view);
	free(c->stopped);
	free(c->watts);
	*c = (struct curve){ 0 };
}

static double *column_at(const struct curve *c, size_t column)
{
	return c->watts + column * c->room;
}

/* Energy series of one package, or of all (NULL), as counters of the meter's views. Their
 * key is the schema's unit labels. */
static int find_views(const struct tw_metric_series *m, const char *package,
		      enum tw_compat compat, struct tw_meter_views *out,
		      struct tw_err *err)
{
	struct tw_counter_set *c = &out->counters;
	const struct tw_series *s;
	size_t i = 0;

	while ((s = tw_metric_series_next(m, &i)) != NULL) {
		if (package != NULL &&
		    tw_series_label(s, m->schema->package_label) != package)
			continue;
		if (tw_counter_set_add(c, m->schema->unit_labels, 0, s, err) < 0)
			return -1;
	}
	tw_counter_set_sort(c);
	if (compat != TW_COMPAT_NONE)
		return 0;
	if (tw_clean_series(c, m, true, err) < 0 ||
	    (m->metric->kind == TW_METRIC_ENERGY && tw_clean_twins(c, err) < 0))
		return -1;
	return tw_meter_views_split(out, m, err);
}

/* Keep the times at which all counters of a view have a sample; other sums lack a part.
 */
static void keep_whole(struct curve *c, const struct tw_merged_series *t,
		       const struct tw_meter_views *v)
{
	size_t n = 0, k = 0;

	for (size_t i = 0; i < t->count; i++) {
		while (k + 1 < v->count &&
		       (double)t->at[i].time_ms >= v->at[k + 1].from_ms)
			k++;
		if (v->count > 0 && t->at[i].keys < v->at[k].keys)
			continue;
		c->time_ms[n] = t->at[i].time_ms;
		c->view[n] = k;
		c->watts[n++] = t->at[i].value;
	}
	c->count = n;
}

/*
 * Energy to power, in place:
 *
 *	P[i] = (E[i] - E[i-1]) / step,	step = t[i] - t[i-1]
 *
 * Times are the exporter's own (trainer/extract/clock.h). With TW_COMPAT_KMS the step is
 * the mean of all steps. Where energy falls, the previous
 * power is repeated (0 at the start). P[i] is stored at i - 1, so that drop_first_time()
 * has only the times to move.
 */
static void derive(const struct curve *c, double *watts, double factor,
		   enum tw_compat compat, const struct tw_clock *clock)
{
	double mean_s, last = 0, at_ms, before_ms;
	size_t place = 0;

	if (c->count < 2)
		return;
	mean_s = (double)(c->time_ms[c->count - 1] - c->time_ms[0]) / 1e3 /
		 (double)(c->count - 1);
	at_ms = tw_clock_at(clock, c->time_ms[0], &place);
	for (size_t i = 1; i < c->count; i++) {
		double step_s;
		double joules = (watts[i] - watts[i - 1]) * factor;

		before_ms = at_ms;
		at_ms = tw_clock_at(clock, c->time_ms[i], &place);
		step_s = (at_ms - before_ms) / 1e3;
		if (joules >= 0)
			last = joules / (compat == TW_COMPAT_KMS ? mean_s : step_s);
		watts[i - 1] = last;
	}
}

/* Power of a gauge. Its first sample is dropped too: features have no rate there. */
static void shift(const struct curve *c, double *watts, double factor)
{
	for (size_t i = 1; i < c->count; i++)
		watts[i - 1] = watts[i] * factor;
}

static void drop_first_time(struct curve *c)
{
	c->count -= c->count > 0;
	memmove(c->stopped, c->stopped + 1, c->count * sizeof(*c->stopped));
	memcpy(c->from_ms, c->time_ms, c->count * sizeof(*c->time_ms));
	memmove(c->time_ms, c->time_ms + 1, c->count * sizeof(*c->time_ms));
}

/*
 * Add a column with the joules of one package, at the times of the curve. No column is
 * added if the component has no series of the package.
 */
static int add_package(struct curve *c, const struct tw_metric_series *m,
		       const char *package, enum tw_compat compat, struct tw_err *err)
{
	double *joules = column_at(c, c->columns);
	struct tw_meter_views views = { 0 };
	const struct tw_counter_set *counters = &views.counters;
	struct tw_merged_series track = { 0 };
	size_t n = 0;
	int rc = -1;

	if (find_views(m, package, compat, &views, err) < 0 ||
	    tw_merged_series_join(&track, counters->at, counters->count, err) < 0)
		goto out;
	for (size_t i = 0; i < track.count && n < c->count; i++)
		if (track.at[i].time_ms == c->time_ms[n])
			joules[n++] = track.at[i].value;
	/* Keys may collide: labels 'a/b' and 'c' give the same key as 'a' and 'b/c'. */
	if (counters->count > 0 && n < c->count) {
		tw_fail(err, TW_INVALID,
			"%s: package '%s' has no sample at %" PRId64
			" ms, but the sum over packages has",
			m->metric->name, package, c->time_ms[n]);
		goto out;
	}
	if (counters->count > 0)
		c->package[c->columns++] = package;
	rc = 0;
out:
	tw_merged_series_release(&track);
	tw_meter_views_release(&views);
	return rc;
}

/* Start a curve with the joules of the component. */
static int begin_curve(struct curve *c, const struct tw_metric_series *m,
		       enum tw_compat compat, size_t packages, struct tw_err *err)
{
	struct tw_meter_views views = { 0 };
	const struct tw_counter_set *counters = &views.counters;
	struct tw_merged_series track = { 0 };
	int rc = -1;

	if (find_views(m, NULL, compat, &views, err) < 0 ||
	    tw_merged_series_join(&track, counters->at, counters->count, err) < 0)
		goto out;
	c->room = track.count + 1;
	c->component = m->metric->component;
	c->is_gauge = m->metric->kind == TW_METRIC_POWER;
	c->factor = m->metric->factor;
	if (TW_NEW(c->from_ms, c->room, err) < 0 ||
	    TW_NEW(c->time_ms, c->room, err) < 0 || TW_NEW(c->view, c->room, err) < 0 ||
	    TW_NEW(c->stopped, c->room, err) < 0 ||
	    TW_NEW(c->watts, c->room * (1 + packages), err) < 0)
		goto out;
	keep_whole(c, &track, &views);
	c->columns = 1;
	c->merged = counters->merged;
	rc = 0;
out:
	tw_merged_series_release(&track);
	tw_meter_views_release(&views);
	return rc;
}

static int make_curve(const struct tw_metric_series *m, const struct tw_extract_args *a,
		      const struct tw_packages *packages, struct curve *out,
		      struct tw_err *err)
{
	if (tw_metric_check_rates(m, a, err) < 0 ||
	    begin_curve(out, m, a->compat, packages->count, err) < 0)
		return -1;
	for (size_t k = 0; k < packages->count; k++)
		if (add_package(out, m, packages->name[k], a->compat, err) < 0)
			return -1;
	return 0;
}

/* Turn joules into watts. */
static void finish_curve(struct curve *c, const struct tw_extract_args *a,
			 const struct tw_clock *clock)
{
	for (size_t i = 0; i < c->columns; i++) {
		if (c->is_gauge)
			shift(c, column_at(c, i), c->factor);
		else
			derive(c, column_at(c, i), c->factor, a->compat, clock);
	}
	drop_first_time(c);
}

/* Advance each curve to the next time that they share; false at the end. */
static bool find_common(const struct curve *c, size_t count, size_t *at)
{
	size_t same = 0;

	while (same < count) {
		same = 0;
		for (size_t k = 0; k < count; k++) {
			int64_t first = at[0] < c[0].count ? c[0].time_ms[at[0]] : 0;

			while (at[k] < c[k].count && c[k].time_ms[at[k]] < first)
				at[k]++;
			if (at[k] == c[k].count)
				return false;
			if (c[k].time_ms[at[k]] > first) {
				/* Curve k lacks this time of the first curve. */
				at[0]++;
				break;
			}
			same++;
		}
	}
	return true;
}

/* ---- times at which the meter has moved ---- */

/* Move the sample at `from` of each curve to `to`. */
static void move_sample(struct curve *c, size_t count, const size_t *from, size_t to)
{
	for (size_t k = 0; k < count; k++) {
		c[k].time_ms[to] = c[k].time_ms[from[k]];
		c[k].view[to] = c[k].view[from[k]];
		for (size_t i = 0; i < c[k].columns; i++)
			column_at(&c[k], i)[to] = column_at(&c[k], i)[from[k]];
	}
}

/* Keep the times that all curves share. */
static void keep_common(struct curve *c, size_t count)
{
	size_t at[TW_COMPONENT_COUNT] = { 0 }, n = 0;

	for (; find_common(c, count, at); at[0]++)
		move_sample(c, count, at, n++);
	for (size_t k = 0; k < count; k++)
		c[k].count = n;
}

/* Whether a component has moved from one sample to another; a gauge always has. */
static bool has_moved(const struct curve *c, size_t count, size_t from, size_t to)
{
	for (size_t k = 0; k < count; k++)
		if (c[k].is_gauge || c[k].watts[from] != c[k].watts[to])
			return true;
	return false;
}

/* Whether two samples of a component are of two views, whose sums differ. */
static bool has_changed_view(const struct curve *c, size_t count, size_t from, size_t to)
{
	for (size_t k = 0; k < count; k++)
		if (c[k].view[from] != c[k].view[to])
			return true;
	return false;
}

/* The upper median; sorts the times. */
static int64_t median(int64_t *ms, size_t count)
{
	qsort(ms, count, sizeof(*ms), tw_compare_int64);
	return ms[count / 2];
}

/* Usual times between samples, and between those at which the meter has moved. */
struct pace {
	int64_t sample_ms, reading_ms;
};

static int find_pace(const struct curve *c, size_t count, struct pace *out,
		     struct tw_err *err)
{
	int64_t *step = calloc(2 * c->count + 1, sizeof(*step));
	int64_t *moved = step + c->count;
	size_t last = 0, n = 0;

	if (step == NULL)
		return tw_fail(err, TW_NOMEM, "%zu samples of power", c->count);
	for (size_t i = 1; i < c->count; i++) {
		step[i - 1] = c->time_ms[i] - c->time_ms[i - 1];
		if (!has_moved(c, count, last, i))
			continue;
		moved[n++] = c->time_ms[i] - c->time_ms[last];
		last = i;
	}
	out->sample_ms = median(step, c->count - (c->count > 0));
	out->reading_ms = median(moved, n);
	free(step);
	return 0;
}

/*
 * Whether the meter is slower than the samples, and moved before this one, at a time that
 * no sample shows: the reading lasts for less than usual.
 */
static bool is_untimed(const struct curve *c, size_t count, const struct pace *p,
		       size_t i)
{
	size_t next = i + 1;

	if (p->reading_ms <= APART * p->sample_ms ||
	    (i > 0 && c->time_ms[i] - c->time_ms[i - 1] <= APART * p->sample_ms))
		return false;
	while (next < c->count && !has_moved(c, count, i, next))
		next++;
	return next == c->count || c->time_ms[next] - c->time_ms[i] < p->reading_ms;
}

/*
 * Drop the times at which neither the meter nor the exporter's clock has moved on: the
 * sample repeats the one before it, and the next one has the energy of both steps. What
 * follows a stop is marked: the pause, and what the meter grew by, are in no row. So is
 * what begins or ends with an untimed reading, and the change to another view.
 */
static int drop_repeats(struct curve *c, size_t count, const struct tw_clock *clock,
			size_t *repeats, struct tw_err *err)
{
	size_t n = 0, place = 0;
	int64_t patience_ms, repeat_ms = 0;
	double kept_ms = 0;
	bool untimed = false;
	struct pace pace;

	if (find_pace(c, count, &pace, err) < 0)
		return -1;
	patience_ms = 3 * pace.reading_ms;
	if (patience_ms < STOPPED_MS)
		patience_ms = STOPPED_MS;
	for (size_t i = 0; i < c->count; i++) {
		const double at_ms = tw_clock_at(clock, c->time_ms[i], &place);
		const bool untimed_before = untimed;
		size_t from[TW_COMPONENT_COUNT];

		if (n > 0 && !(at_ms > kept_ms && has_moved(c, count, n - 1, i))) {
			++*repeats;
			repeat_ms = c->time_ms[i];
			continue;
		}
		untimed = is_untimed(c, count, &pace, i);
		c->stopped[n] = n > 0 &&
				(repeat_ms - c->time_ms[n - 1] > patience_ms || untimed ||
				 untimed_before || has_changed_view(c, count, n - 1, i));
		for (size_t k = 0; k < count; k++)
			from[k] = i;
		move_sample(c, count, from, n++);
		kept_ms = at_ms;
	}
	for (size_t k = 0; k < count; k++)
		c[k].count = n;
	return 0;
}

static bool has_fallen(double before, double value)
{
	return value < before && !tw_counter_dips(before, value);
}

/* Mark the times at which a series has fallen. */
static void stop_at_falls(const struct curve *c, const struct tw_series *s)
{
	struct tw_unpack times = tw_unpack_begin(&s->time_ms);
	struct tw_unpack values = tw_unpack_begin(&s->value);
	double before = -INFINITY;
	size_t n = 0;

	for (size_t i = 0; !tw_packed_rises(&s->value) && i < s->value.count; i++) {
		const int64_t ms = (int64_t)tw_unpack_next(&times);
		const double value = tw_unpack_next(&values);

		n = tw_times_find(c->time_ms, c->count, n, ms);
		if (n < c->count && has_fallen(before, value))
			c->stopped[n] = true;
		before = value;
	}
}

/*
 * A counter that falls has reached the end of its range, as RAPL's does after 43 minutes
 * at 100 W, or was reset: how much the component grew is not known, and no row of any
 * component has that step. The sum over counters falls if the exporter's next series
 * counts from 0; in the sum the fall of one counter may be hidden by the others.
 */
static void stop_at_resets(const struct curve *first, const struct curve *c,
			   const struct tw_metric_series *m)
{
	const struct tw_series *s;
	size_t next = 0;

	if (c->is_gauge)
		return;
	for (size_t i = 1; i < c->count; i++)
		first->stopped[i] |= has_fallen(c->watts[i - 1], c->watts[i]);
	while ((s = tw_metric_series_next(m, &next)) != NULL)
		stop_at_falls(first, s);
}

/* The growth of the component's counters. A counter that was reset counts from 0. */
static double sum_growth(const struct curve *c)
{
	double sum = 0;

	for (size_t i = 1; !c->is_gauge && i < c->count; i++) {
		if (c->stopped[i])
			continue;
		if (c->watts[i] >= c->watts[i - 1])
			sum += c->watts[i] - c->watts[i - 1];
		else if (!tw_counter_dips(c->watts[i - 1], c->watts[i]))
			sum += c->watts[i];
	}
	return sum * c->factor;
}

/* ---- the table ---- */

/* Allocate the columns: the components, then their packages. */
static int add_columns(const struct curve *c, size_t count, struct tw_power_series *out,
		       struct tw_err *err)
{
	const size_t room = c[0].count + 1;
	size_t columns = 0, n = count;

	for (size_t k = 0; k < count; k++)
		columns += c[k].columns;
	if (TW_NEW(out->from_ms, room, err) < 0 || TW_NEW(out->time_ms, room, err) < 0 ||
	    TW_NEW(out->column, columns, err) < 0 ||
	    TW_NEW(out->memory, room * columns, err) < 0)
		return -1;
	for (size_t k = 0; k < count; k++)
		for (size_t i = 0; i < c[k].columns; i++)
			out->column[i == 0 ? k : n++] =
				(struct tw_power_column){ c[k].component, c[k].package[i],
							  NULL };
	for (size_t i = 0; i < columns; i++)
		out->column[i].watts = out->memory + i * room;
	out->columns = columns;
	return 0;
}

/* Join the curves at their shared times; times at which all are 0 W, and those
 * after a stop, are dropped. */
static int join_curves(const struct curve *c, size_t count, struct tw_power_series *out,
		       struct tw_err *err)
{
	size_t at[TW_COMPONENT_COUNT] = { 0 };

	if (add_columns(c, count, out, err) < 0)
		return -1;
	for (; find_common(c, count, at); at[0]++) {
		bool any = false;
		size_t n = count;

		for (size_t k = 0; k < count; k++) {
			for (size_t i = 0; i < c[k].columns; i++)
				out->column[i == 0 ? k : n++].watts[out->times] =
					column_at(&c[k], i)[at[k]];
			any |= column_at(&c[k], 0)[at[k]] != 0;
		}
		out->from_ms[out->times] = c[0].from_ms[at[0]];
		out->time_ms[out->times] = c[0].time_ms[at[0]];
		out->times += any && !c[0].stopped[at[0]];
	}
	return 0;
}

int tw_power_series_extract(const struct tw_extract_input *in,
			    const struct tw_packages *packages,
			    const struct tw_clock *clock, struct tw_power_series *out,
			    struct tw_err *err)
{
	const struct tw_extract_args *a = in->args;
	const size_t components = in->components;
	struct curve curve[TW_COMPONENT_COUNT] = { 0 };
	struct tw_power_series power = { 0 };
	int rc = -1;

	for (size_t k = 0; k < components; k++)
		if (make_curve(&in->power[k], a, packages, &curve[k], err) < 0)
			goto out;
	for (size_t k = 0; k < components; k++)
		power.merged += curve[k].merged;
	if (a->compat == TW_COMPAT_NONE) {
		keep_common(curve, components);
		if (drop_repeats(curve, components, clock, &power.repeats, err) < 0)
			goto out;
		for (size_t k = 0; k < components && a->resets != TW_RESETS_CARRY; k++)
			stop_at_resets(&curve[0], &curve[k], &in->power[k]);
		power.grown_j = sum_growth(&curve[0]);
	}
	for (size_t k = 0; k < components; k++)
		finish_curve(&curve[k], a, clock);
	if (join_curves(curve, components, &power, err) < 0)
		goto out;
	*out = power;
	power = (struct tw_power_series){ 0 };
	rc = 0;
out:
	for (size_t k = 0; k < TW_COMPONENT_COUNT; k++)
		release_curve(&curve[k]);
	tw_power_series_release(&power);
	return rc;
}

static int64_t step_of(const struct tw_power_series *p, size_t k)
{
	return p->time_ms[k] - p->from_ms[k];
}

/* The median step; 0 without rows. */
static int find_usual_step(const struct tw_power_series *p, int64_t *out,
			   struct tw_err *err)
{
	int64_t *step = calloc(p->times + 1, sizeof(*step));

	if (step == NULL)
		return tw_fail(err, TW_NOMEM, "%zu steps", p->times);
	for (size_t k = 0; k < p->times; k++)
		step[k] = step_of(p, k);
	*out = median(step, p->times);
	free(step);
	return 0;
}

int tw_power_series_drop_absences(struct tw_power_series *p, const struct tw_ticks *ticks,
				  struct tw_err *err)
{
	size_t n = 0, place = 0;
	int64_t usual;

	if (find_usual_step(p, &usual, err) < 0)
		return -1;
	for (size_t k = 0; k < p->times; k++) {
		const int64_t step = step_of(p, k);

		if (step > ABSENT_MS && step > ABSENT_STEPS * usual &&
		    tw_ticks_before(ticks, p->time_ms[k], &place) > p->from_ms[k]) {
			tw_power_series_forget(p, k);
			continue;
		}
		tw_power_series_move(p, n++, k);
	}
	p->times = n;
	return 0;
}

void tw_power_series_forget(struct tw_power_series *p, size_t k)
{
	p->grown_j -=
		fmin(p->grown_j, p->column[0].watts[k] * (double)step_of(p, k) / 1e3);
}

void tw_power_series_move(struct tw_power_series *p, size_t to, size_t from)
{
	for (size_t c = 0; c < p->columns; c++)
		p->column[c].watts[to] = p->column[c].watts[from];
	p->from_ms[to] = p->from_ms[from];
	p->time_ms[to] = p->time_ms[from];
}

void tw_power_series_release(struct tw_power_series *p)
{
	free(p->from_ms);
	free(p->time_ms);
	free(p->column);
	free(p->memory);
	*p = (struct tw_power_series){ 0 };
}
