/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/http/client/http.h"
#include "server/routes.h"
#include "tests/unit/running_server.h"

#include <jansson.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* By path, then by method. */
static int order(const struct tw_http_route *a, const struct tw_http_route *b)
{
	const int d = strcmp(a->path, b->path);

	return d != 0 ? d : strcmp(a->method, b->method);
}

static void routes_are_sorted_and_have_handlers(void **state)
{
	const struct tw_http_route *routes;
	size_t count;

	(void)state;
	routes = tw_server_routes(&count);
	assert_true(count > 0);
	for (size_t i = 0; i < count; i++) {
		assert_true(routes[i].method != NULL && routes[i].handle != NULL);
		assert_int_equal(routes[i].path[0], '/');
		if (i > 0 && order(&routes[i - 1], &routes[i]) >= 0)
			fail_msg("%s, %s", routes[i - 1].path, routes[i].path);
	}
}

/* The parameters of a path are those of its description. */
static void check_parameters(const char *path, const json_t *operation)
{
	const json_t *list = json_object_get(operation, "parameters"), *v;
	size_t described = 0, i, wanted = 0;

	json_array_foreach((json_t *)(uintptr_t)list, i, v) {
		const char *name = json_string_value(json_object_get(v, "name"));
		char text[64];

		if (strcmp(json_string_value(json_object_get(v, "in")), "path") != 0)
			continue;
		snprintf(text, sizeof(text), "{%s}", name);
		if (strstr(path, text) == NULL)
			fail_msg("%s: no %s", path, text);
		described++;
	}
	for (const char *p = path; (p = strchr(p, '{')) != NULL; p++)
		wanted++;
	assert_int_equal(described, wanted);
}

static void the_openapi_description_is_of_these_routes(void **state)
{
	const struct tw_http_route *routes;
	struct tw_http_answer a = running_ask("/openapi.json", NULL);
	json_t *doc = json_loads(a.body, JSON_REJECT_DUPLICATES, NULL), *paths;
	size_t count, operations = 0;
	const char *name;
	json_t *v;

	(void)state;
	assert_non_null(doc);
	assert_string_equal(json_string_value(json_object_get(doc, "openapi")), "3.1.0");
	paths = json_object_get(doc, "paths");
	routes = tw_server_routes(&count);
	json_object_foreach(paths, name, v)
		operations += json_object_size(v);
	assert_int_equal(operations, count);
	for (size_t i = 0; i < count; i++) {
		const json_t *path = json_object_get(paths, routes[i].path);
		char method[8] = "";
		const json_t *operation;

		for (size_t k = 0; routes[i].method[k] != '\0'; k++)
			method[k] = (char)tolower(routes[i].method[k]);
		operation = json_object_get(path, method);
		if (operation == NULL)
			fail_msg("%s %s", routes[i].method, routes[i].path);
		assert_true(json_object_size(json_object_get(operation, "responses")) >
			    0);
		check_parameters(routes[i].path, operation);
	}
	json_decref(doc);
	tw_http_answer_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_openapi_description_is_of_these_routes),
		cmocka_unit_test(routes_are_sorted_and_have_handlers),
	};

	return cmocka_run_group_tests_name("OpenAPI", tests, running_start, running_stop);
}
