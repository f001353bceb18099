/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/api_schema.h"

#include "lib/core/err.h"
#include "lib/json/json.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <string.h>

json_t *api_schema(const char *path, const char *name)
{
	struct tw_err err = { 0 };
	json_t *doc = NULL, *schemas, *schema;

	if (tw_json_read(path, 1 << 20, &doc, &err) < 0)
		fail_msg("%s", err.text);
	schemas = json_object_get(json_object_get(doc, "components"), "schemas");
	schema = json_incref(json_object_get(schemas, name));
	assert_non_null(schema);
	json_decref(doc);
	return schema;
}

void api_schema_is_read(const json_t *schema, const char *level,
			int (*parse)(const char *text, struct tw_err *err))
{
	json_t *properties = json_object_get(schema, "properties"), *property;
	const char *key;

	assert_true(json_object_size(properties) > 0);
	json_object_foreach(properties, key, property) {
		char text[256], name[128];
		struct tw_err err = { 0 };
		const size_t len = strlen(level);

		if (len == 0)
			snprintf(text, sizeof(text), "{\"%s\":[[1]]}", key);
		else
			snprintf(text, sizeof(text), "{\"%.*s\":{\"%s\":[[1]]}}",
				 (int)len - 1, level, key);
		snprintf(name, sizeof(name), "%s%s", level, key);
		assert_int_equal(parse(text, &err), -1);
		if (strstr(err.text, name) == NULL ||
		    strstr(err.text, "expected") == NULL)
			fail_msg("%s: %s", text, err.text);
	}
}
