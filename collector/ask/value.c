/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/value.h"

#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/json.h"

#include <math.h>
#include <string.h>

/* Characters of a wrong value that an error shows. */
#define SHOWN 32
#define POWER_MAX_W 1e9
/* 31 years of 1 kW: a multiple of it fits 64 bits in uJ. */
#define ENERGY_MAX_J 1e12

const char *const tw_unit_names[] = {
	"W", "mW", "uW", "J", "mJ", "uJ", "Wh", "kWh", NULL
};

static const struct {
	double scale; /* to W or J */
	bool energy;
} units[TW_UNIT_COUNT] = {
	[TW_UNIT_W] = { 1, false },     [TW_UNIT_MW] = { 1e-3, false },
	[TW_UNIT_UW] = { 1e-6, false }, [TW_UNIT_J] = { 1, true },
	[TW_UNIT_MJ] = { 1e-3, true },  [TW_UNIT_UJ] = { 1e-6, true },
	[TW_UNIT_WH] = { 3600, true },  [TW_UNIT_KWH] = { 3.6e6, true },
};

bool tw_unit_is_energy(enum tw_unit unit)
{
	return units[unit].energy;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* A text from outside for an error: printable, and truncated. */
static const char *show(char out[SHOWN + 1], const char *s, size_t len)
{
	size_t n = 0;

	for (; n < len && n < SHOWN; n++)
		out[n] = s[n] >= 0x20 && s[n] < 0x7f ? s[n] : '?';
	out[n] = '\0';
	return out;
}

int tw_value_parse(const char *s, size_t len, enum tw_unit unit, struct tw_value *out,
		   struct tw_err *err)
{
	char shown[SHOWN + 1];
	double v;

	while (len > 0 && is_blank(*s)) {
		s++;
		len--;
	}
	while (len > 0 && is_blank(s[len - 1]))
		len--;
	if (!tw_parse_sample(s, len, &v))
		return tw_fail(err, TW_PARSE, "'%s' is not a number",
			       show(shown, s, len));
	if (!isfinite(v))
		return tw_fail(err, TW_PARSE, "'%s' is not a value", show(shown, s, len));
	v *= units[unit].scale;
	if (v < 0)
		return tw_fail(err, TW_INVALID, "'%s' is below 0", show(shown, s, len));
	if (v > (units[unit].energy ? ENERGY_MAX_J : POWER_MAX_W))
		return tw_fail(err, TW_INVALID, "'%s' %s is more than there can be",
			       show(shown, s, len), tw_unit_names[unit]);
	*out = units[unit].energy ? (struct tw_value){ .energy_uj = (uint64_t)(v * 1e6) }
				  : (struct tw_value){ .power_w = v };
	return 0;
}

/* ---- lines ---- */

static void give(struct tw_lines *l, tw_line_sink *sink, void *arg)
{
	const size_t len = l->len;
	const bool cut = l->too_long;

	l->len = 0;
	l->too_long = false;
	sink(arg, l->text, len, cut);
}

void tw_lines_feed(struct tw_lines *l, const char *data, size_t len, tw_line_sink *sink,
		   void *arg)
{
	while (len > 0) {
		const char *end = memchr(data, '\n', len);
		const size_t part = end != NULL ? (size_t)(end - data) : len;
		const size_t room = sizeof(l->text) - l->len;
		const size_t taken = part < room ? part : room;

		memcpy(l->text + l->len, data, taken);
		l->len += taken;
		l->too_long = l->too_long || part > room;
		if (end == NULL)
			return;
		give(l, sink, arg);
		data += part + 1;
		len -= part + 1;
	}
}

void tw_lines_end(struct tw_lines *l, tw_line_sink *sink, void *arg)
{
	if (l->len > 0 || l->too_long)
		give(l, sink, arg);
	else
		*l = (struct tw_lines){ 0 };
}

/* ---- the answer of a Prometheus server ---- */

static int check_status(const json_t *doc, struct tw_err *err)
{
	const char *status, *error = "no reason";

	if (tw_json_text(doc, "answer", "status", false, &status, err) < 0)
		return -1;
	if (strcmp(status, "success") == 0)
		return 0;
	if (tw_json_text(doc, "answer", "error", true, &error, err) < 0)
		return -1;
	return tw_fail(err, TW_IO, "the server refuses the query: %.120s", error);
}

/* The pair [time, "value"] of a scalar or of a vector's only series. */
static int find_pair(const char *type, const json_t *result, const json_t **out,
		     struct tw_err *err)
{
	const size_t series = json_array_size(result);

	if (strcmp(type, "scalar") == 0) {
		*out = result;
		return 0;
	}
	if (strcmp(type, "vector") != 0)
		return tw_fail(err, TW_INVALID,
			       "the query is a %.16s: want a scalar or a vector", type);
	if (series == 0)
		return tw_fail(err, TW_NOTFOUND, "the query has no series now");
	if (series > 1)
		return tw_fail(err, TW_INVALID,
			       "the query has %zu series: choose one, or sum them",
			       series);
	return tw_json_array(json_array_get(result, 0), "answer.data.result[0]", "value",
			     false, out, err);
}

static int find_value(const json_t *doc, char out[TW_INSTANT_VALUE], struct tw_err *err)
{
	const json_t *data, *result, *pair;
	const char *type, *text;

	if (!json_is_object(doc))
		return tw_fail(err, TW_PARSE, "answer: expected an object, got %s",
			       tw_json_type_name(doc));
	if (check_status(doc, err) < 0 ||
	    tw_json_object(doc, "answer", "data", false, &data, err) < 0 ||
	    tw_json_text(data, "answer.data", "resultType", false, &type, err) < 0 ||
	    tw_json_array(data, "answer.data", "result", false, &result, err) < 0 ||
	    find_pair(type, result, &pair, err) < 0)
		return -1;
	text = json_string_value(json_array_get(pair, 1));
	if (json_array_size(pair) != 2 || text == NULL ||
	    strlen(text) >= TW_INSTANT_VALUE)
		return tw_fail(err, TW_PARSE, "answer: a sample is no [time, \"value\"]");
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

int tw_instant_parse(const char *body, size_t len, char out[TW_INSTANT_VALUE],
		     struct tw_err *err)
{
	json_t *doc = NULL;
	int rc;

	if (tw_json_parse(body, len, "answer", &doc, err) < 0)
		return -1;
	rc = find_value(doc, out, err);
	json_decref(doc);
	return rc;
}
