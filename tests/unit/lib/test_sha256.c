/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/sha256.h"
#include "tests/unit/scratch.h"

#include <stdlib.h>
#include <string.h>

/* FIPS 180-2, B.1 and B.3. */
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define MILLION "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
#define MILLION_BYTES 1000000

static void vectors_of_the_standard(void **state)
{
	char digest[TW_SHA256_TEXT];

	(void)state;
	tw_sha256_text("abc", 3, digest);
	assert_string_equal(digest, ABC);
}

/* Pieces end before, at and after the end of a block. */
static void pieces_give_the_digest_of_the_whole(void **state)
{
	char *data = malloc(MILLION_BYTES), digest[TW_SHA256_TEXT], one[TW_SHA256_TEXT];
	struct tw_sha256 s;

	(void)state;
	assert_non_null(data);
	memset(data, 'a', MILLION_BYTES);
	tw_sha256_text(data, MILLION_BYTES, digest);
	assert_string_equal(digest, MILLION);
	for (size_t len = 0; len < 200; len++)
		for (size_t piece = 1; piece < 130; piece += 7) {
			tw_sha256_start(&s);
			for (size_t at = 0; at < len; at += piece)
				tw_sha256_add(&s, data + at,
					      len - at < piece ? len - at : piece);
			tw_sha256_end(&s, digest);
			tw_sha256_text(data, len, one);
			assert_string_equal(digest, one);
		}
	free(data);
}

static void a_file_is_read_to_its_end(void **state)
{
	char *data = malloc(MILLION_BYTES), *path = NULL, digest[TW_SHA256_TEXT];
	struct tw_err err = { 0 };

	assert_non_null(data);
	memset(data, 'a', MILLION_BYTES);
	assert_int_equal(tw_path_join(&path, &err, *state, "f", NULL), 0);
	assert_int_equal(tw_sha256_file(path, digest, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_int_equal(tw_file_replace(path, data, MILLION_BYTES, &err), 0);
	assert_int_equal(tw_sha256_file(path, digest, &err), 0);
	assert_string_equal(digest, MILLION);
	free(path);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_of_the_standard),
		cmocka_unit_test(pieces_give_the_digest_of_the_whole),
		cmocka_unit_test_setup_teardown(a_file_is_read_to_its_end, scratch_set_up,
						scratch_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
