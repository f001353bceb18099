/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/same_files.h"

#include "lib/zip/fileset.h"
#include "tests/unit/tw_test.h"

void same_files(const struct tw_fileset *a, const struct tw_fileset *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		assert_string_equal(a->at[i].name, b->at[i].name);
		assert_int_equal(a->at[i].len, b->at[i].len);
		assert_memory_equal(a->at[i].data, b->at[i].data, a->at[i].len);
	}
}
