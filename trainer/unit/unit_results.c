/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/unit/unit_results.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/date.h"
#include "lib/core/err.h"
#include "lib/json/writer.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The newest part is this share of the blocks. */
#define NEWEST_SHARE 4
#define LEAST_CHANGE 0.05

/* Blocks from first on, borrowed. */
static struct tw_unit_blocks part(const struct tw_unit_blocks *b, size_t first,
				  size_t count)
{
	struct tw_unit_blocks p = *b;

	p.count = count;
	p.bound_ms += first;
	p.energy_j += first;
	p.idle_j += first;
	p.work += first * b->works;
	p.inner_work += first * b->works;
	p.intensity += first;
	p.batch += first;
	return p;
}

/* Difference as a multiple of what counts as drift. */
static double compare(const struct tw_unit_value *before, const struct tw_unit_value *now)
{
	const double least = fmax(hypot(before->high - before->low, now->high - now->low),
				  LEAST_CHANGE * before->at);

	return least > 0 ? fabs(now->at - before->at) / least : 0;
}

static void judge(const struct tw_unit_fit *before, const struct tw_unit_fit *now,
		  struct tw_unit_drift *out)
{
	double most = compare(&before->standing_w, &now->standing_w);

	*out = (struct tw_unit_drift){ .work = SIZE_MAX,
				       .before = before->standing_w.at,
				       .now = now->standing_w.at,
				       .seconds = now->seconds };
	for (size_t k = 0; k < before->works; k++) {
		const struct tw_unit_value *b = &before->work[k].joules;
		const struct tw_unit_value *n = &now->work[k].joules;

		if (compare(b, n) <= most)
			continue;
		most = compare(b, n);
		out->work = k;
		out->before = b->at;
		out->now = n->at;
	}
	out->state = most > 1 ? TW_UNIT_DRIFT_SEEN : TW_UNIT_DRIFT_NONE;
}

int tw_unit_drift_find(const struct tw_unit_blocks *b, struct tw_unit_drift *out,
		       struct tw_err *err)
{
	const size_t share = b->count / NEWEST_SHARE;
	const size_t newest = share > TW_UNIT_DRIFT_BLOCKS ? share : TW_UNIT_DRIFT_BLOCKS;
	struct tw_unit_fit before = { 0 }, now = { 0 };
	struct tw_unit_blocks old, new;
	struct tw_err why = { 0 };

	*out = (struct tw_unit_drift){ 0 };
	if (b->count < newest + TW_UNIT_DRIFT_BLOCKS)
		return 0;
	old = part(b, 0, b->count - newest);
	new = part(b, b->count - newest, newest);
	if (tw_unit_fit(&old, &before, &why) == 0 && tw_unit_fit(&new, &now, &why) == 0)
		judge(&before, &now, out);
	tw_unit_fit_release(&before);
	tw_unit_fit_release(&now);
	return why.code == TW_NOMEM ? tw_fail(err, TW_NOMEM, "drift of a unit") : 0;
}

static const char not_yet[] = "not evaluated yet";

int tw_unit_results_open(struct tw_unit_results *r, const struct tw_unit_file *f,
			 struct tw_err *err)
{
	*r = (struct tw_unit_results){ .file = f };
	pthread_mutex_init(&r->lock, NULL);
	if (TW_NEW(r->unit, f->count, err) < 0)
		return -1;
	for (size_t i = 0; i < f->count; i++) {
		struct tw_unit_history *h = &r->unit[i];

		h->reason = not_yet;
		snprintf(h->problem, sizeof(h->problem), "%s", not_yet);
		if (TW_NEW(h->evaluation, TW_UNIT_HISTORY, err) < 0 ||
		    tw_unit_data_open(&h->asked, &f->unit[i].ask, "", err) < 0)
			return -1;
	}
	return 0;
}

void tw_unit_results_close(struct tw_unit_results *r)
{
	for (size_t i = 0; r->unit != NULL && i < r->file->count; i++) {
		tw_unit_data_release(&r->unit[i].asked);
		tw_strs_clear(&r->unit[i].warnings);
		free(r->unit[i].evaluation);
	}
	free(r->unit);
	pthread_mutex_destroy(&r->lock);
}

bool tw_unit_results_add(struct tw_unit_results *r, size_t i,
			 const struct tw_unit_evaluation *e, struct tw_strs *warnings)
{
	struct tw_unit_history *h = &r->unit[i];
	struct tw_strs before;
	bool changed;

	pthread_mutex_lock(&r->lock);
	changed = !h->up;
	h->up = true;
	h->drifts = e->drift == TW_UNIT_DRIFT_SEEN;
	h->reason = "";
	h->problem[0] = '\0';
	h->evaluation[h->added++ % TW_UNIT_HISTORY] = *e;
	before = h->warnings;
	h->warnings = *warnings;
	pthread_mutex_unlock(&r->lock);
	*warnings = (struct tw_strs){ 0 };
	tw_strs_clear(&before);
	return changed;
}

/* Few words: they are the value of a label. */
static const char *reason_of(const struct tw_err *why)
{
	static const char *const reasons[TW_CODE_COUNT] = {
		[TW_NOMEM] = "no memory",      [TW_IO] = "no answer",
		[TW_PARSE] = "wrong answer",   [TW_INVALID] = "no result",
		[TW_NOTFOUND] = "no series",   [TW_UNSUPPORTED] = "too much",
		[TW_DENIED] = "not permitted",
	};

	return reasons[why->code] != NULL ? reasons[why->code] : "no answer";
}

bool tw_unit_results_fail(struct tw_unit_results *r, size_t i, const struct tw_err *why)
{
	struct tw_unit_history *h = &r->unit[i];
	const char *reason = reason_of(why);
	bool changed;

	pthread_mutex_lock(&r->lock);
	changed = h->up || strcmp(h->reason, reason) != 0;
	h->up = false;
	h->reason = reason;
	snprintf(h->problem, sizeof(h->problem), "%s", why->text);
	pthread_mutex_unlock(&r->lock);
	return changed;
}

/* The last evaluation that gave numbers, or NULL. */
static const struct tw_unit_evaluation *last(const struct tw_unit_history *h)
{
	return h->added > 0 ? &h->evaluation[(h->added - 1) % TW_UNIT_HISTORY] : NULL;
}

/* ---- exposition ---- */

enum { UP };

static const struct tw_expo_family families[] = {
	[UP] = { "tallywatt_unit_up", TW_EXPO_GAUGE, NULL,
		 "1 if the last evaluation of a unit of work gave numbers, else 0." },
};

#define VALUE(name, unit, help, member)                                \
	TW_EXPO_ROW("tallywatt_unit_" name, TW_EXPO_GAUGE, unit, help, \
		    struct tw_unit_value, member, 1)

static const struct tw_expo_row joules[] = {
	VALUE("joules", "joules", "Energy of one more unit of the counter's work.", at),
	VALUE("low_joules", "joules", "Lower end of its interval of 90 %.", low),
	VALUE("high_joules", "joules", "Upper end of its interval of 90 %.", high),
};

static const struct tw_expo_row standing[] = {
	VALUE("standing_watts", "watts", "Power of the service with no work.", at),
	VALUE("standing_low_watts", "watts", "Lower end of its interval of 90 %.", low),
	VALUE("standing_high_watts", "watts", "Upper end of its interval of 90 %.", high),
};

/* Figures of the last evaluation; NAN: no sample. */
struct gauges {
	double r2, residual_w, drift, warnings, to_s;
};

#define GAUGE(name, unit, help, member)                                               \
	TW_EXPO_ROW("tallywatt_unit_" name, TW_EXPO_GAUGE, unit, help, struct gauges, \
		    member, 1)

static const struct tw_expo_row gauges[] = {
	GAUGE("r2", NULL, "Share of the variance of power that work explains.", r2),
	GAUGE("residual_watts", "watts", "Usual power that work does not explain.",
	      residual_w),
	GAUGE("drift", NULL,
	      "1 if the newest quarter of the window has other joules or standing power.",
	      drift),
	GAUGE("warnings", NULL,
	      "Reasons to doubt the numbers: /api/v1/units has the texts.", warnings),
};
static const struct tw_expo_row evaluated[] = {
	GAUGE("evaluated_timestamp_seconds", "seconds",
	      "End of the window of the last evaluation that gave numbers.", to_s),
};

const struct tw_expo_table tw_unit_families[] = {
	TW_EXPO_TABLE(families), TW_EXPO_TABLE(joules),    TW_EXPO_TABLE(standing),
	TW_EXPO_TABLE(gauges),   TW_EXPO_TABLE(evaluated), { .first = NULL },
};

static void write_up(const struct tw_unit_results *r, struct tw_expo *e)
{
	tw_expo_family(e, &families[UP]);
	for (size_t i = 0; i < r->file->count; i++) {
		const struct tw_expo_label label[] = {
			{ "unit", r->file->unit[i].name },
			{ "reason", r->unit[i].reason },
		};

		tw_expo_count(e, label, 2, r->unit[i].up);
	}
}

static void write_joules(const struct tw_unit_results *r, const struct tw_expo_row *row,
			 struct tw_expo *e)
{
	tw_expo_family(e, &row->family);
	for (size_t i = 0; i < r->file->count; i++) {
		const struct tw_unit_history *h = &r->unit[i];

		for (size_t k = 0; h->up && k < h->asked.in.works; k++) {
			const struct tw_labels l = {
				.at = { { "unit", r->file->unit[i].name },
					{ "counter", h->asked.in.work[k].name } },
				.count = 2
			};

			tw_expo_number(e, row, &l, &last(h)->joules[k]);
		}
	}
}

static double drift_of(const struct tw_unit_evaluation *e)
{
	return e->drift == TW_UNIT_DRIFT_UNKNOWN ? NAN : e->drift == TW_UNIT_DRIFT_SEEN;
}

/* Numbers of the last evaluation, of units that are up; those of `always` of all that
 * ever had one. */
static void write_rows(const struct tw_unit_results *r, const struct tw_expo_row *row,
		       size_t rows, bool always, struct tw_expo *e)
{
	for (size_t n = 0; n < rows; n++) {
		tw_expo_family(e, &row[n].family);
		for (size_t i = 0; i < r->file->count; i++) {
			const struct tw_unit_evaluation *v = last(&r->unit[i]);
			const struct tw_labels l = {
				.at = { { "unit", r->file->unit[i].name } }, .count = 1
			};

			if (v == NULL || !(r->unit[i].up || always))
				continue;
			if (row == standing) {
				tw_expo_number(e, &row[n], &l, &v->standing_w);
				continue;
			}
			tw_expo_number(
				e, &row[n], &l,
				&(struct gauges){
					.r2 = v->r2,
					.residual_w = v->residual_w,
					.drift = drift_of(v),
					.warnings = (double)r->unit[i].warnings.count,
					.to_s = (double)v->to_ms / 1e3 });
		}
	}
}

void tw_unit_results_metrics(struct tw_unit_results *r, struct tw_expo *e)
{
	pthread_mutex_lock(&r->lock);
	write_up(r, e);
	for (size_t n = 0; n < TW_COUNT(joules); n++)
		write_joules(r, &joules[n], e);
	write_rows(r, standing, TW_COUNT(standing), false, e);
	write_rows(r, gauges, TW_COUNT(gauges), false, e);
	write_rows(r, evaluated, TW_COUNT(evaluated), true, e);
	pthread_mutex_unlock(&r->lock);
}

/* ---- JSON ---- */

void tw_unit_value_add(struct tw_buf *out, const char *key, const struct tw_unit_value *v)
{
	tw_json_add_object(out, key);
	tw_json_add_number(out, "value", v->at);
	tw_json_add_number(out, "low", v->low);
	tw_json_add_number(out, "high", v->high);
	tw_json_end_object(out);
}

void tw_unit_energy_add(struct tw_buf *out, const char *key, const struct tw_unit_data *d)
{
	tw_json_add_array(out, key);
	for (size_t i = 0; i < d->slots; i++)
		if (d->slot[i].role == TW_UNIT_ENERGY)
			tw_json_add_text(out, NULL, d->slot[i].text);
	tw_json_end_array(out);
}

void tw_unit_results_health(struct tw_unit_results *r, struct tw_buf *out)
{
	pthread_mutex_lock(&r->lock);
	tw_json_add_object(out, "units");
	tw_json_add_array(out, "problems");
	for (size_t i = 0; i < r->file->count; i++) {
		if (r->unit[i].up || r->unit[i].reason == not_yet)
			continue;
		tw_json_add_object(out, NULL);
		tw_json_add_text(out, "unit", r->file->unit[i].name);
		tw_json_add_text(out, "problem", r->unit[i].problem);
		tw_json_end_object(out);
	}
	tw_json_end_array(out);
	tw_json_end_object(out);
	pthread_mutex_unlock(&r->lock);
}

static void add_evaluation(struct tw_buf *out, const struct tw_unit_evaluation *e,
			   size_t works)
{
	char to[TW_DATE_TEXT];

	tw_format_date_ms(e->to_ms, to);
	tw_json_add_object(out, NULL);
	tw_json_add_text(out, "to", to);
	tw_unit_value_add(out, "standing_watts", &e->standing_w);
	tw_json_add_array(out, "joules");
	for (size_t k = 0; k < works; k++)
		tw_unit_value_add(out, NULL, &e->joules[k]);
	tw_json_end_array(out);
	tw_json_add_number(out, "r2", e->r2);
	tw_json_add_number(out, "residual_watts", e->residual_w);
	if (e->drift == TW_UNIT_DRIFT_UNKNOWN)
		tw_json_add_null(out, "drift");
	else
		tw_json_add_bool(out, "drift", e->drift == TW_UNIT_DRIFT_SEEN);
	tw_json_end_object(out);
}

static void add_selectors(struct tw_buf *out, const struct tw_unit_data *d)
{
	tw_unit_energy_add(out, "energy", d);
	tw_json_add_array(out, "counters");
	for (size_t k = 0; k < d->in.works; k++) {
		tw_json_add_object(out, NULL);
		tw_json_add_text(out, "name", d->in.work[k].name);
		tw_json_add_text(out, "selector", tw_unit_data_text(d, TW_UNIT_WORK + k));
		tw_json_end_object(out);
	}
	tw_json_end_array(out);
}

static void add_unit(struct tw_buf *out, const char *name,
		     const struct tw_unit_history *h)
{
	const uint64_t first =
		h->added > TW_UNIT_HISTORY ? h->added - TW_UNIT_HISTORY : 0;

	tw_json_add_object(out, NULL);
	tw_json_add_text(out, "unit", name);
	add_selectors(out, &h->asked);
	tw_json_add_text(out, "problem", h->up ? NULL : h->problem);
	tw_json_add_texts(out, "warnings", &h->warnings);
	tw_json_add_array(out, "evaluations");
	for (uint64_t i = first; i < h->added; i++)
		add_evaluation(out, &h->evaluation[i % TW_UNIT_HISTORY],
			       h->asked.in.works);
	tw_json_end_array(out);
	tw_json_end_object(out);
}

void tw_unit_results_list(struct tw_unit_results *r, struct tw_buf *out)
{
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->file->count; i++)
		add_unit(out, r->file->unit[i].name, &r->unit[i]);
	pthread_mutex_unlock(&r->lock);
}
