/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "model-db/manifest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool passes(const uint8_t *manifest, size_t size, const char *content)
{
	struct tw_fileset s = { 0 };
	struct tw_err err = { 0 };
	bool good;

	if (tw_fileset_add(&s, TW_MANIFEST_NAME, manifest, size, &err) < 0 ||
	    tw_fileset_add(&s, "metadata.json", "{}", 2, &err) < 0 ||
	    tw_fileset_add(&s, "a/b.json", content, strlen(content), &err) < 0)
		abort();
	good = tw_manifest_check(&s, NULL, &err) == 0;
	if (good != (err.code == TW_OK))
		abort();
	tw_fileset_clear(&s);
	return good;
}

/* Property: a manifest that fits a set fits no other of the same names and sizes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (passes(data, size, "[1]") && passes(data, size, "[2]"))
		abort();
	return 0;
}
