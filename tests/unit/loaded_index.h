/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TEST_LOADED_INDEX_H
#define TW_TEST_LOADED_INDEX_H

/* The index of a test's database, and what was refused while it was made. */

#include "model-db/index/index.h"
#include "model-db/index/index_load.h"

#include <stddef.h>

struct tw_err;

/* "path: why" lines. */
struct refused {
	char text[8192];
	size_t used, count;
};

/* Adds a line: for tw_index_load() and its like, with a struct refused. */
void note_refused(void *refused, const char *path, const struct tw_err *why);

/* Yours: tw_index_unref(). A failure fails the test. */
struct tw_index *load_index(const char *db, struct refused *r);

#endif /* TW_TEST_LOADED_INDEX_H */
