/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/spec.h"

#include "lib/err.h"
#include "lib/json.h"
#include "lib/num.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Larger figures are no machine's. */
#define FIGURE_MAX 1e9

static const struct {
	const char *key;
	size_t offset;
} texts[] = {
	{ "vendor", offsetof(struct tw_machine_spec, vendor) },
	{ "processor", offsetof(struct tw_machine_spec, processor) },
};

static const struct {
	const char *key;
	size_t offset;
	bool whole; /* else rounded: GiB and MHz are often measured */
} figures[] = {
	{ "cores", offsetof(struct tw_machine_spec, cores), true },
	{ "chips", offsetof(struct tw_machine_spec, chips), true },
	{ "memory", offsetof(struct tw_machine_spec, memory_gib), false },
	{ "frequency", offsetof(struct tw_machine_spec, frequency_mhz), false },
	{ "threads_per_core", offsetof(struct tw_machine_spec, threads_per_core), true },
};

static int take_text(const json_t *v, const char *where, const char *key, char *out,
		     struct tw_err *err)
{
	if (v == NULL || json_is_null(v))
		return 0;
	if (!json_is_string(v))
		return tw_fail(err, TW_INVALID, "%s.%s: expected a string, got %s", where,
			       key, tw_json_type_name(v));
	if (json_string_length(v) >= TW_SPEC_TEXT)
		return tw_fail(err, TW_INVALID, "%s.%s: %zu bytes, limit is %d", where,
			       key, json_string_length(v), TW_SPEC_TEXT - 1);
	for (const char *p = json_string_value(v); *p != '\0'; p++)
		if ((unsigned char)*p < ' ')
			return tw_fail(err, TW_INVALID, "%s.%s: control character", where,
				       key);
	memcpy(out, json_string_value(v), json_string_length(v) + 1);
	return 0;
}

static int take_figure(const json_t *v, const char *where, const char *key, bool whole,
		       uint32_t *out, struct tw_err *err)
{
	const char *text = json_string_value(v);
	double d;

	if (v == NULL || json_is_null(v) || (text != NULL && text[0] == '\0'))
		return 0;
	if (text != NULL) {
		if (!tw_parse_double(text, strlen(text), &d))
			return tw_fail(err, TW_INVALID, "%s.%s: '%.40s' is not a number",
				       where, key, text);
	} else if (json_is_number(v)) {
		d = json_number_value(v);
	} else {
		return tw_fail(err, TW_INVALID, "%s.%s: expected a number, got %s", where,
			       key, tw_json_type_name(v));
	}
	if (d == -1)
		d = 0;
	if (!(d >= 0 && d <= FIGURE_MAX) || (whole && d != floor(d)))
		return tw_fail(err, TW_INVALID,
			       "%s.%s: %.6g is not a %snumber from 0 to %.0f", where, key,
			       d, whole ? "whole " : "", FIGURE_MAX);
	*out = (uint32_t)(d + 0.5);
	return 0;
}

int tw_machine_spec_from_json(const json_t *obj, const char *where,
			      struct tw_machine_spec *out, struct tw_err *err)
{
	struct tw_machine_spec s = { 0 };

	if (obj != NULL && !json_is_object(obj) && !json_is_null(obj))
		return tw_fail(err, TW_INVALID, "%s: expected an object, got %s", where,
			       tw_json_type_name(obj));
	for (size_t i = 0; i < COUNT(texts); i++)
		if (take_text(json_object_get(obj, texts[i].key), where, texts[i].key,
			      (char *)&s + texts[i].offset, err) < 0)
			return -1;
	for (size_t i = 0; i < COUNT(figures); i++) {
		uint32_t v = 0;

		if (take_figure(json_object_get(obj, figures[i].key), where,
				figures[i].key, figures[i].whole, &v, err) < 0)
			return -1;
		memcpy((char *)&s + figures[i].offset, &v, sizeof(v));
	}
	*out = s;
	return 0;
}

json_t *tw_machine_spec_to_json(const struct tw_machine_spec *s)
{
	json_t *obj = json_object();

	for (size_t i = 0; obj != NULL && i < COUNT(texts); i++) {
		const char *text = (const char *)s + texts[i].offset;

		if (text[0] != '\0' &&
		    json_object_set_new(obj, texts[i].key, json_string(text)) < 0)
			goto fail;
	}
	for (size_t i = 0; obj != NULL && i < COUNT(figures); i++) {
		uint32_t v;

		memcpy(&v, (const char *)s + figures[i].offset, sizeof(v));
		if (v != 0 &&
		    json_object_set_new(obj, figures[i].key, json_integer(v)) < 0)
			goto fail;
	}
	return obj;

fail:
	json_decref(obj);
	return NULL;
}

bool tw_machine_spec_known(const struct tw_machine_spec *s)
{
	return s->vendor[0] != '\0' || s->processor[0] != '\0' || s->cores != 0 ||
	       s->chips != 0 || s->memory_gib != 0 || s->frequency_mhz != 0 ||
	       s->threads_per_core != 0;
}
