/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/read_csv.h"

#include "lib/core/err.h"
#include "lib/field/csv.h"
#include "tests/unit/tw_test.h"

#include <stdlib.h>
#include <string.h>

void read_csv(const char *text, struct tw_dataset *out)
{
	struct tw_err err = { 0 };
	/* A copy without a NUL, so that a sanitizer detects reads past its end. */
	char *copy = malloc(strlen(text) + 1);

	memcpy(copy, text, strlen(text));
	if (tw_csv_read(copy, strlen(text), out, &err) < 0)
		fail_msg("%s", err.text);
	free(copy);
}
