/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Property: an accepted document is written as JSON that is accepted and written alike.
 */
static void check_round_trip(const json_t *v)
{
	struct tw_buf first = { 0 }, second = { 0 };
	struct tw_err err = { 0 };
	json_t *again = NULL;

	tw_buf_add_json(&first, v);
	if (tw_json_parse(first.data, first.len, "again", &again, &err) < 0)
		abort();
	tw_buf_add_json(&second, again);
	if (first.len != second.len || memcmp(first.data, second.data, first.len) != 0)
		abort();
	json_decref(again);
	tw_buf_clear(&second);
	tw_buf_clear(&first);
}

/*
 * Property: jansson's parser takes the same documents, for the same values. It also takes
 * deeper ones, and what follows a NUL.
 */
static void check_against_jansson(const char *data, size_t size, const json_t *v,
				  const struct tw_err *err)
{
	json_t *other =
		json_loadb(data, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);

	if (v != NULL && (other == NULL || !json_equal(v, other)))
		abort();
	if (v == NULL && other != NULL && strstr(err->text, "nested") == NULL &&
	    memchr(data, '\0', size) == NULL)
		abort();
	json_decref(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tw_err err = { 0 };
	json_t *v = NULL;
	const int rc = tw_json_parse((const char *)data, size, "input", &v, &err);

	if ((rc < 0) != (v == NULL) || (rc < 0) != (err.code != TW_OK))
		abort();
	check_against_jansson((const char *)data, size, v, &err);
	if (rc < 0)
		return 0;
	check_round_trip(v);
	json_decref(v);
	return 0;
}
