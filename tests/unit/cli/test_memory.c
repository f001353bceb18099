/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "cli/memory.h"
#include "tests/unit/fail_alloc.h"

#include <jansson.h>
#include <stdlib.h>

static int allocate(void *arg, struct tw_err *err)
{
	json_t *list;
	char *text;

	(void)arg;
	(void)err;
	tw_must_json();
	free(tw_must(calloc(3, 4)));
	text = tw_must_printf("%s-%d", "a", 7);
	assert_string_equal(text, "a-7");
	free(text);
	list = json_pack("[s,s]", "b", "c");
	json_decref(list);
	return 0;
}

static void without_memory_a_command_ends(void **state)
{
	size_t ended = 0;
	int n = 1;

	(void)state;
	while (fail_alloc_ends(n, allocate, NULL, &ended))
		n++;
	/* Of calloc(), and of jansson's two texts and their list. */
	assert_true(ended >= 4);
	assert_int_equal(ended, n - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_memory_a_command_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
