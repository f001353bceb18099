/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/import/import.h"
#include "model-db/import/import_find.h"
#include "trainer/publishing.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A tree as a text: a line "= name" before the content of each file. */
static int read_tree(const char *text, size_t size, struct tw_fileset *out,
		     struct tw_err *err)
{
	const char *end = text + size, *at = text;

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at)), *next;
		char name[256];
		size_t len;

		if (line_end == NULL || line_end - at < 3 || memcmp(at, "= ", 2) != 0)
			return tw_fail(err, TW_PARSE, "no tree");
		len = (size_t)(line_end - at) - 2;
		if (len >= sizeof(name))
			return tw_fail(err, TW_PARSE, "a long name");
		memcpy(name, at + 2, len);
		name[len] = '\0';
		at = line_end + 1;
		next = memmem(at, (size_t)(end - at), "\n= ", 3);
		next = next != NULL ? next + 1 : end;
		if (tw_fileset_add(out, name, at, (size_t)(next - at), err) < 0)
			return -1;
		at = next;
	}
	return 0;
}

static void told(void *arg, const char *model, enum tw_import_outcome outcome,
		 const char *why)
{
	size_t *usable = arg;

	if (*model == '\0' || *why == '\0')
		abort();
	*usable += outcome == TW_IMPORT_USABLE;
}

/* Property: what is imported can be published, and every model told is in it. */
static void import_place(struct tw_fileset *all, const char *place)
{
	struct tw_fileset old = { 0 }, out = { 0 };
	struct tw_err err = { 0 };
	size_t usable = 0, models = 0;
	const struct tw_import_listener listener = { .report = told,
						     .look = tw_publishing_look,
						     .arg = &usable };

	if (tw_import_move(all, place, &old, &err) == 0 &&
	    tw_import_pipeline(&old, &out, &listener, &err) == 0) {
		/* Case twins and the like may still be refused. */
		if (tw_publishing_check(&out, &models, &err) == 0 && models != usable)
			abort();
	}
	tw_fileset_clear(&out);
	tw_fileset_clear(&old);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tw_fileset_limits limits = { 64, 1 << 20, 1 << 22, 0 };
	struct tw_fileset all = { 0 };
	struct tw_strs places = { 0 }, names = { 0 };
	struct tw_err err = { 0 };
	const char *text = (const char *)data;

	if ((size > 2 && memcmp(text, "PK", 2) == 0
		     ? tw_zip_read(text, size, &limits, &all, &err)
		     : read_tree(text, size, &all, &err)) < 0)
		goto out;
	tw_fileset_sort(&all);
	if (tw_import_places(&all, &places, &err) < 0 ||
	    tw_import_names(&places, "self", &names, &err) < 0 ||
	    names.count != places.count)
		abort();
	for (size_t i = 0; i < places.count; i++)
		import_place(&all, places.at[i]);
out:
	tw_strs_clear(&names);
	tw_strs_clear(&places);
	tw_fileset_clear(&all);
	return 0;
}
