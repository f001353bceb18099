/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/reply.h"

#include "estimator/answer.h"
#include "estimator/models.h"
#include "estimator/power_model.h"
#include "estimator/request.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/json.h"
#include "model-db/model_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What is being written. */
struct reply {
	const struct tw_request *r;
	const struct tw_served *served;
	const struct tw_power_model *model;
	struct tw_reply_scratch *scratch;
	struct tw_answer answer;
	/* Of version 2, written while the answer is: */
	struct tw_buf errors, intervals;
};

static int reserve(struct tw_reply_scratch *s, size_t rows, struct tw_err *err)
{
	unsigned char *outside;
	double *watts;

	if (rows <= s->rows)
		return 0;
	watts = realloc(s->watts, rows * sizeof(*watts));
	if (watts == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows", rows);
	s->watts = watts;
	outside = realloc(s->outside, rows * sizeof(*outside));
	if (outside == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows", rows);
	s->outside = outside;
	s->rows = rows;
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

/*
 * Of each row the least and the most that 95 % of the rows were within, which the model
 * had not seen. Where it extrapolates nothing is known of its errors: null.
 */
static void add_interval(struct tw_buf *b, const char *name, const double *watts,
			 const unsigned char *outside, size_t rows, double error_95)
{
	tw_buf_addf(b, "%s\"%s\":[", b->len > 0 ? "," : "", name);
	for (size_t r = 0; r < rows; r++) {
		tw_buf_adds(b, r > 0 ? "," : "");
		if (outside[r] != 0 || !isfinite(error_95)) {
			tw_buf_adds(b, "null");
			continue;
		}
		tw_buf_adds(b, "[");
		add_watts(b, fmax(watts[r] - error_95, 0.0));
		tw_buf_adds(b, ",");
		add_watts(b, watts[r] + error_95);
		tw_buf_adds(b, "]");
	}
	tw_buf_adds(b, "]");
}

static void add_worth(struct reply *p, size_t part, const char *name)
{
	const double error_95 = tw_power_model_figure(p->model, part, "p95");

	tw_buf_addf(&p->errors, "%s\"%s\":{\"mae\":", p->errors.len > 0 ? "," : "", name);
	add_watts(&p->errors, tw_power_model_figure(p->model, part, "mae"));
	tw_buf_adds(&p->errors, ",\"p95\":");
	add_watts(&p->errors, error_95);
	tw_buf_adds(&p->errors, "}");
	add_interval(&p->intervals, name, p->scratch->watts, p->scratch->outside,
		     p->r->rows, error_95);
}

static bool is_wanted(const struct reply *p, enum tw_component c)
{
	return p->r->components == 0 || (p->r->components & 1u << c) != 0;
}

static int bind_rows(const struct reply *p, size_t part, uint32_t *place,
		     struct tw_rows *rows, struct tw_err *err)
{
	*rows = (struct tw_rows){ .x = p->r->x,
				  .rows = p->r->rows,
				  .stride = p->r->metrics.count,
				  .place = place };
	return tw_power_model_bind(p->model, part, &p->r->metrics, place, err);
}

static int mark_outside(const struct reply *p, struct tw_err *err)
{
	uint32_t place[TW_MODEL_FEATURES_MAX];
	struct tw_rows rows;

	memset(p->scratch->outside, 0, p->r->rows);
	for (size_t i = 0; i < tw_power_model_parts(p->model); i++) {
		if (bind_rows(p, i, place, &rows, err) < 0)
			return -1;
		tw_power_model_mark_outside(p->model, i, &rows, p->scratch->outside);
	}
	return 0;
}

static int write_part(struct reply *p, size_t part, struct tw_err *err)
{
	const enum tw_component c = tw_power_model_component(p->model, part);
	uint32_t place[TW_MODEL_FEATURES_MAX];
	struct tw_rows rows;

	if (!is_wanted(p, c))
		return 0;
	if (bind_rows(p, part, place, &rows, err) < 0)
		return -1;
	tw_power_model_predict(p->model, part, &rows, p->scratch->watts);
	if (tw_answer_add(&p->answer, c, p->scratch->watts, p->r->rows, err) < 0)
		return tw_err_wrap(err, "model '%s'",
				   tw_power_model_info(p->model)->name);
	if (p->r->version >= 2)
		add_worth(p, part, tw_component_name(c));
	return 0;
}

static void add_outside(const struct reply *p, struct tw_buf *b)
{
	const char *separator = "";
	size_t count = 0;

	tw_buf_adds(b, ",\"outside\":[");
	for (size_t r = 0; r < p->r->rows; r++) {
		if (p->scratch->outside[r] == 0)
			continue;
		tw_buf_addf(b, "%s%zu", separator, r);
		separator = ",";
		count++;
	}
	tw_buf_addf(b, "],\"extrapolated\":%zu", count);
}

static void add_source(const struct reply *p, struct tw_buf *b)
{
	const int64_t age_s =
		(int64_t)time(NULL) - (int64_t)atomic_load(&p->served->confirmed_s);

	tw_buf_adds(b, ",\"origin\":{");
	add_text(b, "kind", tw_origin_name(p->served->origin));
	tw_buf_adds(b, ",");
	add_text(b, "from", p->served->from);
	tw_buf_addf(b, ",\"age_s\":%" PRId64 "}", age_s > 0 ? age_s : 0);
}

/* What comes behind the first version's keys. */
static void add_version_2(const struct reply *p, struct tw_buf *b)
{
	const struct tw_model_info *info = tw_power_model_info(p->model);

	tw_buf_adds(b, ",\"version\":2,");
	add_text(b, "model", info->name);
	tw_buf_adds(b, ",");
	add_text(b, "source", info->source->name);
	add_source(p, b);
	tw_buf_adds(b, ",\"errors\":{");
	tw_buf_add(b, p->errors.data, p->errors.len);
	tw_buf_adds(b, "},\"intervals\":{");
	tw_buf_add(b, p->intervals.data, p->intervals.len);
	tw_buf_adds(b, "}");
	add_outside(p, b);
}

static int write_parts(struct reply *p, struct tw_err *err)
{
	if (p->r->version >= 2 && mark_outside(p, err) < 0)
		return -1;
	for (size_t i = 0; i < tw_power_model_parts(p->model); i++)
		if (write_part(p, i, err) < 0)
			return -1;
	return 0;
}

int tw_reply_write(struct tw_reply_scratch *scratch, const struct tw_request *r,
		   const struct tw_served *served, struct tw_buf *out, struct tw_err *err)
{
	struct reply p = {
		.r = r, .served = served, .model = served->model, .scratch = scratch
	};
	int rc = -1;

	if (reserve(scratch, r->rows, err) < 0)
		goto out;
	tw_answer_begin(&p.answer, out);
	if (r->components != 0)
		tw_answer_keep_zeros(&p.answer);
	if (write_parts(&p, err) < 0)
		goto out;
	tw_answer_ratio(&p.answer, served->core_ratio);
	if (r->version >= 2)
		add_version_2(&p, out);
	tw_answer_end(&p.answer);
	if (tw_buf_failed(out) || tw_buf_failed(&p.errors) ||
	    tw_buf_failed(&p.intervals)) {
		tw_fail(err, TW_NOMEM, "answer of %zu rows", r->rows);
		goto out;
	}
	rc = 0;
out:
	tw_buf_clear(&p.errors);
	tw_buf_clear(&p.intervals);
	return rc;
}

void tw_reply_refuse(struct tw_buf *out, const struct tw_err *why)
{
	tw_buf_adds(out, "{\"powers\":{},");
	add_text(out, "msg", why->text);
	tw_buf_adds(out, ",\"version\":2}\n");
}

void tw_reply_scratch_release(struct tw_reply_scratch *s)
{
	free(s->watts);
	free(s->outside);
	*s = (struct tw_reply_scratch){ 0 };
}
