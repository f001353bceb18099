/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/spec.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/fields.h"
#include "lib/json/json.h"
#include "lib/json/writer.h"

#include <math.h>
#include <string.h>

static const struct {
	const char *key;
	size_t offset;
} texts[] = {
	{ "vendor", offsetof(struct tw_machine_spec, vendor) },
	{ "processor", offsetof(struct tw_machine_spec, processor) },
	{ "system_vendor", offsetof(struct tw_machine_spec, system_vendor) },
};

static const struct {
	const char *key;
	size_t offset;
	double most; /* Linux has 8192 logical CPUs at most */
	bool whole;  /* else round: GiB and MHz are often measured */
} figures[] = {
	{ "cores", offsetof(struct tw_machine_spec, cores), 65536, true },
	{ "chips", offsetof(struct tw_machine_spec, chips), 4096, true },
	{ "memory", offsetof(struct tw_machine_spec, memory_gib), 1e9, false },
	{ "frequency", offsetof(struct tw_machine_spec, frequency_mhz), 1e9, false },
	{ "threads_per_core", offsetof(struct tw_machine_spec, threads_per_core), 64,
	  true },
};

static int take_text(const struct tw_spec_value *v, const char *where, const char *key,
		     char *out, struct tw_err *err)
{
	if (v->text == NULL)
		return tw_fail(err, TW_INVALID, "%s.%s: expected a string, got %s", where,
			       key, v->kind);
	if (v->len >= TW_SPEC_TEXT)
		return tw_fail(err, TW_INVALID, "%s.%s: %zu bytes, limit is %d", where,
			       key, v->len, TW_SPEC_TEXT - 1);
	for (size_t i = 0; i < v->len; i++)
		if ((unsigned char)v->text[i] < ' ')
			return tw_fail(err, TW_INVALID, "%s.%s: control character", where,
				       key);
	memcpy(out, v->text, v->len);
	return 0;
}

/* Take the figure of a row of figures[]. */
static int take_figure(const struct tw_spec_value *v, const char *where, size_t row,
		       uint32_t *out, struct tw_err *err)
{
	const char *key = figures[row].key;
	const double most = figures[row].most;
	const bool whole = figures[row].whole;
	double d = v->number;

	if (v->text != NULL && v->len == 0)
		return 0;
	if (v->text != NULL && !tw_parse_double(v->text, v->len, &d))
		return tw_fail(err, TW_INVALID, "%s.%s: '%.*s' is not a number", where,
			       key, (int)(v->len < 40 ? v->len : 40), v->text);
	if (v->text == NULL && !v->is_number)
		return tw_fail(err, TW_INVALID, "%s.%s: expected a number, got %s", where,
			       key, v->kind);
	if (d == -1)
		d = 0;
	if (!(d >= 0 && d <= most) || (whole && d != floor(d)))
		return tw_fail(err, TW_INVALID,
			       "%s.%s: %.6g is not a %snumber from 0 to %.0f", where, key,
			       d, whole ? "whole " : "", most);
	*out = (uint32_t)(d + 0.5);
	return 0;
}

static int mark_seen(unsigned *seen, size_t i, const char *where, const char *key,
		     struct tw_err *err)
{
	if ((*seen >> i & 1) != 0)
		return tw_fail(err, TW_INVALID, "%s.%s: given twice", where, key);
	*seen |= 1u << i;
	return 0;
}

int tw_machine_spec_take(struct tw_machine_spec *s, unsigned *seen, const char *key,
			 const struct tw_spec_value *v, const char *where,
			 struct tw_err *err)
{
	for (size_t i = 0; i < TW_COUNT(texts); i++) {
		if (strcmp(key, texts[i].key) != 0)
			continue;
		if (mark_seen(seen, i, where, key, err) < 0)
			return -1;
		if (take_text(v, where, key, (char *)s + texts[i].offset, err) < 0)
			return -1;
		/* Requests and older databases have the number of cores in the name. */
		tw_processor_drop_cores(s->processor);
		return 0;
	}
	for (size_t i = 0; i < TW_COUNT(figures); i++) {
		uint32_t figure = 0;

		if (strcmp(key, figures[i].key) != 0)
			continue;
		if (mark_seen(seen, TW_COUNT(texts) + i, where, key, err) < 0 ||
		    take_figure(v, where, i, &figure, err) < 0)
			return -1;
		memcpy((char *)s + figures[i].offset, &figure, sizeof(figure));
	}
	return 0;
}

int tw_machine_spec_from_json(const json_t *obj, const char *where,
			      struct tw_machine_spec *out, struct tw_err *err)
{
	struct tw_machine_spec s = { 0 };
	unsigned seen = 0;
	const char *key;
	json_t *member;

	if (obj != NULL && !json_is_object(obj) && !json_is_null(obj))
		return tw_fail(err, TW_INVALID, "%s: expected an object, got %s", where,
			       tw_json_type_name(obj));
	json_object_foreach((json_t *)(uintptr_t)obj, key, member) {
		const struct tw_spec_value v = { .kind = tw_json_type_name(member),
						 .text = json_string_value(member),
						 .len = json_string_length(member),
						 .is_number = json_is_number(member),
						 .number = json_number_value(member) };

		if (!json_is_null(member) &&
		    tw_machine_spec_take(&s, &seen, key, &v, where, err) < 0)
			return -1;
	}
	*out = s;
	return 0;
}

json_t *tw_machine_spec_to_json(const struct tw_machine_spec *s)
{
	json_t *obj = json_object();

	for (size_t i = 0; obj != NULL && i < TW_COUNT(texts); i++) {
		const char *text = (const char *)s + texts[i].offset;

		if (text[0] != '\0' &&
		    json_object_set_new(obj, texts[i].key, json_string(text)) < 0)
			goto fail;
	}
	for (size_t i = 0; obj != NULL && i < TW_COUNT(figures); i++) {
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

static int read_spec(const json_t *v, const char *where, void *spec, struct tw_err *err)
{
	return tw_machine_spec_from_json(v, where, spec, err);
}

static void write_spec(const void *spec, struct tw_buf *out)
{
	tw_json_add_value_take(out, NULL, tw_machine_spec_to_json(spec));
}

const struct tw_field_own tw_machine_spec_own = { read_spec, write_spec, NULL, NULL };

bool tw_machine_spec_known(const struct tw_machine_spec *s)
{
	return s->vendor[0] != '\0' || s->processor[0] != '\0' || s->cores != 0 ||
	       s->chips != 0 || s->memory_gib != 0 || s->frequency_mhz != 0 ||
	       s->threads_per_core != 0;
}
