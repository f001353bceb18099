/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/scratch.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/tw_test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *scratch_new(void)
{
	const char *top = getenv("TMPDIR");
	char dir[512];
	char *copy;

	if (top == NULL || top[0] == '\0')
		top = "/tmp";
	assert_in_range(snprintf(dir, sizeof(dir), "%s/tw-test-XXXXXX", top), 1,
			sizeof(dir) - 1);
	assert_non_null(mkdtemp(dir));
	copy = strdup(dir);
	assert_non_null(copy);
	return copy;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

void scratch_free(char *dir)
{
	if (dir != NULL)
		assert_int_equal(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(dir);
}

int scratch_set_up(void **state)
{
	*state = scratch_new();
	return 0;
}

int scratch_tear_down(void **state)
{
	scratch_free(*state);
	return 0;
}

char *scratch_path(const char *dir, const char *name)
{
	struct tw_err err = { 0 };
	char *path = NULL;

	assert_int_equal(tw_path_join(&path, &err, dir, name, NULL), 0);
	return path;
}
