/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "tests/unit/fail_alloc.h"

#include <stdlib.h>

static void an_array_doubles_and_keeps_its_elements(void **state)
{
	size_t size = 0, sizes = 0;
	long *at = NULL;

	(void)state;
	for (size_t count = 0; count < 1000; count++) {
		const size_t before = size;

		assert_true(tw_grow(&at, &size, count, sizeof(*at)));
		assert_true(size > count);
		sizes += size != before;
		at[count] = (long)count;
	}
	assert_int_equal(size, 1024);
	assert_int_equal(sizes, 7);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(at[i], i);
	free(at);
}

static void without_memory_nothing_changes(void **state)
{
	size_t size = 0;
	char *at = NULL, *before;

	(void)state;
	assert_true(tw_grow(&at, &size, 0, 1));
	at[15] = 'x';
	before = at;
	fail_alloc_at(1);
	assert_false(tw_grow(&at, &size, 16, 1));
	assert_true(fail_alloc_hit());
	assert_int_equal(size, 16);
	assert_ptr_equal(at, before);
	/* A number of bytes that does not fit into size_t. */
	assert_false(tw_resize(&at, SIZE_MAX / 2, 3));
	assert_int_equal(at[15], 'x');
	free(at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_array_doubles_and_keeps_its_elements),
		cmocka_unit_test(without_memory_nothing_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
