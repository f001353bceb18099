/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/model.h"
#include "model-db/model_files.h"
#include "model-db/weights.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Files from text that a person can write and a fuzzer can change: a line "== name", then
 * its content up to the next such line.
 */
static int unpack_text(const char *s, size_t len, struct tw_fileset *out,
		       struct tw_err *err)
{
	static const char mark[] = "== ";
	const char *end = s + len;

	while (s < end) {
		const char *eol = memchr(s, '\n', (size_t)(end - s)), *next;
		char name[256];
		size_t n;

		if (eol == NULL || (size_t)(eol - s) < strlen(mark) ||
		    memcmp(s, mark, strlen(mark)) != 0)
			return tw_fail(err, TW_PARSE, "no name");
		n = (size_t)(eol - s) - strlen(mark);
		if (n >= sizeof(name))
			return tw_fail(err, TW_PARSE, "name too long");
		memcpy(name, s + strlen(mark), n);
		name[n] = '\0';
		s = eol + 1;
		next = memmem(s, (size_t)(end - s), "\n== ", 4);
		next = next != NULL ? next + 1 : end;
		if (tw_fileset_add(out, name, s, (size_t)(next - s), err) < 0)
			return -1;
		s = next;
	}
	return 0;
}

static void must_be_equal(const struct tw_fileset *a, const struct tw_fileset *b)
{
	if (a->count != b->count)
		abort();
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->at[i].name, b->at[i].name) != 0 ||
		    a->at[i].len != b->at[i].len ||
		    memcmp(a->at[i].data, b->at[i].data, a->at[i].len) != 0)
			abort();
}

/* What a model is written as reads back, and is written the same again. */
static void check_round_trip(const struct tw_model *m)
{
	struct tw_fileset files = { 0 }, again = { 0 };
	struct tw_model back = { 0 };
	struct tw_err err = { 0 };

	/* Only weights may still be refused: reading leaves them to the predictor. */
	if (tw_model_to_files(m, &files, &err) < 0) {
		if (!tw_weights_plain(m))
			abort();
		return;
	}
	if (tw_model_from_files(&files, &back, &err) < 0 ||
	    tw_model_to_files(&back, &again, &err) < 0)
		abort();
	must_be_equal(&files, &again);
	tw_fileset_clear(&again);
	tw_fileset_clear(&files);
	tw_model_release(&back);
}

/* Weights that are given out are JSON that a strict parser takes. */
static void check_weights(const struct tw_model *m)
{
	for (int c = 0; c < TW_CLIENT_COUNT; c++) {
		struct tw_buf b = { 0 };
		struct tw_err err = { 0 };

		if (tw_weights_write(m, (enum tw_client)c, &b, &err) == 0) {
			json_t *v =
				json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, NULL);

			if (v == NULL)
				abort();
			json_decref(v);
		}
		tw_buf_clear(&b);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *s = (const char *)data;
	struct tw_fileset files = { 0 };
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };
	int rc;

	if (size >= 2 && memcmp(s, "PK", 2) == 0)
		rc = tw_zip_read(s, size, &tw_zip_model_limits, &files, &err);
	else
		rc = unpack_text(s, size, &files, &err);
	if (rc == 0 && tw_model_from_files(&files, &m, &err) == 0) {
		check_round_trip(&m);
		check_weights(&m);
		tw_model_release(&m);
	}
	tw_fileset_clear(&files);
	return 0;
}
