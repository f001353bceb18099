/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/reply.h"

#include "estimator/models.h"
#include "estimator/predict/power_model.h"
#include "estimator/request.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "model-db/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Aim of the time that a step of predictions takes. */
#define STEP_NS 40000

/* Bytes of a formatted power: a comma, TW_REPLY_WATTS_MAX in mW, a point. */
#define POWER_BYTES_MAX 24
/* Powers that are formatted before they are appended to the reply. */
#define POWERS_BLOCK 32

static int reserve_errors(struct tw_reply *p, struct tw_err *err)
{
	const size_t size = 2 * p->r->rows * p->columns;

	if (size <= p->errors_size)
		return 0;
	free(p->errors);
	p->errors_size = 0;
	p->errors = malloc(size * sizeof(*p->errors));
	if (p->errors == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows", p->r->rows);
	p->errors_size = size;
	return 0;
}

static int reserve(struct tw_reply *p, struct tw_err *err)
{
	const size_t rows = p->r->rows, watts = rows * p->columns;

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
	if (p->r->version >= 2)
		return reserve_errors(p, err);
	return 0;
}

/* The number of rows that the model predicts in about STEP_NS; at least one. */
static size_t rows_of_step(const struct tw_power_model *m)
{
	const uint64_t rows = STEP_NS / (tw_power_model_row_ns(m) + 1);

	if (rows < 1)
		return 1;
	return rows > TW_REQUEST_ROWS_BATCH ? TW_REQUEST_ROWS_BATCH : (size_t)rows;
}

/*
 * Write the main component, package or platform, even if it is 0 in all rows: Kepler
 * 0.7.12 reads entry 0 of the powers and panics if `powers` is empty. For a model without
 * a main component write the first one: Kepler takes the number of rows from any list and
 * takes an absent package as 0.
 */
static void write_main_component(struct tw_reply *p)
{
	size_t main = 0;

	for (size_t i = 0; i < p->columns; i++)
		if (p->column[i].component == TW_PACKAGE ||
		    p->column[i].component == TW_PLATFORM)
			main = i;
	if (p->columns > 0)
		p->column[main].written = true;
}

int tw_reply_begin(struct tw_reply *p, const struct tw_request *r,
		   const struct tw_served *served, const struct tw_series_scope *scope,
		   struct tw_buf *out, struct tw_err *err)
{
	p->r = r;
	p->served = served;
	p->out = out;
	p->columns = 0;
	p->stage = TW_REPLY_PREDICT;
	p->list = 0;
	p->row = 0;
	p->any_powers = false;
	p->extrapolated = 0;
	p->step_rows = rows_of_step(served->model);
	for (size_t i = 0; i < tw_power_model_parts(served->model); i++) {
		const enum tw_component c = tw_power_model_component(served->model, i);

		if (r->components != 0 && (r->components & 1u << c) == 0)
			continue;
		p->column[p->columns].part = i;
		p->column[p->columns].component = c;
		/* A component that the request names is written even if it is 0. */
		p->column[p->columns++].written = r->components != 0;
	}
	write_main_component(p);
	if (reserve(p, err) < 0)
		return -1;
	return tw_request_rows_begin(&p->rows, r, served->model, scope, err);
}

/* ---- predicting ---- */

static double *watts_of(const struct tw_reply *p, size_t column)
{
	return p->watts + column * p->r->rows;
}

static double *expected_of(const struct tw_reply *p, size_t column)
{
	return p->errors + column * p->r->rows;
}

static double *half_widths_of(const struct tw_reply *p, size_t column)
{
	return p->errors + (p->columns + column) * p->r->rows;
}

/* Mark rows outside the training range of any component, requested or not. */
static int mark_outside(struct tw_reply *p, struct tw_rows *rows, struct tw_err *err)
{
	const struct tw_power_model *model = p->served->model;
	uint32_t place[TW_MODEL_FEATURES_MAX];

	memset(p->outside + p->row, 0, rows->rows);
	rows->place = place;
	for (size_t i = 0; i < tw_power_model_parts(model); i++) {
		if (tw_power_model_bind(model, i, &p->r->metrics, place, err) < 0)
			return -1;
		tw_power_model_mark_outside(model, i, rows, p->outside + p->row);
	}
	return 0;
}

/* Reject predictions that are no power; mark columns that are not 0 as written. */
static int check_watts(struct tw_reply *p, size_t column, size_t rows, struct tw_err *err)
{
	const double *watts = watts_of(p, column) + p->row;

	for (size_t r = 0; r < rows; r++) {
		if (!(watts[r] >= 0.0 && watts[r] <= TW_REPLY_WATTS_MAX))
			return tw_fail(err, TW_INVALID,
				       "model '%s': %s of row %zu is %g W",
				       tw_power_model_info(p->served->model)->name,
				       tw_component_name(p->column[column].component),
				       p->row + r, watts[r]);
		/* write_powers() rounds half a milliwatt up. */
		p->column[column].written |= watts[r] * 1000.0 >= 0.5;
	}
	return 0;
}

/* Predict all columns of up to *count rows; *count becomes the number of rows done. */
static int predict(struct tw_reply *p, size_t *count, struct tw_err *err)
{
	const struct tw_power_model *model = p->served->model;
	uint32_t place[TW_MODEL_FEATURES_MAX];
	struct tw_rows rows;

	if (tw_request_rows_get(&p->rows, p->row, *count, &rows, err) < 0)
		return -1;
	*count = rows.rows;
	if (p->r->version >= 2 && mark_outside(p, &rows, err) < 0)
		return -1;
	rows.place = place;
	for (size_t i = 0; i < p->columns; i++) {
		if (tw_power_model_bind(model, p->column[i].part, &p->r->metrics, place,
					err) < 0)
			return -1;
		tw_power_model_predict(model, p->column[i].part, &rows,
				       watts_of(p, i) + p->row);
		if (check_watts(p, i, rows.rows, err) < 0)
			return -1;
		if (p->r->version >= 2)
			tw_power_model_errors(model, p->column[i].part, &rows,
					      watts_of(p, i) + p->row,
					      expected_of(p, i) + p->row,
					      half_widths_of(p, i) + p->row);
	}
	return 0;
}

/* ---- writing ---- */

/* Begin a member: a comma if others are before it, its key, and how its value begins. Not
 * printf(): it costs as many instructions as the model. */
static void add_key(struct tw_buf *b, bool others, const char *key, const char *opening)
{
	tw_buf_adds(b, others ? ",\"" : "\"");
	tw_buf_adds(b, key);
	tw_buf_adds(b, "\":");
	tw_buf_adds(b, opening);
}

static void add_text(struct tw_buf *b, const char *key, const char *text)
{
	add_key(b, false, key, "");
	tw_buf_add_json_text(b, text, strlen(text));
}

/* Watts with three decimals; null if unknown. */
static void add_watts(struct tw_buf *b, double w)
{
	if (isfinite(w))
		tw_buf_add_double(b, round(w * 1000.0) / 1000.0);
	else
		tw_buf_adds(b, "null");
}

/* Format milliwatts as watts without trailing zeros: 41200 is "41.2". */
static size_t format_mw(char *out, uint64_t mw)
{
	char digits[20];
	size_t n = 0, len = 0;
	unsigned fraction = (unsigned)(mw % 1000);
	uint64_t whole = mw / 1000;

	do
		digits[n++] = (char)('0' + whole % 10);
	while ((whole /= 10) > 0);
	while (n > 0)
		out[len++] = digits[--n];
	if (fraction > 0)
		out[len++] = '.';
	for (unsigned unit = 100; fraction > 0; unit /= 10) {
		out[len++] = (char)('0' + fraction / unit);
		fraction %= unit;
	}
	return len;
}

static const char *component_key(const struct tw_reply *p)
{
	const enum tw_component c = p->column[p->list].component;

	return p->r->form == TW_REPLY_COMPONENTS && c == TW_PACKAGE
		       ? "pkg"
		       : tw_component_name(c);
}

/*
 * Replace the first column by the total power, because only that column is written. The
 * total is platform power, or the sum of package and dram (package includes core and
 * uncore), or else the power of the model's first component.
 */
static void make_total(struct tw_reply *p)
{
	const size_t rows = p->r->rows;
	unsigned has = 0, counts;

	for (size_t i = 0; i < p->columns; i++)
		has |= 1u << p->column[i].component;
	counts = (has & 1u << TW_PLATFORM) != 0
			 ? 1u << TW_PLATFORM
			 : has & (1u << TW_PACKAGE | 1u << TW_DRAM);
	if (counts == 0)
		counts = 1u << p->column[0].component;
	for (size_t r = 0; r < rows; r++) {
		double sum = 0;

		for (size_t i = 0; i < p->columns; i++)
			if ((counts & 1u << p->column[i].component) != 0)
				sum += p->watts[i * rows + r];
		p->watts[r] = sum;
	}
	for (size_t i = 0; i < p->columns; i++)
		p->column[i].written = i == 0;
}

static void write_powers(struct tw_reply *p, size_t count)
{
	const double *watts = watts_of(p, p->list) + p->row;
	char text[POWERS_BLOCK * POWER_BYTES_MAX];
	size_t len = 0;

	if (p->row == 0 && p->r->form == TW_REPLY_TOTAL)
		tw_buf_adds(p->out, "[");
	else if (p->row == 0)
		add_key(p->out, p->any_powers, component_key(p), "[");
	p->any_powers = true;
	for (size_t r = 0; r < count; r++) {
		if (len > sizeof(text) - POWER_BYTES_MAX) {
			tw_buf_add(p->out, text, len);
			len = 0;
		}
		if (p->row + r > 0)
			text[len++] = ',';
		len += format_mw(text + len, (uint64_t)llround(watts[r] * 1000.0));
	}
	tw_buf_add(p->out, text, len);
	if (p->row + count == p->r->rows)
		tw_buf_adds(p->out, "]");
}

static double figure(const struct tw_reply *p, size_t column, const char *name)
{
	return tw_power_model_figure(p->served->model, p->column[column].part, name);
}

/*
 * Each row has an interval about its prediction, calibrated on rows that the model was
 * not trained on (docs/accuracy.md, "Intervals"). It is null if the model extrapolates,
 * because its error is unknown there.
 */
static void write_intervals(struct tw_reply *p, size_t count)
{
	const double *half_w = half_widths_of(p, p->list);
	const double *watts = watts_of(p, p->list);

	if (p->row == 0)
		add_key(p->out, p->list > 0,
			tw_component_name(p->column[p->list].component), "[");
	for (size_t r = p->row; r < p->row + count; r++) {
		tw_buf_adds(p->out, r > 0 ? "," : "");
		if (p->outside[r] != 0 || !isfinite(half_w[r])) {
			tw_buf_adds(p->out, "null");
			continue;
		}
		tw_buf_adds(p->out, "[");
		add_watts(p->out, fmax(watts[r] - half_w[r], 0.0));
		tw_buf_adds(p->out, ",");
		add_watts(p->out, watts[r] + half_w[r]);
		tw_buf_adds(p->out, "]");
	}
	if (p->row + count == p->r->rows)
		tw_buf_adds(p->out, "]");
}

static void write_expected(struct tw_reply *p, size_t count)
{
	const double *expected_w = expected_of(p, p->list);

	if (p->row == 0)
		add_key(p->out, p->list > 0,
			tw_component_name(p->column[p->list].component), "[");
	for (size_t r = p->row; r < p->row + count; r++) {
		tw_buf_adds(p->out, r > 0 ? "," : "");
		add_watts(p->out, expected_w[r]);
	}
	if (p->row + count == p->r->rows)
		tw_buf_adds(p->out, "]");
}

static void write_outside(struct tw_reply *p, size_t count)
{
	for (size_t r = p->row; r < p->row + count; r++)
		if (p->outside[r] != 0)
			tw_buf_addf(p->out, "%s%zu", p->extrapolated++ > 0 ? "," : "", r);
}

static void write_errors(struct tw_reply *p)
{
	tw_buf_adds(p->out, ",\"errors\":{");
	for (size_t i = 0; i < p->columns; i++) {
		add_key(p->out, i > 0, tw_component_name(p->column[i].component),
			"{\"mae\":");
		add_watts(p->out, figure(p, i, "mae"));
		tw_buf_adds(p->out, ",\"p95\":");
		add_watts(p->out, figure(p, i, "p95"));
		tw_buf_adds(p->out, "}");
	}
	tw_buf_adds(p->out, "}");
}

static void write_origin(struct tw_reply *p)
{
	const int64_t age_s =
		(int64_t)time(NULL) - (int64_t)atomic_load(&p->served->confirmed_s);

	tw_buf_adds(p->out, ",\"origin\":{");
	add_text(p->out, "kind", tw_origin_name(p->served->origin));
	tw_buf_adds(p->out, ",");
	add_text(p->out, "from", p->served->from);
	tw_buf_addf(p->out, ",\"age_s\":%" PRId64 "}", age_s > 0 ? age_s : 0);
}

/* The keys of version 2 that describe the model. */
static void write_model(struct tw_reply *p)
{
	const struct tw_model_info *info = tw_power_model_info(p->served->model);

	tw_buf_adds(p->out, ",\"version\":2,");
	add_text(p->out, "model", info->name);
	tw_buf_adds(p->out, ",");
	add_text(p->out, "source", info->source->name);
	write_origin(p);
	write_errors(p);
}

/* ---- steps ---- */

/* The number of lists that a stage goes through; each has r->rows rows. */
static size_t lists_of(const struct tw_reply *p)
{
	return p->stage == TW_REPLY_PREDICT || p->stage == TW_REPLY_OUTSIDE ? 1
									    : p->columns;
}

/* Begin the next stage, and write the text between the two. */
static void next_stage(struct tw_reply *p)
{
	switch (p->stage) {
	case TW_REPLY_PREDICT:
		if (p->r->form == TW_REPLY_TOTAL)
			make_total(p);
		tw_buf_adds(p->out, p->r->form == TW_REPLY_TOTAL ? "{\"powers\":"
								 : "{\"powers\":{");
		p->stage = TW_REPLY_POWERS;
		break;
	case TW_REPLY_POWERS:
		if (p->r->form != TW_REPLY_CURRENT) {
			tw_buf_adds(p->out, p->r->form == TW_REPLY_TOTAL
						    ? ",\"msg\":\"\"}\n"
						    : "},\"msg\":\"\"}\n");
			p->stage = TW_REPLY_DONE;
			break;
		}
		tw_buf_adds(p->out, "},\"msg\":\"\",\"core_ratio\":");
		tw_buf_adds(p->out, p->served->core_ratio);
		if (p->r->version < 2) {
			tw_buf_adds(p->out, "}\n");
			p->stage = TW_REPLY_DONE;
			break;
		}
		write_model(p);
		tw_buf_adds(p->out, ",\"intervals\":{");
		p->stage = TW_REPLY_INTERVALS;
		break;
	case TW_REPLY_INTERVALS:
		tw_buf_adds(p->out, "},\"expected_errors\":{");
		p->stage = TW_REPLY_EXPECTED;
		break;
	case TW_REPLY_EXPECTED:
		tw_buf_adds(p->out, "},\"outside\":[");
		p->stage = TW_REPLY_OUTSIDE;
		break;
	case TW_REPLY_OUTSIDE:
		tw_buf_addf(p->out, "],\"extrapolated\":%zu}\n", p->extrapolated);
		p->stage = TW_REPLY_DONE;
		break;
	case TW_REPLY_DONE:
		break;
	}
	p->list = 0;
}

/* Go to the next list, or to a list of a later stage. */
static void next_list(struct tw_reply *p)
{
	p->row = 0;
	p->list++;
	while (p->stage != TW_REPLY_DONE) {
		if (p->list == lists_of(p))
			next_stage(p);
		else if (p->stage == TW_REPLY_POWERS && !p->column[p->list].written)
			p->list++;
		else
			break;
	}
}

/* Predict or write some rows of a list. */
static int step(struct tw_reply *p, struct tw_err *err)
{
	const size_t rest = p->r->rows - p->row;
	const size_t most =
		p->stage == TW_REPLY_PREDICT ? p->step_rows : TW_REQUEST_ROWS_BATCH;
	size_t count = rest < most ? rest : most;

	switch (p->stage) {
	case TW_REPLY_PREDICT:
		if (predict(p, &count, err) < 0)
			return -1;
		break;
	case TW_REPLY_POWERS:
		write_powers(p, count);
		break;
	case TW_REPLY_INTERVALS:
		write_intervals(p, count);
		break;
	case TW_REPLY_EXPECTED:
		write_expected(p, count);
		break;
	case TW_REPLY_OUTSIDE:
		write_outside(p, count);
		break;
	case TW_REPLY_DONE:
		return 0;
	}
	p->row += count;
	if (p->row == p->r->rows)
		next_list(p);
	return 0;
}

int tw_reply_go_on(struct tw_reply *p, uint64_t until_ns, bool *done, struct tw_err *err)
{
	/* A cheap reply takes one pass and does not read the clock. */
	const bool cheap = p->r->rows <= p->step_rows / 4;

	do
		if (step(p, err) < 0)
			return -1;
	while (p->stage != TW_REPLY_DONE && (cheap || tw_now_ns() <= until_ns));
	if (tw_buf_failed(p->out))
		return tw_fail(err, TW_NOMEM, "answer of %zu rows", p->r->rows);
	*done = p->stage == TW_REPLY_DONE;
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
	tw_request_rows_release(&p->rows);
	free(p->watts);
	free(p->outside);
	free(p->errors);
	*p = (struct tw_reply){ 0 };
}
