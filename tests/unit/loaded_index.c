/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/loaded_index.h"

#include "lib/core/err.h"
#include "tests/unit/tw_test.h"

#include <stdio.h>

void note_refused(void *refused, const char *path, const struct tw_err *why)
{
	struct refused *r = refused;

	assert_int_not_equal(why->code, TW_OK);
	r->used += (size_t)snprintf(r->text + r->used, sizeof(r->text) - r->used,
				    "%s: %s\n", path, why->text);
	assert_true(r->used < sizeof(r->text));
	r->count++;
}

struct tw_index *load_index(const char *db, struct refused *r)
{
	struct tw_index *x = NULL;
	struct tw_err err = { 0 };

	*r = (struct refused){ 0 };
	if (tw_index_load(db, note_refused, r, &x, &err) < 0)
		fail_msg("%s", err.text);
	return x;
}
