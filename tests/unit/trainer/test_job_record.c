/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/fields.h"
#include "tests/unit/api_schema.h"
#include "trainer/service/job_record.h"

#include <string.h>

static const char *schema_type(const struct tw_field *f)
{
	if (f->shape != TW_FIELD_ONE || f->type == TW_FIELD_STRS)
		return "array";
	switch (f->type) {
	case TW_FIELD_BOOL:
		return "boolean";
	case TW_FIELD_INT:
	case TW_FIELD_UINT:
	case TW_FIELD_FORMAT:
		return "integer";
	case TW_FIELD_DOUBLE:
		return "number";
	case TW_FIELD_RECORD:
		return "object";
	default:
		return "string";
	}
}

/* The type of a schema of OpenAPI; an enumeration without a type is of strings. */
static const char *type_of(const json_t *property)
{
	return json_object_get(property, "enum") != NULL
		       ? "string"
		       : json_string_value(json_object_get(property, "type"));
}

static bool lists(const json_t *texts, const char *text)
{
	for (size_t i = 0; i < json_array_size(texts); i++)
		if (strcmp(json_string_value(json_array_get(texts, i)), text) == 0)
			return true;
	return false;
}

/* The schema has the rows of the table, in their order, with their types and names. */
static void check_schema(const json_t *schema, const struct tw_fields *table)
{
	json_t *properties = json_object_get(schema, "properties"), *property;
	const char *key;
	size_t at = 0, names = 0;

	json_object_foreach(properties, key, property) {
		const struct tw_field *f = &table->field[at];

		assert_true(at++ < table->count);
		assert_string_equal(key, f->key);
		assert_string_equal(type_of(property), schema_type(f));
		if (!f->optional && !f->unread)
			assert_true(lists(json_object_get(schema, "required"), key));
		if (f->type != TW_FIELD_ENUM)
			continue;
		for (names = 0; f->names[names] != NULL; names++)
			assert_true(lists(json_object_get(property, "enum"),
					  f->names[names]));
		assert_int_equal(json_array_size(json_object_get(property, "enum")),
				 names);
	}
	assert_int_equal(at, table->count);
}

static void the_schema_of_the_api_has_the_members_of_the_table(void **state)
{
	json_t *job = api_schema("trainer/service/openapi.json", "Job");

	(void)state;
	check_schema(job, &tw_job_fields);
	json_decref(job);
}

static void check_text(const struct tw_job_record *r, const char *want)
{
	struct tw_buf b = { 0 };

	tw_job_record_write(r, &b);
	assert_string_equal(b.data, want);
	tw_buf_clear(&b);
}

static void each_state_has_its_members(void **state)
{
	struct tw_job_record r = { .id = "j1",
				   .pipeline = "p",
				   .created_ms = 1000,
				   .stage = "fit",
				   .fraction = 0.25,
				   .remaining_s = -1,
				   .models = 2 };

	(void)state;
	check_text(&r, "{\"id\":\"j1\",\"pipeline\":\"p\",\"state\":\"waiting\","
		       "\"created\":\"1970-01-01T00:00:01.000Z\"}");
	r.state = TW_JOB_RUNNING;
	r.started_ms = 2000;
	check_text(&r, "{\"id\":\"j1\",\"pipeline\":\"p\",\"state\":\"running\","
		       "\"stage\":\"fit\",\"progress\":0.250,"
		       "\"created\":\"1970-01-01T00:00:01.000Z\","
		       "\"started\":\"1970-01-01T00:00:02.000Z\"}");
	r.remaining_s = 0;
	r.stage = NULL;
	check_text(&r, "{\"id\":\"j1\",\"pipeline\":\"p\",\"state\":\"running\","
		       "\"progress\":0.250,\"remaining_s\":0.0,"
		       "\"created\":\"1970-01-01T00:00:01.000Z\","
		       "\"started\":\"1970-01-01T00:00:02.000Z\"}");
	r.state = TW_JOB_DONE;
	r.started_ms = 0;
	r.ended_ms = 3000;
	check_text(&r, "{\"id\":\"j1\",\"pipeline\":\"p\",\"state\":\"done\","
		       "\"created\":\"1970-01-01T00:00:01.000Z\","
		       "\"ended\":\"1970-01-01T00:00:03.000Z\","
		       "\"models\":2,\"published\":false}");
	r.state = TW_JOB_FAILED;
	strcpy(r.error, "no rows");
	check_text(&r, "{\"id\":\"j1\",\"pipeline\":\"p\",\"state\":\"failed\","
		       "\"created\":\"1970-01-01T00:00:01.000Z\","
		       "\"ended\":\"1970-01-01T00:00:03.000Z\","
		       "\"error\":\"no rows\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_schema_of_the_api_has_the_members_of_the_table),
		cmocka_unit_test(each_state_has_its_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
