/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/instant.h"

#include "lib/core/err.h"
#include "lib/json/json.h"

#include <string.h>

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
