/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/reply.h"

#include "estimator/models.h"
#include "estimator/predict/power_model.h"
#include "estimator/request.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STEP_NS 40000

static int reserve(struct tw_reply *p, struct tw_err *err)
{
	const size_t rows = p->r->rows, watts = rows * p->wanteds;

	if (watts > p->watts_size) {
		free(p->watts);
		p->watts_size = 0;
		p->watts = malloc(watts * sizeof(*p->watts));
		if (p->watts == NULL)
			return tw_fail(err, TW_NOMEM, "%zu rows", rows);
		p->watts_size = watts;
	}
	if (p->r->version >= 2 && rows > p->outside_size) {
		free(p->outside);
		p->outside_size = 0;
		p->outside = malloc(rows);
		if (p->outside == NULL)
			return tw_fail(err, TW_NOMEM, "%zu rows", rows);
		p->outside_size = rows;
	}
	return 0;
}

/* As many rows at once as a turn can bear; the costliest models' go one by one. */
static size_t rows_of_step(const struct tw_power_model *m)
{
	const uint64_t rows = STEP_NS / (tw_power_model_row_ns(m) + 1);

	return rows < 1 ? 1 : rows > TW_REPLY_ROWS ? TW_REPLY_ROWS : (size_t)rows;
}

/*
 * Kepler 0.7.12 reads entry 0 of the powers of an idle request, which is 0 in all rows,
 * and panics if `powers` is empty. The main component, package or platform, is therefore
 * always told. A model without one tells its first component instead: Kepler takes the
 * number of rows from any array, and a package that is absent as 0.
 */
static void tell_main(struct tw_reply *p)
{
	size_t at = 0;

	for (size_t i = 0; i < p->wanteds; i++)
		if (p->wanted[i].component == TW_PACKAGE ||
		    p->wanted[i].component == TW_PLATFORM)
			at = i;
	if (p->wanteds > 0)
		p->wanted[at].told = true;
}

int tw_reply_begin(struct tw_reply *p, const struct tw_request *r,
		   const struct tw_served *served, const struct tw_reply_series *of,
		   struct tw_buf *out, struct tw_err *err)
{
	p->r = r;
	p->served = served;
	p->out = out;
	p->wanteds = 0;
	p->stage = TW_REPLY_PREDICT;
	p->at = 0;
	p->row = 0;
	p->extrapolated = 0;
	p->step_rows = rows_of_step(served->model);
	for (size_t i = 0; i < tw_power_model_parts(served->model); i++) {
		const enum tw_component c = tw_power_model_component(served->model, i);

		if (r->components != 0 && (r->components & 1u << c) == 0)
			continue;
		p->wanted[p->wanteds].part = i;
		p->wanted[p->wanteds].component = c;
		/* A component that is asked for by name is told even if it is 0. */
		p->wanted[p->wanteds++].told = r->components != 0;
	}
	tell_main(p);
	if (reserve(p, err) < 0)
		return -1;
	return tw_reply_rows_begin(&p->rows, r, tw_power_model_back(served->model), of,
				   err);
}

static double *watts_of(const struct tw_reply *p, size_t wanted)
{
	return p->watts + wanted * p->r->rows;
}

/* Of all parts, also those that are not wanted: what is told is about the model. */
static int mark_outside(struct tw_reply *p, struct tw_rows *rows, struct tw_err *err)
{
	uint32_t place[TW_MODEL_FEATURES_MAX];

	memset(p->outside + p->row, 0, rows->rows);
	rows->place = place;
	for (size_t i = 0; i < tw_power_model_parts(p->served->model); i++) {
		if (tw_power_model_bind(p->served->model, i, &p->r->metrics, place, err) <
		    0)
			return -1;
		tw_power_model_mark_outside(p->served->model, i, rows,
					    p->outside + p->row);
	}
	return 0;
}

/* All components of up to *count rows; *count is how many it was. */
static int predict(struct tw_reply *p, size_t *count, struct tw_err *err)
{
	const struct tw_power_model *model = p->served->model;
	uint32_t place[TW_MODEL_FEATURES_MAX];
	struct tw_rows rows;

	if (tw_reply_rows_get(&p->rows, p->row, *count, &rows, err) < 0)
		return -1;
	*count = rows.rows;
	if (p->r->version >= 2 && mark_outside(p, &rows, err) < 0)
		return -1;
	rows.place = place;
	for (size_t i = 0; i < p->wanteds; i++) {
		double *watts = watts_of(p, i) + p->row;

		if (tw_power_model_bind(model, p->wanted[i].part, &p->r->metrics, place,
					err) < 0)
			return -1;
		tw_power_model_predict(model, p->wanted[i].part, &rows, watts);
		if (tw_answer_check(p->wanted[i].component, watts, p->row, rows.rows,
				    &p->wanted[i].told, err) < 0)
			return tw_err_wrap(err, "model '%s'",
					   tw_power_model_info(model)->name);
	}
	return 0;
}

static void add_text(struct tw_buf *b, const char *key, const char *text)
{
	tw_buf_addf(b, "\"%s\":", key);
	tw_buf_add_json_text(b, text, strlen(text));
}

/* W with three decimals; null where it is not known. */
static void add_watts(struct tw_buf *b, double w)
{
	if (isfinite(w))
		tw_buf_add_double(b, round(w * 1000.0) / 1000.0);
	else
		tw_buf_adds(b, "null");
}

static double figure(const struct tw_reply *p, size_t wanted, const char *name)
{
	return tw_power_model_figure(p->served->model, p->wanted[wanted].part, name);
}

/*
 * Of each row the least and the most that 95 % of the rows were within, which the model
 * had not seen. Where it extrapolates nothing is known of its errors: null.
 */
static void add_intervals(struct tw_reply *p, size_t count)
{
	const double error_95 = figure(p, p->at, "p95");
	const double *watts = watts_of(p, p->at);

	if (p->row == 0)
		tw_buf_addf(p->out, "%s\"%s\":[", p->at > 0 ? "," : "",
			    tw_component_name(p->wanted[p->at].component));
	for (size_t r = p->row; r < p->row + count; r++) {
		tw_buf_adds(p->out, r > 0 ? "," : "");
		if (p->outside[r] != 0 || !isfinite(error_95)) {
			tw_buf_adds(p->out, "null");
			continue;
		}
		tw_buf_adds(p->out, "[");
		add_watts(p->out, fmax(watts[r] - error_95, 0.0));
		tw_buf_adds(p->out, ",");
		add_watts(p->out, watts[r] + error_95);
		tw_buf_adds(p->out, "]");
	}
	if (p->row + count == p->r->rows)
		tw_buf_adds(p->out, "]");
}

static void add_errors(struct tw_reply *p)
{
	tw_buf_adds(p->out, ",\"errors\":{");
	for (size_t i = 0; i < p->wanteds; i++) {
		tw_buf_addf(p->out, "%s\"%s\":{\"mae\":", i > 0 ? "," : "",
			    tw_component_name(p->wanted[i].component));
		add_watts(p->out, figure(p, i, "mae"));
		tw_buf_adds(p->out, ",\"p95\":");
		add_watts(p->out, figure(p, i, "p95"));
		tw_buf_adds(p->out, "}");
	}
	tw_buf_adds(p->out, "}");
}

static void add_origin(struct tw_reply *p)
{
	const int64_t age_s =
		(int64_t)time(NULL) - (int64_t)atomic_load(&p->served->confirmed_s);

	tw_buf_adds(p->out, ",\"origin\":{");
	add_text(p->out, "kind", tw_origin_name(p->served->origin));
	tw_buf_adds(p->out, ",");
	add_text(p->out, "from", p->served->from);
	tw_buf_addf(p->out, ",\"age_s\":%" PRId64 "}", age_s > 0 ? age_s : 0);
}

/* What comes behind the first version's keys, up to the intervals. */
static void add_model(struct tw_reply *p)
{
	const struct tw_model_info *info = tw_power_model_info(p->served->model);

	tw_buf_adds(p->out, ",\"version\":2,");
	add_text(p->out, "model", info->name);
	tw_buf_adds(p->out, ",");
	add_text(p->out, "source", info->source->name);
	add_origin(p);
	add_errors(p);
	tw_buf_adds(p->out, ",\"intervals\":{");
}

static void add_outside(struct tw_reply *p, size_t count)
{
	char text[32];

	for (size_t r = p->row; r < p->row + count; r++) {
		if (p->outside[r] == 0)
			continue;
		snprintf(text, sizeof(text), "%s%zu", p->extrapolated > 0 ? "," : "", r);
		tw_buf_adds(p->out, text);
		p->extrapolated++;
	}
}

static void add_powers(struct tw_reply *p, size_t count)
{
	if (p->row == 0)
		tw_answer_component(&p->answer, p->wanted[p->at].component);
	tw_answer_rows(&p->answer, watts_of(p, p->at) + p->row, count);
}

/* How many lists of rows a stage has. */
static size_t lists_of(const struct tw_reply *p)
{
	return p->stage == TW_REPLY_PREDICT || p->stage == TW_REPLY_OUTSIDE ? 1
									    : p->wanteds;
}

/* Other components that are 0 in all rows have errors and intervals, but no powers. */
static bool is_left_out(const struct tw_reply *p)
{
	return p->stage == TW_REPLY_POWERS && !p->wanted[p->at].told;
}

/* False: that was the last. */
static bool next_stage(struct tw_reply *p)
{
	p->at = 0;
	switch (p->stage++) {
	case TW_REPLY_PREDICT:
		tw_answer_begin(&p->answer, p->out);
		return true;
	case TW_REPLY_POWERS:
		tw_answer_ratio(&p->answer, p->served->core_ratio);
		if (p->r->version < 2)
			break;
		add_model(p);
		return true;
	case TW_REPLY_INTERVALS:
		tw_buf_adds(p->out, "},\"outside\":[");
		return true;
	case TW_REPLY_OUTSIDE:
		tw_buf_addf(p->out, "],\"extrapolated\":%zu", p->extrapolated);
		break;
	}
	tw_answer_end(&p->answer);
	return false;
}

/* Some rows of a list. */
static int step(struct tw_reply *p, struct tw_err *err)
{
	const size_t rest = p->r->rows - p->row;
	const size_t most = p->stage == TW_REPLY_PREDICT ? p->step_rows : TW_REPLY_ROWS;
	size_t count = rest < most ? rest : most;

	switch (p->stage) {
	case TW_REPLY_PREDICT:
		if (predict(p, &count, err) < 0)
			return -1;
		break;
	case TW_REPLY_POWERS:
		add_powers(p, count);
		break;
	case TW_REPLY_INTERVALS:
		add_intervals(p, count);
		break;
	case TW_REPLY_OUTSIDE:
		add_outside(p, count);
		break;
	}
	p->row += count;
	if (p->row == p->r->rows) {
		p->row = 0;
		p->at++;
	}
	return 0;
}

int tw_reply_go_on(struct tw_reply *p, uint64_t until_ns, bool *done, struct tw_err *err)
{
	*done = false;
	for (;;) {
		if (p->at == lists_of(p)) {
			if (!next_stage(p)) {
				*done = true;
				break;
			}
		} else if (is_left_out(p)) {
			p->at++;
		} else {
			if (step(p, err) < 0)
				return -1;
			/* Small ones do not even look at the clock. */
			if (p->r->rows > p->step_rows / 4 && tw_now_ns() > until_ns)
				break;
		}
	}
	if (tw_buf_failed(p->out))
		return tw_fail(err, TW_NOMEM, "answer of %zu rows", p->r->rows);
	return 0;
}

void tw_reply_refuse(struct tw_buf *out, const struct tw_err *why)
{
	tw_buf_adds(out, "{\"powers\":{},");
	add_text(out, "msg", why->text);
	tw_buf_adds(out, ",\"version\":2}\n");
}

void tw_reply_release(struct tw_reply *p)
{
	tw_reply_rows_release(&p->rows);
	free(p->watts);
	free(p->outside);
	*p = (struct tw_reply){ 0 };
}
