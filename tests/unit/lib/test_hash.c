/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/hash.h"

/* Test vectors of the authors (isthe.com/chongo/tech/comp/fnv). */
static void the_authors_test_vectors_match(void **state)
{
	(void)state;
	assert_true(tw_hash("", 0) == UINT64_C(0xcbf29ce484222325));
	assert_true(tw_hash("a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(tw_hash("foobar", 6) == UINT64_C(0x85944171f73967e8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_authors_test_vectors_match),
	};

	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
