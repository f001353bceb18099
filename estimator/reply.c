/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/reply.h"

#include "estimator/models.h"
#include "estimator/predict/power_model.h"
#include "estimator/request.h"
#include "lib/core/clock.h"
#include "lib/json/writer.h"
#include "model-db/model.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* Aim of the time that a step of predictions takes. */
#define STEP_NS 40000
/* Bytes of the answer that a step joins. */
#define JOIN_BYTES ((size_t)64 << 10)

/* Bytes of a formatted power: a comma, TW_REPLY_WATTS_MAX in mW, a point; or "null". */
#define POWER_BYTES_MAX 24

/* The parts of an answer, in this order: lists of each component, and what is between. */
enum {
	POWERS = 0,
	MODEL = POWERS + TW_COMPONENT_COUNT,
	INTERVALS,
	BETWEEN = INTERVALS + TW_COMPONENT_COUNT,
	EXPECTED,
	OUTSIDE = EXPECTED + TW_COMPONENT_COUNT,
};

_Static_assert(OUTSIDE + 1 == TW_REPLY_PARTS, "struct tw_reply has a text for each");

/* The rows of a step. */
struct batch {
	struct tw_rows rows;
	double watts[TW_COMPONENT_COUNT][TW_REQUEST_ROWS_BATCH]; /* by column */
	unsigned char outside[TW_REQUEST_ROWS_BATCH];     /* 1: the model extrapolates */
	unsigned char unpredicted[TW_REQUEST_ROWS_BATCH]; /* 1: a column has no watts */
};

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

/* Empty the parts and begin the lists. Kepler up to 0.5.3 calls the package "pkg". */
static void begin_parts(struct tw_reply *p)
{
	const bool total = p->r->form == TW_REPLY_TOTAL;

	for (size_t i = 0; i < p->parts; i++) {
		p->part[i].len = 0;
		p->part[i].failed = false;
	}
	tw_buf_adds(p->out, total ? "{\"powers\":" : "{\"powers\":{");
	for (size_t i = 0; i < p->columns; i++) {
		const enum tw_component c = p->column[i].component;
		const char *name = tw_component_name(c);

		tw_json_add_array(&p->part[POWERS + i],
				  total ? NULL
				  : p->r->form == TW_REPLY_COMPONENTS && c == TW_PACKAGE
					  ? "pkg"
					  : name);
		if (p->r->version < 2)
			continue;
		tw_json_add_array(&p->part[INTERVALS + i], name);
		tw_json_add_array(&p->part[EXPECTED + i], name);
	}
	if (p->r->version < 2)
		return;
	tw_buf_adds(&p->part[BETWEEN], "},\"expected_errors\":{");
	tw_buf_adds(&p->part[OUTSIDE], "},\"outside\":[");
}

int tw_reply_begin(struct tw_reply *p, const struct tw_request *r,
		   const struct tw_served *served, const struct tw_series_scope *scope,
		   struct tw_buf *out, struct tw_err *err)
{
	p->r = r;
	p->served = served;
	p->out = out;
	p->columns = 0;
	p->row = 0;
	p->extrapolated = p->unpredicted = 0;
	tw_err_clear(&p->why);
	p->parts = r->version < 2 ? MODEL + 1 : TW_REPLY_PARTS;
	p->joined = 0;
	p->offset = 0;
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
	begin_parts(p);
	return tw_request_rows_begin(&p->rows, r, served->model, scope, err);
}

/* ---- rows ---- */

/* Mark rows outside the training range of any component, requested or not. */
static int mark_outside(struct tw_reply *p, struct batch *b, uint32_t *place,
			struct tw_err *err)
{
	const struct tw_power_model *model = p->served->model;

	memset(b->outside, 0, b->rows.rows);
	for (size_t i = 0; i < tw_power_model_parts(model); i++) {
		if (tw_power_model_bind(model, i, &p->r->metrics, place, err) < 0)
			return -1;
		tw_power_model_mark_outside(model, i, &b->rows, b->outside);
	}
	for (size_t r = 0; r < b->rows.rows; r++) {
		if (b->outside[r] == 0)
			continue;
		tw_json_add_uint(&p->part[OUTSIDE], NULL, p->row + r);
		p->extrapolated++;
	}
	return 0;
}

/*
 * Make predictions that are no power NaN; mark columns that are not 0 as written. An
 * absurd value in a row does not affect the watts of the other rows.
 */
static void check_watts(struct tw_reply *p, size_t column, struct batch *b)
{
	double *watts = b->watts[column];

	for (size_t r = 0; r < b->rows.rows; r++) {
		/* add_powers() rounds half a milliwatt up. */
		p->column[column].written |= !(watts[r] * 1000.0 < 0.5);
		if (watts[r] >= 0.0 && watts[r] <= TW_REPLY_WATTS_MAX)
			continue;
		tw_fail(&p->why, TW_INVALID, "model '%s': %s of row %zu is %g W",
			tw_power_model_info(p->served->model)->name,
			tw_component_name(p->column[column].component), p->row + r,
			watts[r]);
		watts[r] = NAN;
		b->unpredicted[r] = 1;
	}
}

/*
 * Each row has an interval about its prediction, calibrated on rows that the model was
 * not trained on (docs/accuracy.md, "Intervals"). It is null if the model extrapolates,
 * because its error is unknown there.
 */
static void add_errors(struct tw_reply *p, size_t column, const struct batch *b)
{
	struct tw_buf *intervals = &p->part[INTERVALS + column];
	const double *watts = b->watts[column];
	double expected_w[TW_REQUEST_ROWS_BATCH], half_w[TW_REQUEST_ROWS_BATCH];

	tw_power_model_errors(p->served->model, p->column[column].part, &b->rows, watts,
			      expected_w, half_w);
	for (size_t r = 0; r < b->rows.rows; r++) {
		tw_json_add_rounded(&p->part[EXPECTED + column], NULL, expected_w[r], 3);
		if (b->outside[r] != 0 || !isfinite(half_w[r])) {
			tw_json_add_null(intervals, NULL);
			continue;
		}
		tw_json_add_array(intervals, NULL);
		tw_json_add_rounded(intervals, NULL, fmax(watts[r] - half_w[r], 0.0), 3);
		tw_json_add_rounded(intervals, NULL, watts[r] + half_w[r], 3);
		tw_json_end_array(intervals);
	}
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

static void add_powers(struct tw_buf *list, size_t row, const double *watts, size_t count)
{
	char text[TW_REQUEST_ROWS_BATCH * POWER_BYTES_MAX];
	size_t len = 0;

	for (size_t r = 0; r < count; r++) {
		if (row + r > 0)
			text[len++] = ',';
		if (isnan(watts[r])) {
			memcpy(text + len, "null", 4);
			len += 4;
			continue;
		}
		len += format_mw(text + len, (uint64_t)llround(watts[r] * 1000.0));
	}
	tw_buf_add(list, text, len);
}

/*
 * Replace the watts of the first column by the total power, because only that column is
 * written. The total is platform power, or the sum of package and dram (package includes
 * core and uncore), or else the power of the model's first component.
 */
static void make_total(struct tw_reply *p, struct batch *b)
{
	unsigned has = 0, counts;

	for (size_t i = 0; i < p->columns; i++)
		has |= 1u << p->column[i].component;
	counts = (has & 1u << TW_PLATFORM) != 0
			 ? 1u << TW_PLATFORM
			 : has & (1u << TW_PACKAGE | 1u << TW_DRAM);
	if (counts == 0)
		counts = 1u << p->column[0].component;
	for (size_t r = 0; r < b->rows.rows; r++) {
		double sum = 0;

		for (size_t i = 0; i < p->columns; i++)
			if ((counts & 1u << p->column[i].component) != 0)
				sum += b->watts[i][r];
		b->watts[0][r] = sum;
	}
	for (size_t i = 0; i < p->columns; i++)
		p->column[i].written = i == 0;
}

/* Predict the next rows of all columns, and add them to the lists. */
static int add_rows(struct tw_reply *p, struct tw_err *err)
{
	const struct tw_power_model *model = p->served->model;
	const size_t rest = p->r->rows - p->row;
	uint32_t place[TW_MODEL_FEATURES_MAX];
	struct batch b;

	if (tw_request_rows_get(&p->rows, p->row,
				rest < p->step_rows ? rest : p->step_rows, &b.rows,
				err) < 0)
		return -1;
	b.rows.place = place;
	memset(b.unpredicted, 0, b.rows.rows);
	if (p->r->version >= 2 && mark_outside(p, &b, place, err) < 0)
		return -1;
	for (size_t i = 0; i < p->columns; i++) {
		if (tw_power_model_bind(model, p->column[i].part, &p->r->metrics, place,
					err) < 0)
			return -1;
		tw_power_model_predict(model, p->column[i].part, &b.rows, b.watts[i]);
		check_watts(p, i, &b);
		if (p->r->version >= 2)
			add_errors(p, i, &b);
	}
	if (p->r->form == TW_REPLY_TOTAL)
		make_total(p, &b);
	for (size_t i = 0; i < p->columns; i++)
		add_powers(&p->part[POWERS + i], p->row, b.watts[i], b.rows.rows);
	for (size_t r = 0; r < b.rows.rows; r++)
		p->unpredicted += b.unpredicted[r];
	p->row += b.rows.rows;
	return 0;
}

/* ---- the whole ---- */

/* The keys of version 2 that describe the model. */
static void add_model(struct tw_reply *p, struct tw_buf *b)
{
	const struct tw_model_info *info = tw_power_model_info(p->served->model);
	const int64_t age_s =
		(int64_t)time(NULL) - (int64_t)atomic_load(&p->served->confirmed_s);

	tw_json_add_uint(b, "version", 2);
	tw_json_add_text(b, "model", info->name);
	tw_json_add_text(b, "source", info->source->name);
	tw_json_add_object(b, "origin");
	tw_json_add_text(b, "kind", tw_origin_name(p->served->origin));
	tw_json_add_text(b, "from", p->served->from);
	tw_json_add_int(b, "age_s", age_s > 0 ? age_s : 0);
	tw_json_end_object(b);
	tw_json_add_object(b, "errors");
	for (size_t i = 0; i < p->columns; i++) {
		const size_t part = p->column[i].part;

		tw_json_add_object(b, tw_component_name(p->column[i].component));
		tw_json_add_rounded(b, "mae",
				    tw_power_model_figure(p->served->model, part, "mae"),
				    3);
		tw_json_add_rounded(b, "p95",
				    tw_power_model_figure(p->served->model, part, "p95"),
				    3);
		tw_json_end_object(b);
	}
	tw_json_end_object(b);
	tw_json_add_object(b, "intervals");
}

/* Complete the parts: end the lists, leave out unwritten ones, describe the model. */
static void end_parts(struct tw_reply *p)
{
	struct tw_buf *model = &p->part[MODEL];

	for (size_t i = 0; i < p->columns; i++) {
		tw_json_end_array(&p->part[POWERS + i]);
		if (!p->column[i].written)
			p->part[POWERS + i].len = 0;
		if (p->r->version < 2)
			continue;
		tw_json_end_array(&p->part[INTERVALS + i]);
		tw_json_end_array(&p->part[EXPECTED + i]);
	}
	tw_buf_adds(model,
		    p->r->form == TW_REPLY_TOTAL ? ",\"msg\":\"\"" : "},\"msg\":\"\"");
	if (p->r->form == TW_REPLY_CURRENT) {
		tw_buf_adds(model, ",\"core_ratio\":");
		tw_buf_adds(model, p->served->core_ratio);
	}
	if (p->r->version < 2) {
		tw_buf_adds(model, "}\n");
		return;
	}
	add_model(p, model);
	tw_buf_adds(&p->part[OUTSIDE], "]");
	tw_json_add_uint(&p->part[OUTSIDE], "extrapolated", p->extrapolated);
	tw_buf_adds(&p->part[OUTSIDE], "}\n");
}

/* Append the next bytes of the parts to the answer. */
static void join(struct tw_reply *p)
{
	size_t room = JOIN_BYTES;

	while (p->joined < p->parts && room > 0) {
		const struct tw_buf *b = &p->part[p->joined];
		const size_t rest = b->len - p->offset, count = rest < room ? rest : room;
		const bool list = p->joined != MODEL && p->joined != BETWEEN &&
				  p->joined != OUTSIDE;

		if (list && p->offset == 0 && count > 0)
			tw_json_add_key(p->out, NULL);
		if (count > 0)
			tw_buf_add(p->out, b->data + p->offset, count);
		p->out->failed |= tw_buf_failed(b);
		p->offset += count;
		room -= count;
		if (p->offset < b->len)
			return;
		p->joined++;
		p->offset = 0;
	}
}

int tw_reply_go_on(struct tw_reply *p, uint64_t until_ns, bool *done, struct tw_err *err)
{
	/* A cheap reply takes one pass and does not read the clock. */
	const bool cheap = p->r->rows <= p->step_rows / 4;

	do {
		if (p->row == p->r->rows) {
			join(p);
			continue;
		}
		if (add_rows(p, err) < 0)
			return -1;
		if (p->unpredicted == p->r->rows)
			return tw_fail(err, p->why.code, "%s", p->why.text);
		if (p->row == p->r->rows)
			end_parts(p);
	} while (p->joined < p->parts && (cheap || tw_now_ns() <= until_ns));
	if (tw_buf_failed(p->out))
		return tw_fail(err, TW_NOMEM, "answer of %zu rows", p->r->rows);
	*done = p->joined == p->parts;
	return 0;
}

void tw_reply_refuse(struct tw_buf *out, const struct tw_err *why)
{
	tw_buf_adds(out, "{\"powers\":{}");
	tw_json_add_text(out, "msg", why->text);
	tw_buf_adds(out, ",\"version\":2}\n");
}

void tw_reply_release(struct tw_reply *p)
{
	tw_request_rows_release(&p->rows);
	for (size_t i = 0; i < TW_REPLY_PARTS; i++)
		tw_buf_clear(&p->part[i]);
	*p = (struct tw_reply){ 0 };
}
