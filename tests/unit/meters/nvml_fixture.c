/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/meters/nvml_fixture.h"

#include "tests/unit/tw_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char library[1024];

int nvml_setup(void **state)
{
	struct meter_fixture *f;
	char path[1024];

	if (meters_setup(state) != 0)
		return -1;
	f = *state;
	meters_fake(library, sizeof(library), "libnvidia-ml.so.1");
	f->nvml = library;
	snprintf(path, sizeof(path), "%s/gpus", f->dir);
	return setenv("TW_FAKE_NVML", path, 1);
}

/* Hundreds of times: tree_write() is for files that survive a crash. */
void tell(const struct meter_fixture *f, const char *text)
{
	char path[1024];
	FILE *out;

	snprintf(path, sizeof(path), "%s/gpus", f->dir);
	out = fopen(path, "w");
	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}
void wait_for_gpm(void)
{
	usleep(60000);
}
