/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/request_system.h"

#include "estimator/request.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/jsax.h"

#include <string.h>

static int add_system_text(struct tw_request_system *s, const struct tw_jsax_event *e,
			   struct tw_err *err)
{
	char number[TW_DOUBLE_TEXT];

	if (e->type == TW_JSAX_NUMBER)
		return tw_strs_add_in(&s->texts, s->arena, number,
				      tw_format_double(number, e->number), err);
	if (e->type == TW_JSAX_TEXT && e->len <= TW_REQUEST_TEXT_MAX &&
	    memchr(e->text, '\0', e->len) == NULL)
		return tw_strs_add_in(&s->texts, s->arena, e->text, e->len, err);
	return tw_strs_add_in(&s->texts, s->arena, "", 0, err);
}

int tw_request_system_value(struct tw_request_system *s, const struct tw_jsax_event *e,
			    struct tw_err *err)
{
	struct tw_values *v = &s->values;

	if (e->depth == 1) {
		if (e->type == TW_JSAX_ARRAY || e->type == TW_JSAX_ARRAY_END ||
		    e->type == TW_JSAX_NULL)
			return 0;
		return tw_fail(err, TW_PARSE, "system_values: expected an array, got %s",
			       tw_jsax_type_name(e->type));
	}
	if (v->in_row == TW_REQUEST_METRICS_MAX)
		return tw_fail(err, TW_INVALID, "system_values: more than %d",
			       TW_REQUEST_METRICS_MAX);
	if (add_system_text(s, e, err) < 0)
		return -1;
	if (e->type == TW_JSAX_NUMBER)
		return tw_values_add(v, e->number, err);
	if (e->type == TW_JSAX_TEXT)
		return tw_values_add_text(v, e->text, e->len, err);
	if (e->type == TW_JSAX_NULL)
		return tw_values_add_missing(v, err);
	return tw_fail(err, TW_PARSE,
		       "system_values[%zu]: expected a number or a string, got %s",
		       v->in_row, tw_jsax_type_name(e->type));
}

int tw_request_system_finish(struct tw_request_system *s, struct tw_request *r,
			     struct tw_err *err)
{
	double *x = s->values.x;
	size_t count = 0;

	if (s->names.count != s->values.in_row)
		return tw_fail(err, TW_INVALID,
			       "system_values: %zu for %zu system_features",
			       s->values.in_row, s->names.count);
	for (size_t i = 0; i < s->names.count; i++) {
		if (tw_values_is_missing(x[i]) ||
		    tw_strs_has(&r->metrics, s->names.at[i]))
			continue;
		if (r->metrics.count == TW_REQUEST_METRICS_MAX)
			return tw_fail(err, TW_INVALID, "metrics: more than %d",
				       TW_REQUEST_METRICS_MAX);
		if (tw_strs_add_in(&r->metrics, s->arena, s->names.at[i],
				   strlen(s->names.at[i]), err) < 0)
			return -1;
		x[count++] = x[i];
	}
	r->system = x;
	r->systems = count;
	r->categories =
		(struct tw_categories){ .names = (const char *const *)s->names.at,
					.values = (const char *const *)s->texts.at,
					.count = s->names.count };
	return 0;
}

void tw_request_system_reset(struct tw_request_system *s)
{
	s->names.count = 0;
	s->texts.count = 0;
	tw_values_reset(&s->values);
}

void tw_request_system_release(struct tw_request_system *s)
{
	tw_strs_drop(&s->names);
	tw_strs_drop(&s->texts);
	tw_values_release(&s->values);
}
