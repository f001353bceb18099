/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/prom.h"

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "trainer/extract/prom_store.h"
#include "trainer/extract/schema.h"
#include "trainer/extract/series_draft.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the next event belongs to. */
enum state {
	IN_START,   /* the response's { */
	IN_METRICS, /* a metric's name, or the } */
	AT_LIST,    /* its list */
	IN_LIST,    /* a series, or ] */
	IN_SERIES,  /* "metric", "values", another key, or } */
	AT_LABELS,
	IN_LABELS, /* a label's name, or } */
	AT_LABEL,  /* its text */
	AT_VALUES,
	IN_VALUES, /* a sample, or ] */
	AT_TIME,
	AT_VALUE,
	AT_SAMPLE_END,
	AT_UNKNOWN, /* a value that nobody wants */
	IN_UNKNOWN, /* within it */
	AT_END,
};

struct tw_prom_builder {
	struct tw_prom *prom;
	const struct tw_strs *more; /* metrics that are asked for by name, or NULL */
	enum state state;
	enum state after;     /* what nobody wants */
	unsigned after_depth; /* of its last event */

	size_t metric; /* of the series being read */
	bool asked;    /* whether it is one of more */
	size_t number; /* of that series, from 1 */
	bool has_labels, has_values;
	struct tw_series_draft series;
	const char *label_name; /* NULL: nobody wants its text */
};

int tw_prom_builder_new(struct tw_prom_builder **out, struct tw_err *err)
{
	struct tw_prom_builder *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return tw_fail(err, TW_NOMEM, "Prometheus response");
	b->prom = tw_prom_new(err);
	if (b->prom == NULL) {
		free(b);
		return -1;
	}
	*out = b;
	return 0;
}

void tw_prom_builder_add(struct tw_prom_builder *b, const struct tw_strs *more)
{
	assert(b->state == IN_START);
	b->more = more;
}

void tw_prom_builder_free(struct tw_prom_builder *b)
{
	if (b == NULL)
		return;
	tw_prom_free(b->prom);
	tw_series_draft_release(&b->series);
	free(b);
}

bool tw_prom_builder_done(const struct tw_prom_builder *b)
{
	return b->state == AT_END;
}

struct tw_prom *tw_prom_builder_detach(struct tw_prom_builder *b)
{
	struct tw_prom *p = b->prom;

	assert(tw_prom_builder_done(b));
	b->prom = NULL;
	return p;
}

/* "byte 12: cpu_total, series 3 (mode=idle)", as far as it is known. */
static void describe_place(const struct tw_prom_builder *b, const struct tw_jsax_event *e,
			   char *out, size_t size)
{
	const struct tw_series s = { .label = b->series.label,
				     .labels = b->series.labels };
	char labels[96];
	int n = snprintf(out, size, "byte %" PRIu64, e->offset);

	if (b->state <= IN_METRICS)
		return;
	n += snprintf(out + n, size - (size_t)n, ": %s", b->prom->metric[b->metric].name);
	if (b->state <= IN_LIST)
		return;
	tw_series_describe(&s, labels, sizeof(labels));
	snprintf(out + n, size - (size_t)n, ", series %zu%s%s%s", b->number,
		 labels[0] != '\0' ? " (" : "", labels, labels[0] != '\0' ? ")" : "");
}

static int fail_type(const struct tw_prom_builder *b, const struct tw_jsax_event *e,
		     const char *want, struct tw_err *err)
{
	char place[200];

	describe_place(b, e, place, sizeof(place));
	return tw_fail(err, TW_PARSE, "%s: expected %s", place, want);
}

static int fail_sample(const struct tw_prom_builder *b, const struct tw_jsax_event *e,
		       enum tw_code code, double time_s, const char *what,
		       struct tw_err *err)
{
	char place[200], at[TW_DOUBLE_TEXT];

	describe_place(b, e, place, sizeof(place));
	tw_format_double(at, time_s);
	return tw_fail(err, code, "%s, sample %zu, time %s: %s", place,
		       b->series.samples + 1, at, what);
}

static void pass_over(struct tw_prom_builder *b, enum state after)
{
	b->state = AT_UNKNOWN;
	b->after = after;
}

static bool is_key(const struct tw_jsax_event *e, const char *name)
{
	return e->len == strlen(name) && memcmp(e->text, name, e->len) == 0;
}

static bool is_asked_for(const struct tw_prom_builder *b, const struct tw_jsax_event *e)
{
	for (size_t i = 0; b->more != NULL && i < b->more->count; i++)
		if (is_key(e, b->more->at[i]))
			return true;
	return false;
}

static int begin_metric(struct tw_prom_builder *b, const struct tw_jsax_event *e,
			struct tw_err *err)
{
	b->asked = is_asked_for(b, e);
	if (!b->asked && !tw_schema_has_metric(e->text, e->len)) {
		pass_over(b, IN_METRICS);
		return 0;
	}
	if (tw_prom_add_metric(b->prom, e->text, e->len, &b->metric, err) < 0)
		return -1;
	b->number = b->prom->metric[b->metric].count;
	b->state = AT_LIST;
	return 0;
}

static void begin_series(struct tw_prom_builder *b)
{
	b->state = IN_SERIES;
	b->number++;
	b->has_labels = false;
	b->has_values = false;
	tw_series_draft_begin(&b->series);
}

static int end_series(struct tw_prom_builder *b, const struct tw_jsax_event *e,
		      struct tw_err *err)
{
	if (!b->has_labels || !b->has_values)
		return fail_type(b, e, "'metric' and 'values' in a series", err);
	b->state = IN_LIST;
	if (b->series.samples == 0)
		return 0;
	return tw_prom_add_series(b->prom, b->metric, &b->series, err);
}

static int begin_member(struct tw_prom_builder *b, const struct tw_jsax_event *e,
			struct tw_err *err)
{
	bool is_labels = is_key(e, "metric"), is_values = is_key(e, "values");

	if (!is_labels && !is_values) {
		pass_over(b, IN_SERIES);
		return 0;
	}
	if (is_labels ? b->has_labels : b->has_values)
		return fail_type(b, e, "'metric' and 'values' once in a series", err);
	b->has_labels |= is_labels;
	b->has_values |= is_values;
	b->state = is_labels ? AT_LABELS : AT_VALUES;
	return 0;
}

static int begin_label(struct tw_prom_builder *b, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	b->state = AT_LABEL;
	b->label_name = NULL;
	/* Nobody knows what tells the series of such a metric apart. */
	if (!b->asked && !tw_schema_has_label(e->text, e->len))
		return 0;
	if (memchr(e->text, '\0', e->len) != NULL)
		return fail_type(b, e, "labels without NUL", err);
	b->label_name = tw_intern(&b->prom->shared, e->text, e->len, err);
	return b->label_name != NULL ? 0 : -1;
}

static int end_label(struct tw_prom_builder *b, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	const char *value, *wanted;

	b->state = IN_LABELS;
	if (b->label_name == NULL)
		return 0;
	if (memchr(e->text, '\0', e->len) != NULL)
		return fail_type(b, e, "labels without NUL", err);
	wanted = tw_series_draft_check_label(&b->series, b->label_name);
	if (wanted != NULL)
		return fail_type(b, e, wanted, err);
	value = tw_intern(&b->prom->shared, e->text, e->len, err);
	if (value == NULL)
		return -1;
	tw_series_draft_add_label(&b->series, b->label_name, value);
	return 0;
}

static int take_time(struct tw_prom_builder *b, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	const char *fault = tw_series_draft_check_time(&b->series, e->number);

	if (fault != NULL)
		return fail_sample(b, e, TW_INVALID, e->number, fault, err);
	b->state = AT_VALUE;
	return tw_series_draft_add_time(&b->series, e->number, err);
}

static int take_value(struct tw_prom_builder *b, const struct tw_jsax_event *e,
		      struct tw_err *err)
{
	enum tw_code code;
	const char *fault = tw_series_draft_add_value(&b->series, e->text, e->len, &code);

	if (fault != NULL)
		return fail_sample(b, e, code, b->series.time_ms[b->series.samples] / 1e3,
				   fault, err);
	b->state = AT_SAMPLE_END;
	return 0;
}

/* Events of what nobody wants: a scalar, or all up to its container's end. */
static void skip_event(struct tw_prom_builder *b, const struct tw_jsax_event *e)
{
	bool opens = e->type == TW_JSAX_OBJECT || e->type == TW_JSAX_ARRAY;
	bool closes = e->type == TW_JSAX_OBJECT_END || e->type == TW_JSAX_ARRAY_END;

	if (b->state == AT_UNKNOWN && opens) {
		b->state = IN_UNKNOWN;
		b->after_depth = e->depth;
	} else if (b->state == AT_UNKNOWN || (closes && e->depth == b->after_depth)) {
		b->state = b->after;
	}
}

/* Go on to another state if the event is of that type, else say what was expected. */
static int expect(struct tw_prom_builder *b, const struct tw_jsax_event *e,
		  enum tw_jsax_type type, enum state next, const char *want,
		  struct tw_err *err)
{
	if (e->type != type)
		return fail_type(b, e, want, err);
	b->state = next;
	return 0;
}

static int take_sample(struct tw_prom_builder *b, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	if (b->state == AT_TIME) {
		if (e->type != TW_JSAX_NUMBER)
			return fail_type(b, e, "a time in seconds", err);
		return take_time(b, e, err);
	}
	if (b->state == AT_VALUE) {
		if (e->type != TW_JSAX_TEXT)
			return fail_type(b, e, "a value in quotes", err);
		return take_value(b, e, err);
	}
	if (b->state == AT_SAMPLE_END)
		return expect(b, e, TW_JSAX_ARRAY_END, IN_VALUES,
			      "nothing behind a sample's value", err);
	if (e->type == TW_JSAX_ARRAY) {
		b->state = AT_TIME;
		return 0;
	}
	return expect(b, e, TW_JSAX_ARRAY_END, IN_SERIES, "[time, \"value\"]", err);
}

int tw_prom_builder_event(struct tw_prom_builder *b, const struct tw_jsax_event *e,
			  struct tw_err *err)
{
	switch (b->state) {
	case IN_VALUES:
	case AT_TIME:
	case AT_VALUE:
	case AT_SAMPLE_END:
		return take_sample(b, e, err);
	case IN_START:
		return expect(b, e, TW_JSAX_OBJECT, IN_METRICS, "an object of metrics",
			      err);
	case IN_METRICS:
		if (e->type == TW_JSAX_KEY)
			return begin_metric(b, e, err);
		b->state = AT_END; /* its } */
		return 0;
	case AT_LIST:
		return expect(b, e, TW_JSAX_ARRAY, IN_LIST, "a list of series", err);
	case IN_LIST:
		if (e->type != TW_JSAX_OBJECT)
			return expect(b, e, TW_JSAX_ARRAY_END, IN_METRICS,
				      "a series, an object", err);
		begin_series(b);
		return 0;
	case IN_SERIES:
		return e->type == TW_JSAX_KEY ? begin_member(b, e, err)
					      : end_series(b, e, err);
	case AT_LABELS:
		return expect(b, e, TW_JSAX_OBJECT, IN_LABELS, "an object of labels",
			      err);
	case IN_LABELS:
		if (e->type == TW_JSAX_KEY)
			return begin_label(b, e, err);
		b->state = IN_SERIES; /* its } */
		return 0;
	case AT_LABEL:
		if (e->type != TW_JSAX_TEXT)
			return fail_type(b, e, "a label's text", err);
		return end_label(b, e, err);
	case AT_VALUES:
		return expect(b, e, TW_JSAX_ARRAY, IN_VALUES, "a list of samples", err);
	case AT_UNKNOWN:
	case IN_UNKNOWN:
		skip_event(b, e);
		return 0;
	case AT_END:
		break;
	}
	assert(!"event behind the response");
	return -1;
}
