/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/response/prom.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "trainer/response/schema.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limit of time stamps, in seconds since the epoch: the year 5138. */
#define TIME_MAX_S 1e11

/* Above any counter; sums and squares of such values do not overflow. */
#define VALUE_MAX 1e30

#define LABELS_MAX 64

static const struct tw_jsax_limits limits = { .depth = 32, .text_bytes = 64 << 10 };

/* ---- the series being read ---- */

/*
 * Labels and samples of one series, not packed yet. Its functions do not know the place
 * in the document: they return NULL, or a text that says what is wrong, to append to it.
 * All zero bytes is empty.
 */
struct series_draft {
	struct tw_label label[LABELS_MAX];
	size_t labels;
	double *time_ms; /* whole numbers */
	double *value;
	size_t samples, size;
};

/* Empty it; memory is reused. */
static void begin_draft(struct series_draft *d)
{
	d->labels = 0;
	d->samples = 0;
}

static const char *check_label(const struct series_draft *d, const char *name)
{
	for (size_t i = 0; i < d->labels; i++)
		if (d->label[i].name == name)
			return "each label once";
	return d->labels < LABELS_MAX ? NULL : "fewer labels";
}

static double to_ms(double time_s)
{
	return (double)(int64_t)(time_s * 1e3 + 0.5);
}

static const char *check_time(const struct series_draft *d, double time_s)
{
	if (!(time_s >= 0 && time_s <= TIME_MAX_S))
		return "not a time";
	if (d->samples == 0)
		return NULL;
	if (to_ms(time_s) == d->time_ms[d->samples - 1])
		return "repeats the time before it";
	if (to_ms(time_s) < d->time_ms[d->samples - 1])
		return "out of order: before the sample before it";
	return NULL;
}

static int grow_draft(struct series_draft *d, struct tw_err *err)
{
	const size_t size = d->size != 0 ? d->size * 2 : 256;

	if (d->size >= TW_PACKED_COUNT_MAX / 2)
		return tw_fail(err, TW_INVALID, "a series of more than %zu samples",
			       d->size);
	if (!tw_resize(&d->time_ms, size, sizeof(*d->time_ms)) ||
	    !tw_resize(&d->value, size, sizeof(*d->value)))
		return tw_fail(err, TW_NOMEM, "series of %zu samples", size);
	d->size = size;
	return 0;
}

/* Begin a sample. */
static int add_time(struct series_draft *d, double time_s, struct tw_err *err)
{
	if (d->samples == d->size && grow_draft(d, err) < 0)
		return -1;
	d->time_ms[d->samples] = to_ms(time_s);
	return 0;
}

static const char *check_value(double v)
{
	if (isnan(v))
		return "value is NaN";
	if (isinf(v))
		return "value is infinite";
	if (v < 0)
		return "value is negative";
	return v <= VALUE_MAX ? NULL : "value is too large for a counter";
}

/* End a sample. On failure *code is the error's. */
static const char *add_value(struct series_draft *d, const char *text, size_t len,
			     enum tw_code *code)
{
	const char *fault;
	double v;

	if (!tw_parse_sample(text, len, &v)) {
		*code = TW_PARSE;
		return "value is not a number";
	}
	fault = check_value(v);
	if (fault != NULL) {
		*code = TW_INVALID;
		return fault;
	}
	d->value[d->samples++] = v;
	return NULL;
}

static void release_draft(struct series_draft *d)
{
	free(d->time_ms);
	free(d->value);
	*d = (struct series_draft){ 0 };
}

/* ---- events of the parser ---- */

#define METRIC_NONE SIZE_MAX

static const char name_label[] = "__name__";

/* Position in the document: what the next event is. */
enum state {
	IN_START,   /* the response's { */
	IN_METRICS, /* a metric's name, or the } */
	AT_ERROR,   /* "error" of an answer of the API */
	AT_DATA,    /* "data" of it */
	IN_DATA,    /* "result", another key, or } */
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
	AT_SKIPPED, /* a value to skip */
	IN_SKIPPED, /* an event within that value */
	AT_END,
};

/* A label name of a previous series. Most series of a metric name the same labels in the
 * same order. */
struct known_label {
	char text[32];
	size_t len;       /* 0: none */
	const char *name; /* interned; NULL: skipped */
};

struct tw_prom_builder {
	struct tw_prom *prom;
	const struct tw_strs *more; /* third-party metrics to keep, or NULL */
	enum state state;
	enum state after_skip; /* state behind the skipped value */
	unsigned skip_depth;   /* depth of the skipped value's last event */

	bool raw; /* an answer of the API: the labels have the metric's name */
	/* The skipped value is its `warnings` (Thanos), or `isPartial` (VictoriaMetrics).
	 */
	bool in_warnings, in_partial;

	/* The series being read. */
	size_t metric;    /* METRIC_NONE: the series is not kept */
	bool third_party; /* its metric is in more */
	size_t number;    /* within the metric, from 1 */
	bool has_labels, has_values;
	struct series_draft series;
	const char *label_name;               /* NULL: skip the label's text */
	size_t position;                      /* of the label within its series */
	struct known_label known[LABELS_MAX]; /* by position */
};

const char *const tw_prom_partial_names[] = { "refuse", "accept", NULL };

int tw_prom_check_whole(const struct tw_prom *p, const char *where, const char *advice,
			struct tw_err *err)
{
	if (p->partial[0] == '\0')
		return 0;
	return tw_fail(err, TW_INVALID,
		       "%s: the answer is partial, series may be missing: %.*s (%s)",
		       where, (int)strcspn(p->partial, "\r\n"), p->partial, advice);
}

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
	release_draft(&b->series);
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

/* "byte 12: cpu_total, series 3 (mode=idle)", up to the current position. */
static void describe_place(const struct tw_prom_builder *b, const struct tw_jsax_event *e,
			   char *out, size_t size)
{
	const struct tw_series s = { .label = b->series.label,
				     .labels = b->series.labels };
	char labels[96];
	int n = snprintf(out, size, "byte %" PRIu64, e->offset);

	if (b->state <= IN_DATA)
		return;
	if (b->metric < b->prom->count)
		n += snprintf(out + n, size - (size_t)n, ": %s",
			      b->prom->metric[b->metric].name);
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

static void skip_value(struct tw_prom_builder *b, enum state after)
{
	b->state = AT_SKIPPED;
	b->after_skip = after;
}

/* Keep the first warning. */
static void note_partial(struct tw_prom_builder *b, const struct tw_jsax_event *e)
{
	char *text = b->prom->partial;
	const size_t size = sizeof(b->prom->partial);

	if (b->in_warnings && text[0] == '\0' && e->type == TW_JSAX_TEXT)
		snprintf(text, size, "%.*s", (int)(e->len < size ? e->len : size),
			 e->text);
	if (b->in_partial && e->type == TW_JSAX_TRUE)
		snprintf(text, size, "isPartial is true");
}

static bool is_third_party(const struct tw_prom_builder *b, const struct tw_jsax_event *e)
{
	for (size_t i = 0; b->more != NULL && i < b->more->count; i++)
		if (tw_jsax_is_text(e, b->more->at[i]))
			return true;
	return false;
}

/* The metric decides which labels are kept. */
static void forget_labels(struct tw_prom_builder *b)
{
	for (size_t i = 0; i < LABELS_MAX; i++)
		b->known[i].len = 0;
}

/* Find the metric of a list or, in an answer of the API, of a series. */
static int find_metric(struct tw_prom_builder *b, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	b->metric = METRIC_NONE;
	b->third_party = is_third_party(b, e);
	if (!b->third_party && !tw_schema_has_metric(e->text, e->len))
		return 0;
	return tw_prom_add_metric(b->prom, e->text, e->len, &b->metric, err);
}

static int begin_metric(struct tw_prom_builder *b, const struct tw_jsax_event *e,
			struct tw_err *err)
{
	forget_labels(b);
	b->in_warnings = b->in_partial = false;
	if (find_metric(b, e, err) < 0)
		return -1;
	if (b->metric == METRIC_NONE) {
		skip_value(b, IN_METRICS);
		b->in_warnings = tw_jsax_is_text(e, "warnings");
		b->in_partial = tw_jsax_is_text(e, "isPartial");
		if (tw_jsax_is_text(e, "data"))
			b->state = AT_DATA;
		else if (tw_jsax_is_text(e, "error"))
			b->state = AT_ERROR;
		return 0;
	}
	b->number = b->prom->metric[b->metric].count;
	b->state = AT_LIST;
	return 0;
}

/* {"status":"success","data":{"resultType":"matrix","result":[..]}} */
static int begin_data(struct tw_prom_builder *b, const struct tw_jsax_event *e)
{
	if (e->type != TW_JSAX_KEY) {
		b->state = IN_METRICS; /* the data's } */
		return 0;
	}
	if (!tw_jsax_is_text(e, "result")) {
		skip_value(b, IN_DATA);
		return 0;
	}
	b->raw = true;
	b->number = 0;
	b->metric = METRIC_NONE;
	b->state = AT_LIST;
	return 0;
}

static void begin_series(struct tw_prom_builder *b)
{
	b->state = IN_SERIES;
	b->number++;
	if (b->raw)
		b->metric = METRIC_NONE;
	b->has_labels = false;
	b->has_values = false;
	b->position = 0;
	begin_draft(&b->series);
}

/* A program's own start is of no workload, and its target may be another machine's. */
static bool is_foreign_start(const struct tw_prom_builder *b)
{
	if (b->third_party ||
	    strcmp(b->prom->metric[b->metric].name, TW_SCHEMA_STARTS) != 0)
		return false;
	for (size_t i = 0; i < b->series.labels; i++)
		if (strcmp(b->series.label[i].name, "pid") == 0 ||
		    strcmp(b->series.label[i].name, "container_id") == 0)
			return false;
	return true;
}

static int end_series(struct tw_prom_builder *b, const struct tw_jsax_event *e,
		      struct tw_err *err)
{
	if (!b->has_labels || !b->has_values)
		return fail_type(b, e, "'metric' and 'values' in a series", err);
	b->state = IN_LIST;
	if (b->series.samples == 0 || b->metric == METRIC_NONE || is_foreign_start(b))
		return 0;
	return tw_prom_add_series(b->prom, b->metric, b->series.label, b->series.labels,
				  b->series.time_ms, b->series.value, b->series.samples,
				  err);
}

static int begin_member(struct tw_prom_builder *b, const struct tw_jsax_event *e,
			struct tw_err *err)
{
	bool is_labels = tw_jsax_is_text(e, "metric"),
	     is_values = tw_jsax_is_text(e, "values");

	if (!is_labels && !is_values) {
		skip_value(b, IN_SERIES);
		return 0;
	}
	if (is_labels ? b->has_labels : b->has_values)
		return fail_type(b, e, "'metric' and 'values' once in a series", err);
	b->has_labels |= is_labels;
	b->has_values |= is_values;
	b->state = is_labels ? AT_LABELS : AT_VALUES;
	return 0;
}

/* Set label_name. */
static int find_label_name(struct tw_prom_builder *b, const struct tw_jsax_event *e,
			   struct tw_err *err)
{
	b->label_name = b->raw && tw_jsax_is_text(e, name_label) ? name_label : NULL;
	if (b->label_name != NULL)
		return 0;
	/* Any label of a third-party metric may distinguish its series: keep all. */
	if (!b->third_party && !tw_schema_has_label(e->text, e->len))
		return 0;
	if (memchr(e->text, '\0', e->len) != NULL)
		return fail_type(b, e, "labels without NUL", err);
	b->label_name = tw_intern(&b->prom->shared, e->text, e->len, err);
	return b->label_name != NULL ? 0 : -1;
}

static int begin_label(struct tw_prom_builder *b, const struct tw_jsax_event *e,
		       struct tw_err *err)
{
	struct known_label *known =
		b->position < LABELS_MAX ? &b->known[b->position] : NULL;

	b->position++;
	b->state = AT_LABEL;
	if (known != NULL && known->len == e->len && e->len > 0 &&
	    memcmp(known->text, e->text, e->len) == 0) {
		b->label_name = known->name;
		return 0;
	}
	if (find_label_name(b, e, err) < 0)
		return -1;
	if (known != NULL && e->len <= sizeof(known->text)) {
		memcpy(known->text, e->text, e->len);
		known->len = e->len;
		known->name = b->label_name;
	}
	return 0;
}

static int end_label(struct tw_prom_builder *b, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	const char *value, *wanted;

	b->state = IN_LABELS;
	if (b->label_name == NULL)
		return 0;
	if (b->label_name == name_label) {
		forget_labels(b);
		return find_metric(b, e, err);
	}
	if (memchr(e->text, '\0', e->len) != NULL)
		return fail_type(b, e, "labels without NUL", err);
	wanted = check_label(&b->series, b->label_name);
	if (wanted != NULL)
		return fail_type(b, e, wanted, err);
	value = tw_intern(&b->prom->shared, e->text, e->len, err);
	if (value == NULL)
		return -1;
	b->series.label[b->series.labels++] = (struct tw_label){ b->label_name, value };
	return 0;
}

static int take_time(struct tw_prom_builder *b, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	const char *fault = check_time(&b->series, e->number);

	if (fault != NULL)
		return fail_sample(b, e, TW_INVALID, e->number, fault, err);
	b->state = AT_VALUE;
	return add_time(&b->series, e->number, err);
}

static int take_value(struct tw_prom_builder *b, const struct tw_jsax_event *e,
		      struct tw_err *err)
{
	enum tw_code code;
	const char *fault = add_value(&b->series, e->text, e->len, &code);

	if (fault != NULL)
		return fail_sample(b, e, code, b->series.time_ms[b->series.samples] / 1e3,
				   fault, err);
	b->state = AT_SAMPLE_END;
	return 0;
}

/* Skip one event of a value: a scalar, or everything up to the container's end. */
static void skip_event(struct tw_prom_builder *b, const struct tw_jsax_event *e)
{
	bool opens = e->type == TW_JSAX_OBJECT || e->type == TW_JSAX_ARRAY;
	bool closes = e->type == TW_JSAX_OBJECT_END || e->type == TW_JSAX_ARRAY_END;

	if (b->state == AT_SKIPPED && opens) {
		b->state = IN_SKIPPED;
		b->skip_depth = e->depth;
	} else if (b->state == AT_SKIPPED || (closes && e->depth == b->skip_depth)) {
		b->state = b->after_skip;
	}
}

/* Change the state if the event is of that type, else fail. */
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
		b->state = AT_END; /* the response's } */
		return 0;
	case AT_ERROR:
		return e->type == TW_JSAX_TEXT
			       ? tw_fail(err, TW_INVALID,
					 "an answer with the error '%.*s'",
					 (int)(e->len < 300 ? e->len : 300), e->text)
			       : fail_type(b, e, "a text", err);
	case AT_DATA:
		return expect(b, e, TW_JSAX_OBJECT, IN_DATA, "an object with 'result'",
			      err);
	case IN_DATA:
		return begin_data(b, e);
	case AT_LIST:
		return expect(b, e, TW_JSAX_ARRAY, IN_LIST, "a list of series", err);
	case IN_LIST:
		if (e->type != TW_JSAX_OBJECT)
			return expect(b, e, TW_JSAX_ARRAY_END,
				      b->raw ? IN_DATA : IN_METRICS,
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
		b->state = IN_SERIES; /* the labels' } */
		return 0;
	case AT_LABEL:
		if (e->type != TW_JSAX_TEXT)
			return fail_type(b, e, "a label's text", err);
		return end_label(b, e, err);
	case AT_VALUES:
		return expect(b, e, TW_JSAX_ARRAY, IN_VALUES, "a list of samples", err);
	case AT_SKIPPED:
	case IN_SKIPPED:
		note_partial(b, e);
		skip_event(b, e);
		return 0;
	case AT_END:
		break;
	}
	assert(!"event behind the response");
	return -1;
}

/* ---- a whole document ---- */

static int take_event(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	return tw_prom_builder_event(arg, e, err);
}

static int new_builder(const struct tw_strs *more, struct tw_prom_builder **out,
		       struct tw_err *err)
{
	if (tw_prom_builder_new(out, err) < 0)
		return -1;
	tw_prom_builder_add(*out, more);
	return 0;
}

int tw_prom_parse_more(const char *data, size_t len, const struct tw_strs *more,
		       struct tw_prom **out, struct tw_err *err)
{
	struct tw_prom_builder *b = NULL;
	int rc = -1;

	if (new_builder(more, &b, err) == 0 &&
	    tw_jsax_parse(&limits, take_event, b, data, len, err) == 0) {
		*out = tw_prom_builder_detach(b);
		rc = 0;
	}
	tw_prom_builder_free(b);
	return rc;
}

int tw_prom_read_more(const char *path, const struct tw_strs *more, struct tw_prom **out,
		      struct tw_err *err)
{
	struct tw_prom_builder *b = NULL;
	int rc = -1;

	if (new_builder(more, &b, err) < 0 ||
	    tw_jsax_read(&limits, take_event, b, path, err) < 0 ||
	    tw_prom_check_whole(b->prom, path,
				"'tallywatt query --partial accept' takes it", err) < 0)
		goto out;
	*out = tw_prom_builder_detach(b);
	rc = 0;
out:
	tw_prom_builder_free(b);
	return rc;
}

int tw_prom_parse(const char *data, size_t len, struct tw_prom **out, struct tw_err *err)
{
	return tw_prom_parse_more(data, len, NULL, out, err);
}

int tw_prom_read(const char *path, struct tw_prom **out, struct tw_err *err)
{
	return tw_prom_read_more(path, NULL, out, err);
}
