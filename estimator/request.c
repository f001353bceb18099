/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/request.h"

#include "estimator/request_system.h"
#include "estimator/request_times.h"
#include "estimator/request_values.h"
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/json/jsax.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order in which Kepler sends them, what is ours behind it. */
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
};

struct tw_request_parser {
	struct tw_jsax *jsax;
	size_t bytes; /* of this request */
	enum field field;
	unsigned seen; /* 1 << enum field */
	bool done;
	struct tw_arena arena; /* of the request's texts */
	const char *output, *source;
	unsigned components, named; /* asked for, and how many names were given */
	struct tw_values values;
	struct tw_request_system system;
	struct tw_request_times times;
	struct tw_request request;
};

static int fail_type(const char *name, const char *want, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	return tw_fail(err, TW_PARSE, "%s: expected %s, got %s", name, want,
		       tw_jsax_type_name(e->type));
}

/* The same of an entry of a list, which hardly any request has. */
__attribute__((cold)) static int fail_entry(const char *name, size_t i, const char *want,
					    const struct tw_jsax_event *e,
					    struct tw_err *err)
{
	char at[64];

	snprintf(at, sizeof(at), "%s[%zu]", name, i);
	return fail_type(at, want, e, err);
}

__attribute__((cold)) static int
fail_value(const struct tw_values *v, const struct tw_jsax_event *e, struct tw_err *err)
{
	char at[64];

	snprintf(at, sizeof(at), "values[%zu][%zu]", v->rows, v->in_row);
	return fail_type(at, "a number", e, err);
}

/* A string, or null for none. */
static int take_text(struct tw_request_parser *p, const char **to,
		     const struct tw_jsax_event *e, struct tw_err *err)
{
	const char *name = field_names[p->field];

	if (e->type == TW_JSAX_NULL)
		return 0;
	if (e->type != TW_JSAX_TEXT)
		return fail_type(name, "a string", e, err);
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

/* A list of names, or null for none. Kepler 0.6 lists block_devices_used twice. */
static int take_name(struct tw_request_parser *p, struct tw_strs *to,
		     const struct tw_jsax_event *e, struct tw_err *err)
{
	const char *name = field_names[p->field];

	if (e->depth == 1) {
		if (e->type == TW_JSAX_ARRAY || e->type == TW_JSAX_ARRAY_END ||
		    e->type == TW_JSAX_NULL)
			return 0;
		return fail_type(name, "an array", e, err);
	}
	if (e->type != TW_JSAX_TEXT)
		return fail_entry(name, to->count, "a string", e, err);
	if (e->len == 0 || e->len > TW_FEATURE_NAME_MAX)
		return tw_fail(err, TW_INVALID, "%s[%zu]: %zu bytes, want 1 to %d", name,
			       to->count, e->len, TW_FEATURE_NAME_MAX);
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
	struct tw_values *v = &p->values;

	if (e->depth == 1) {
		if (e->type == TW_JSAX_ARRAY || e->type == TW_JSAX_ARRAY_END)
			return 0;
		return fail_type("values", "an array", e, err);
	}
	if (e->depth == 2) {
		if (e->type == TW_JSAX_ARRAY_END)
			return tw_values_end_row(v, err);
		if (e->type == TW_JSAX_ARRAY)
			return 0;
		return fail_entry("values", v->rows, "an array", e, err);
	}
	if (e->type == TW_JSAX_NUMBER)
		return tw_values_add(v, e->number, err);
	if (e->type == TW_JSAX_NULL)
		return tw_values_add_missing(v, err);
	return fail_value(v, e, err);
}

/* A version to come has keys that we know nothing of: it is refused. */
static int take_version(struct tw_request_parser *p, const struct tw_jsax_event *e,
			struct tw_err *err)
{
	if (e->type == TW_JSAX_NULL)
		return 0;
	if (e->type != TW_JSAX_NUMBER)
		return fail_type("version", "a number", e, err);
	for (unsigned v = 1; v <= TW_REQUEST_VERSION_MAX; v++)
		if (e->number == (double)v) {
			p->request.version = v;
			return 0;
		}
	return tw_fail(err, TW_INVALID, "version: %g is not 1 to %d", e->number,
		       TW_REQUEST_VERSION_MAX);
}

static int take_component(struct tw_request_parser *p, const struct tw_jsax_event *e,
			  struct tw_err *err)
{
	enum tw_component c;
	char at[64], name[32];

	if (e->depth == 1) {
		if (e->type == TW_JSAX_ARRAY || e->type == TW_JSAX_ARRAY_END ||
		    e->type == TW_JSAX_NULL)
			return 0;
		return fail_type("components", "an array", e, err);
	}
	snprintf(at, sizeof(at), "components[%u]", p->named++);
	if (e->type != TW_JSAX_TEXT)
		return fail_type(at, "a string", e, err);
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

/* Clients send the fields in order: the next one is tried first. */
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
		return tw_request_system_value(&p->system, e, err);
	case FIELD_TRAINER:
		return take_text(p, &p->request.trainer, e, err);
	case FIELD_FILTER:
		return take_text(p, &p->request.filter, e, err);
	case FIELD_VERSION:
		return take_version(p, e, err);
	case FIELD_COMPONENTS:
		return take_component(p, e, err);
	case FIELD_SERIES:
		return tw_request_times_series(&p->times, e, err);
	case FIELD_TIME:
		return tw_request_times_time(&p->times, e, err);
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
		return fail_type("request", "an object", e, err);
	}
	if (e->depth == 1 && e->type == TW_JSAX_KEY)
		return take_key(p, e, err);
	return take_field(p, e, err);
}

/* A client may call features by old names: Kepler up to 0.5.3. */
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
	if (!tw_output_find(p->output, &r->output))
		return tw_fail(err, TW_INVALID, "output_type: '%.64s' is not known",
			       p->output);
	r->source = tw_energy_source_wanted(p->source);
	if (r->source == NULL)
		return tw_fail(err, TW_INVALID, "source: '%.64s' is not known",
			       p->source);
	if (replace_old_names(p, err) < 0 ||
	    tw_request_system_finish(&p->system, r, err) < 0)
		return -1;
	r->x = p->values.x;
	r->rows = p->values.rows;
	r->version = tw_request_parser_version(p);
	if (r->version < 2)
		return 0;
	r->components = p->components;
	return tw_request_times_finish(&p->times, r, err);
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
	p->named = 0;
	p->request = (struct tw_request){ .metrics = metrics };
	tw_arena_reset(&p->arena);
	tw_values_reset(&p->values);
	tw_request_system_reset(&p->system);
	tw_request_times_release(&p->times);
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
	tw_values_release(&p->values);
	tw_request_system_release(&p->system);
	tw_request_times_release(&p->times);
	tw_arena_release(&p->arena);
	tw_jsax_free(p->jsax);
	free(p);
}
