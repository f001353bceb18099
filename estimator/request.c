/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/request.h"

#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/json/jsax.h"
#include "model-db/index/choose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys in the order in which Kepler sends them, followed by the keys of version 2. */
enum field {
	FIELD_METRICS,
	FIELD_VALUES,
	FIELD_OUTPUT,
	FIELD_SOURCE,
	FIELD_SYSTEM_FEATURES,
	FIELD_SYSTEM_VALUES,
	FIELD_TRAINER,
	FIELD_FILTER,
	FIELD_VERSION,
	FIELD_COMPONENTS,
	FIELD_SERIES,
	FIELD_TIME,
	FIELD_MODEL_NAME, /* Kepler up to 0.5.3; not used */
	FIELD_COUNT,
	FIELD_UNKNOWN = FIELD_COUNT,
};

static const char *const field_names[FIELD_COUNT] = {
	[FIELD_METRICS] = "metrics",
	[FIELD_VALUES] = "values",
	[FIELD_OUTPUT] = "output_type",
	[FIELD_SOURCE] = "source",
	[FIELD_SYSTEM_FEATURES] = "system_features",
	[FIELD_SYSTEM_VALUES] = "system_values",
	[FIELD_TRAINER] = "trainer_name",
	[FIELD_FILTER] = "filter",
	[FIELD_VERSION] = "version",
	[FIELD_COMPONENTS] = "components",
	[FIELD_SERIES] = "series",
	[FIELD_TIME] = "time_ms",
	[FIELD_MODEL_NAME] = "model_name",
};

struct tw_request_parser {
	struct tw_jsax *jsax;
	size_t bytes; /* read of this request */
	enum field field;
	unsigned seen; /* 1 << enum field */
	bool done;
	struct tw_arena arena; /* owns the texts of the request */
	const char *output, *source;
	unsigned components;      /* bit set of enum tw_component */
	unsigned component_names; /* entries of "components" read so far */
	struct tw_request_values values;
	struct tw_system_values system;
	struct tw_row_times times;
	struct tw_request request;
};

/* ---- the parser ---- */

__attribute__((cold)) static int fail_value(const struct tw_request_values *v,
					    const struct tw_jsax_event *e,
					    struct tw_err *err)
{
	char at[64];

	snprintf(at, sizeof(at), "values[%zu][%zu]", v->rows, v->in_row);
	return tw_request_fail_type(at, "a number", e, err);
}

/* Read a string; null leaves *to NULL. */
static int take_text(struct tw_request_parser *p, const char **to,
		     const struct tw_jsax_event *e, struct tw_err *err)
{
	const char *name = field_names[p->field];

	if (e->type == TW_JSAX_NULL)
		return 0;
	if (e->type != TW_JSAX_TEXT)
		return tw_request_fail_type(name, "a string", e, err);
	if (e->len > TW_REQUEST_TEXT_MAX || memchr(e->text, '\0', e->len) != NULL)
		return tw_fail(err, TW_INVALID, "%s: longer than %d bytes or with a NUL",
			       name, TW_REQUEST_TEXT_MAX);
	if (e->len == 0)
		return 0;
	*to = tw_arena_text(&p->arena, e->text, e->len);
	if (*to == NULL)
		return tw_fail(err, TW_NOMEM, "%s", name);
	return 0;
}

/*
 * Read a list of names; null is an empty list. A name may be listed twice: Kepler 0.6
 * does so with block_devices_used.
 */
static int take_name(struct tw_request_parser *p, struct tw_strs *to,
		     const struct tw_jsax_event *e, struct tw_err *err)
{
	const char *name = field_names[p->field];

	if (tw_request_is_list(e))
		return 0;
	if (e->depth == 1)
		return tw_request_fail_type(name, "an array", e, err);
	if (e->type != TW_JSAX_TEXT)
		return tw_request_fail_entry(name, to->count, "a string", e, err);
	if (e->len == 0 || e->len > TW_FEATURE_NAME_MAX)
		return tw_fail(err, TW_INVALID, "%s[%zu]: %zu bytes, expected 1 to %d",
			       name, to->count, e->len, TW_FEATURE_NAME_MAX);
	if (to->count == TW_REQUEST_METRICS_MAX)
		return tw_fail(err, TW_INVALID, "%s: more than %d", name,
			       TW_REQUEST_METRICS_MAX);
	if (tw_strs_add_in(to, &p->arena, e->text, e->len, err) < 0)
		return tw_err_wrap(err, "%s[%zu]", name, to->count);
	return 0;
}

static int take_row_value(struct tw_request_parser *p, const struct tw_jsax_event *e,
			  struct tw_err *err)
{
	struct tw_request_values *v = &p->values;

	if (e->depth == 1) {
		if (e->type == TW_JSAX_ARRAY || e->type == TW_JSAX_ARRAY_END)
			return 0;
		return tw_request_fail_type("values", "an array", e, err);
	}
	if (e->depth == 2) {
		if (e->type == TW_JSAX_ARRAY_END)
			return tw_request_values_end_row(v, err);
		if (e->type == TW_JSAX_ARRAY)
			return 0;
		return tw_request_fail_entry("values", v->rows, "an array", e, err);
	}
	if (e->type == TW_JSAX_NUMBER)
		return tw_request_values_add(v, e->number, err);
	if (e->type == TW_JSAX_NULL)
		return tw_request_values_add(v, NAN, err);
	return fail_value(v, e, err);
}

/* Reject an unknown version, because its keys are unknown too. */
static int take_version(struct tw_request_parser *p, const struct tw_jsax_event *e,
			struct tw_err *err)
{
	if (e->type == TW_JSAX_NULL)
		return 0;
	if (e->type != TW_JSAX_NUMBER)
		return tw_request_fail_type("version", "a number", e, err);
	for (unsigned v = 1; v <= TW_REQUEST_VERSION_MAX; v++)
		if (e->number == (double)v) {
			p->request.version = v;
			return 0;
		}
	return tw_fail(err, TW_INVALID, "version: %g, expected 1 to %d", e->number,
		       TW_REQUEST_VERSION_MAX);
}

static int take_component(struct tw_request_parser *p, const struct tw_jsax_event *e,
			  struct tw_err *err)
{
	enum tw_component c;
	char at[64], name[32];

	if (tw_request_is_list(e))
		return 0;
	if (e->depth == 1)
		return tw_request_fail_type("components", "an array", e, err);
	snprintf(at, sizeof(at), "components[%u]", p->component_names++);
	if (e->type != TW_JSAX_TEXT)
		return tw_request_fail_type(at, "a string", e, err);
	snprintf(name, sizeof(name), "%.*s", (int)(e->len < 31 ? e->len : 31), e->text);
	if (strlen(name) != e->len || !tw_component_find(name, &c))
		return tw_fail(err, TW_INVALID, "%s: '%s' is not known", at, name);
	p->components |= 1u << c;
	return 0;
}

static bool is_field(const struct tw_jsax_event *e, enum field f)
{
	return strlen(field_names[f]) == e->len &&
	       memcmp(field_names[f], e->text, e->len) == 0;
}

/* Clients send the keys in order, so try the next key first. */
static int take_key(struct tw_request_parser *p, const struct tw_jsax_event *e,
		    struct tw_err *err)
{
	const unsigned next = p->seen != 0 ? (unsigned)p->field + 1 : 0;

	for (unsigned i = 0; i < FIELD_COUNT; i++) {
		const enum field f = (enum field)((next + i) % FIELD_COUNT);

		if (!is_field(e, f))
			continue;
		if ((p->seen & 1u << f) != 0)
			return tw_fail(err, TW_INVALID, "%s: given twice",
				       field_names[f]);
		p->seen |= 1u << f;
		p->field = f;
		return 0;
	}
	p->field = FIELD_UNKNOWN;
	return 0;
}

static int take_field(struct tw_request_parser *p, const struct tw_jsax_event *e,
		      struct tw_err *err)
{
	switch (p->field) {
	case FIELD_METRICS:
		return take_name(p, &p->request.metrics, e, err);
	case FIELD_VALUES:
		return take_row_value(p, e, err);
	case FIELD_OUTPUT:
		return take_text(p, &p->output, e, err);
	case FIELD_SOURCE:
		return take_text(p, &p->source, e, err);
	case FIELD_SYSTEM_FEATURES:
		return take_name(p, &p->system.names, e, err);
	case FIELD_SYSTEM_VALUES:
		return tw_system_values_add(&p->system, e, err);
	case FIELD_TRAINER:
		return take_text(p, &p->request.trainer, e, err);
	case FIELD_FILTER:
		return take_text(p, &p->request.filter, e, err);
	case FIELD_VERSION:
		return take_version(p, e, err);
	case FIELD_COMPONENTS:
		return take_component(p, e, err);
	case FIELD_SERIES:
		return tw_row_times_add_series(&p->times, e, err);
	case FIELD_TIME:
		return tw_row_times_add(&p->times, e, err);
	case FIELD_MODEL_NAME:
	case FIELD_UNKNOWN:
		break;
	}
	return 0;
}

static int take_event(void *arg, const struct tw_jsax_event *e, struct tw_err *err)
{
	struct tw_request_parser *p = arg;

	if (e->depth == 0) {
		if (e->type == TW_JSAX_OBJECT || e->type == TW_JSAX_OBJECT_END)
			return 0;
		return tw_request_fail_type("request", "an object", e, err);
	}
	if (e->depth == 1 && e->type == TW_JSAX_KEY)
		return take_key(p, e, err);
	return take_field(p, e, err);
}

/* Kepler up to 0.7.2 sends features under old names. */
static int replace_old_names(struct tw_request_parser *p, struct tw_err *err)
{
	struct tw_strs *metrics = &p->request.metrics;

	for (size_t i = 0; i < metrics->count; i++) {
		const struct tw_feature_old *old = tw_feature_old_alias(metrics, i);
		char *name;

		if (old == NULL)
			continue;
		name = tw_arena_text(&p->arena, old->feature, strlen(old->feature));
		if (name == NULL)
			return tw_fail(err, TW_NOMEM, "metrics[%zu]", i);
		metrics->at[i] = name;
	}
	return 0;
}

/*
 * Kepler up to 0.5.3 sends a model_name and no source (estimator/sidecar/estimate.go). It
 * reads a list of powers for AbsPower and DynPower, and an object with "pkg" for types
 * with "Component".
 */
static int take_output(struct tw_request_parser *p, struct tw_err *err)
{
	const struct tw_output_name *name =
		tw_output_name_find(p->output, strlen(p->output));
	const bool has_model = (p->seen & 1u << FIELD_MODEL_NAME) != 0;
	enum tw_output today;

	if (name == NULL)
		return tw_fail(err, TW_INVALID,
			       "output_type: '%.64s' is not known, expected AbsPower or "
			       "DynPower",
			       p->output);
	p->request.output = name->output;
	if (tw_output_find(p->output, &today) &&
	    (p->source != NULL || !has_model || tw_request_parser_version(p) > 1))
		return 0;
	p->request.form =
		name->client == TW_CLIENT_0_5 ? TW_REPLY_COMPONENTS : TW_REPLY_TOTAL;
	return 0;
}

static int add_system_values(struct tw_request_parser *p, struct tw_err *err)
{
	struct tw_system_values *s = &p->system;
	struct tw_request *r = &p->request;

	if (tw_system_values_finish(s, &r->metrics, err) < 0)
		return -1;
	r->system = s->values.x;
	r->systems = s->numeric;
	r->categories =
		(struct tw_categories){ .names = (const char *const *)s->names.at,
					.values = (const char *const *)s->texts.at,
					.count = s->names.count };
	return 0;
}

static int finish(struct tw_request_parser *p, struct tw_err *err)
{
	struct tw_request *r = &p->request;

	if (r->metrics.count == 0)
		return tw_fail(err, TW_INVALID, "metrics: missing or empty");
	if (p->values.rows == 0)
		return tw_fail(err, TW_INVALID, "values: missing or without rows");
	if (p->values.cols != r->metrics.count)
		return tw_fail(err, TW_INVALID, "values[0]: %zu values for %zu metrics",
			       p->values.cols, r->metrics.count);
	if (p->output == NULL)
		return tw_fail(err, TW_INVALID, "output_type: missing");
	if (take_output(p, err) < 0)
		return -1;
	/* A user's own source may have models that are not loaded yet. */
	r->source = tw_energy_source_wanted(p->source);
	if (r->source == NULL && tw_energy_source_open(p->source, &r->source, err) < 0)
		return tw_err_wrap(err, "source");
	r->counters_unproven = tw_feature_list_unproven(&r->metrics);
	if (replace_old_names(p, err) < 0 || add_system_values(p, err) < 0)
		return -1;
	r->x = p->values.x;
	r->rows = p->values.rows;
	r->version = tw_request_parser_version(p);
	if (r->version < 2)
		return 0;
	r->components = p->components;
	if (tw_row_times_finish(&p->times, r->rows, err) < 0)
		return -1;
	r->time_ms = tw_row_times_ms(&p->times);
	r->series = &p->times.series;
	return 0;
}

int tw_request_parser_feed(struct tw_request_parser *p, const char *data, size_t len,
			   size_t *used, bool *done, struct tw_err *err)
{
	if (tw_jsax_feed(p->jsax, data, len, used, err) < 0)
		return -1;
	if (tw_jsax_started(p->jsax))
		p->bytes += *used;
	if (p->bytes > TW_REQUEST_BYTES_MAX)
		return tw_fail(err, TW_INVALID, "longer than %zu bytes",
			       TW_REQUEST_BYTES_MAX);
	if (tw_jsax_done(p->jsax) && !p->done) {
		if (finish(p, err) < 0)
			return -1;
		p->done = true;
	}
	*done = p->done;
	return 0;
}

bool tw_request_parser_started(const struct tw_request_parser *p)
{
	return tw_jsax_started(p->jsax) && !p->done;
}

unsigned tw_request_parser_version(const struct tw_request_parser *p)
{
	return p->request.version != 0 ? p->request.version : 1;
}

const struct tw_request *tw_request_parser_request(const struct tw_request_parser *p)
{
	return &p->request;
}

void tw_request_parser_reset(struct tw_request_parser *p)
{
	const struct tw_strs metrics = { .at = p->request.metrics.at,
					 .size = p->request.metrics.size };

	p->bytes = 0;
	p->seen = 0;
	p->done = false;
	p->output = NULL;
	p->source = NULL;
	p->components = 0;
	p->component_names = 0;
	p->request = (struct tw_request){ .metrics = metrics };
	tw_arena_reset(&p->arena);
	tw_request_values_reset(&p->values);
	tw_system_values_reset(&p->system);
	tw_row_times_release(&p->times);
	tw_jsax_reset(p->jsax);
}

int tw_request_parser_new(struct tw_request_parser **out, struct tw_err *err)
{
	static const struct tw_jsax_limits limits = { .depth = 32,
						      .text_bytes = 64 * 1024 };
	struct tw_request_parser *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return tw_fail(err, TW_NOMEM, "request parser");
	p->system.arena = &p->arena;
	if (tw_jsax_new(&limits, take_event, p, &p->jsax, err) < 0) {
		free(p);
		return -1;
	}
	*out = p;
	return 0;
}

void tw_request_parser_free(struct tw_request_parser *p)
{
	if (p == NULL)
		return;
	tw_strs_drop(&p->request.metrics);
	tw_request_values_release(&p->values);
	tw_system_values_release(&p->system);
	tw_row_times_release(&p->times);
	tw_arena_release(&p->arena);
	tw_jsax_free(p->jsax);
	free(p);
}
