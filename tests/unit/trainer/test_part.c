/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a plan: what is written is read back, and foreign parts are rejected. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/json.h"
#include "lib/zip/zip.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"
#include "trainer/shards/part.h"
#include "trainer/shards/plan.h"
#include "trainer/train_unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX 65536

/* Two machines of two inputs each, and two units of the second machine's data. */
static size_t inputs_of[2][2] = { { 0, 1 }, { 2, 1 } };
static struct tw_plan_file inputs[] = { { "a=1", "11" }, { "2", "22" }, { "b=3", "33" } };
static struct tw_plan_machine machines[] = {
	{ .name = "a", .input = inputs_of[0], .inputs = 2 },
	{ .name = "b", .input = inputs_of[1], .inputs = 2 },
};
static struct tw_plan_data datas[] = {
	{ .machine = 1, .source = "acpi", .output = "AbsPower", .group = "BPFOnly" },
};
static struct tw_plan_unit units[] = { { .trainer = "T1" }, { .trainer = "T2" } };
static const struct tw_plan plan = { .digest = "0123456789abcdef",
				     .input = inputs,
				     .machine = machines,
				     .data = datas,
				     .unit = units,
				     .inputs = 3,
				     .machines = 2,
				     .datas = 1,
				     .units = 2 };

struct fixture {
	char *dir, *path; /* of the second unit's part */
	struct tw_train_data data;
	struct tw_train_unit unit;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct tw_err err = { 0 };

	assert_non_null(f);
	f->dir = scratch_new();
	f->path = scratch_path(f->dir, "000001.unit.zip");
	f->data.rows = 39;
	f->data.first_ms = 1700000000000;
	f->data.last_ms = 1700000117000;
	f->data.quality = json_array();
	tw_buf_adds(&f->data.quality_text, "39 of 40 rows\n");
	f->data.alts = 1;
	tw_fail(&f->unit.scores.alt_err[0], TW_INVALID, "too few blocks");
	f->unit.data = &f->data;
	assert_int_equal(tw_fileset_add(&f->unit.files, "acpi/m.zip", "model", 5, &err),
			 0);
	assert_int_equal(tw_fileset_add(&f->unit.files, "acpi/m.csv", "", 0, &err), 0);
	assert_int_equal(tw_profile_add_background(&f->data.profile, 3, "sshd", &err), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	json_decref(f->data.quality);
	tw_buf_clear(&f->data.quality_text);
	tw_profile_release(&f->data.profile);
	tw_fileset_clear(&f->unit.files);
	free(f->path);
	scratch_free(f->dir);
	free(f);
	return 0;
}

static void write_part(const struct fixture *f, size_t unit)
{
	struct tw_err err = { 0 };

	if (tw_part_write(f->dir, &plan, unit, &f->unit, &err) < 0)
		fail_msg("%s", err.text);
}

static void read_part(const struct fixture *f, struct tw_part *out)
{
	struct tw_err err = { 0 };

	if (tw_part_read(f->path, &plan, out, &err) < 0)
		fail_msg("%s", err.text);
}

/* ---- a part that is read back ---- */

static void a_part_has_all_that_a_merge_needs(void **state)
{
	struct fixture *f = *state;
	struct tw_part p = { 0 };
	const struct tw_fileset_file *m;
	char *zip, sha256[TW_SHA256_TEXT];
	struct tw_err err = { 0 };
	size_t len;

	write_part(f, 1);
	read_part(f, &p);
	assert_int_equal(p.unit, 1);
	assert_int_equal(p.failure.code, TW_OK);
	assert_int_equal(p.data_failure.code, TW_OK);
	assert_int_equal(p.rows, 39);
	assert_true(p.first_ms == f->data.first_ms && p.last_ms == f->data.last_ms);
	assert_string_equal(p.note, "too few blocks");
	assert_string_equal(p.quality, "39 of 40 rows\n");
	assert_true(tw_profile_is_background(&p.profile, 3, "sshd"));
	assert_int_equal(p.files.count, 2);
	m = tw_fileset_find(&p.files, "acpi/m.zip");
	assert_non_null(m);
	assert_int_equal(m->len, 5);
	assert_memory_equal(m->data, "model", 5);
	assert_non_null(tw_fileset_find(&p.files, "acpi/m.csv"));
	/* Its digest is that of its bytes. */
	assert_int_equal(tw_file_read(f->path, FILE_MAX, &zip, &len, &err), 0);
	tw_sha256_text(zip, len, sha256);
	assert_string_equal(p.sha256, sha256);
	free(zip);
	tw_part_release(&p);
}

/* Why there is no model, and why there are no rows, are kept with their codes. */
static void a_failure_takes_the_place_of_a_model(void **state)
{
	struct fixture *f = *state;
	struct tw_part p = { 0 };

	tw_fail(&f->unit.err, TW_NOTFOUND, "no end");
	tw_fail(&f->data.err, TW_IO, "no rows");
	json_decref(f->data.quality);
	f->data.quality = NULL;
	write_part(f, 1);
	read_part(f, &p);
	assert_int_equal(p.failure.code, TW_NOTFOUND);
	assert_string_equal(p.failure.text, "no end");
	assert_int_equal(p.data_failure.code, TW_IO);
	assert_string_equal(p.data_failure.text, "no rows");
	assert_null(p.quality);
	/* Files of a training that failed are no model. */
	assert_int_equal(p.files.count, 0);
	tw_part_release(&p);
}

/* The inputs are those of the unit's machine, in its order. */
static void a_part_names_its_unit_and_its_inputs(void **state)
{
	static const char *const want[][2] = { { "b=3", "33" }, { "2", "22" } };
	struct fixture *f = *state;
	struct tw_fileset files = { 0 };
	const struct tw_fileset_file *d;
	struct tw_err err = { 0 };
	json_t *doc = NULL, *list;
	char *zip;
	size_t len;

	write_part(f, 1);
	assert_int_equal(tw_file_read(f->path, FILE_MAX, &zip, &len, &err), 0);
	assert_int_equal(tw_zip_read(zip, len, &tw_zip_pipeline_limits, &files, &err), 0);
	d = tw_fileset_find(&files, "unit.json");
	assert_non_null(d);
	assert_int_equal(tw_json_parse(d->data, d->len, "", &doc, &err), 0);
	assert_string_equal(json_string_value(json_object_get(doc, "address")),
			    "b/acpi/AbsPower/BPFOnly/T2");
	list = json_object_get(doc, "inputs");
	assert_int_equal(json_array_size(list), TW_COUNT(want));
	for (size_t i = 0; i < TW_COUNT(want); i++) {
		const json_t *v = json_array_get(list, i);

		assert_string_equal(json_string_value(json_object_get(v, "file")),
				    want[i][0]);
		assert_string_equal(json_string_value(json_object_get(v, "sha256")),
				    want[i][1]);
	}
	json_decref(doc);
	tw_fileset_clear(&files);
	free(zip);
}

/* ---- a part that is there ---- */

static void a_unit_gives_the_same_bytes_or_none(void **state)
{
	struct fixture *f = *state;
	struct tw_err err = { 0 };
	char want[512];
	struct tw_part p = { 0 };

	write_part(f, 1);
	write_part(f, 1);
	f->data.rows++;
	assert_int_equal(tw_part_write(f->dir, &plan, 1, &f->unit, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	snprintf(want, sizeof(want),
		 "'%s' is another result of the same unit: remove it if it is wrong",
		 f->path);
	assert_string_equal(err.text, want);
	read_part(f, &p);
	assert_int_equal(p.rows, 39);
	tw_part_release(&p);
	/* Bytes behind the end are another result, too. */
	f->data.rows--;
	assert_int_equal(tw_file_replace(f->path, "PK", 2, &err), 0);
	assert_int_equal(tw_part_write(f->dir, &plan, 1, &f->unit, &err), -1);
}

static void a_part_is_present_under_its_number(void **state)
{
	struct fixture *f = *state;
	struct tw_err err = { 0 };
	char *first = scratch_path(f->dir, "000000.unit.zip"), want[512];
	bool present = true;

	assert_int_equal(tw_part_present(f->dir, &plan, 1, &present, &err), 0);
	assert_false(present);
	write_part(f, 1);
	assert_int_equal(tw_part_present(f->dir, &plan, 1, &present, &err), 0);
	assert_true(present);
	assert_int_equal(rename(f->path, first), 0);
	assert_int_equal(tw_part_present(f->dir, &plan, 0, &present, &err), -1);
	assert_false(present);
	snprintf(want, sizeof(want), "'%s' is the part of unit 1", first);
	assert_string_equal(err.text, want);
	assert_int_equal(tw_file_replace(first, "PK", 2, &err), 0);
	assert_int_equal(tw_part_present(f->dir, &plan, 0, &present, &err), -1);
	free(first);
}

/* ---- foreign parts ---- */

/* Write a part of this document, with a model or without. */
static void write_document(const struct fixture *f, const char *document, bool model)
{
	struct tw_fileset files = { 0 };
	struct tw_err err = { 0 };
	char *zip;
	size_t len;

	if (document != NULL)
		assert_int_equal(tw_fileset_add(&files, "unit.json", document,
						strlen(document), &err),
				 0);
	assert_int_equal(tw_fileset_add(&files, "pipelines", "", 0, &err), 0);
	if (model)
		assert_int_equal(tw_fileset_add(&files, "pipeline/m", "", 0, &err), 0);
	assert_int_equal(tw_zip_write(&files, &zip, &len, &err), 0);
	assert_int_equal(tw_file_replace(f->path, zip, len, &err), 0);
	free(zip);
	tw_fileset_clear(&files);
}

#define DOCUMENT(version, plan, unit, more)                                              \
	"{\"format_version\":" version ",\"plan\":\"" plan "\",\"unit\":" unit           \
	",\"address\":\"x\",\"rows\":1,\"first_ms\":1,\"last_ms\":2,\"profile\":{}" more \
	"}"
#define OURS "0123456789abcdef"
#define FAILURE(code) ",\"failure\":{\"code\":" code ",\"text\":\"t\"}"

static void foreign_parts_are_rejected(void **state)
{
	static const struct {
		const char *document;
		bool model;
		const char *why; /* NULL: accepted */
	} cases[] = {
		{ DOCUMENT("1", OURS, "1", ""), true, NULL },
		{ DOCUMENT("1", OURS, "1", FAILURE("1")), false, NULL },
		{ NULL, true, "there is no unit.json" },
		{ "{", true, "unit.json" },
		{ DOCUMENT("2", OURS, "1", ""), true, "format" },
		{ DOCUMENT("0", OURS, "1", ""), true, "format" },
		{ DOCUMENT("1", "0123456789abcdefg", "1", ""), true,
		  "unit 'x' is of another plan (0123456789ab)" },
		{ DOCUMENT("1", OURS, "2", ""), true, "unit.json.unit: 2 of 2 units" },
		{ DOCUMENT("1", OURS, "1", ""), false,
		  "want either a failure or a model" },
		{ DOCUMENT("1", OURS, "1", FAILURE("1")), true,
		  "want either a failure or a model" },
		{ DOCUMENT("1", OURS, "1", FAILURE("0")), false, "code" },
		{ DOCUMENT("1", OURS, "1", FAILURE("1000")), false, "code" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_part p = { 0 };
		struct tw_err err = { 0 };
		int rc;

		write_document(f, cases[i].document, cases[i].model);
		rc = tw_part_read(f->path, &plan, &p, &err);
		if (rc != (cases[i].why != NULL ? -1 : 0) ||
		    (rc < 0 && (strstr(err.text, cases[i].why) == NULL ||
				strstr(err.text, f->path) == NULL)))
			fail_msg("%zu: %s", i, err.text);
		tw_part_release(&p);
	}
}

static void without_memory_no_part_is_written_or_read(void **state)
{
	struct fixture *f = *state;
	struct tw_part p = { 0 };
	struct tw_err err = { 0 };

	for (int n = 1, rc = -1; rc < 0; n++) {
		tw_err_clear(&err);
		fail_alloc_at(n);
		rc = tw_part_write(f->dir, &plan, 1, &f->unit, &err);
		fail_alloc_told(rc, &err);
		assert_int_equal(access(f->path, F_OK), rc);
	}
	for (int n = 1, rc = -1; rc < 0; n++) {
		tw_err_clear(&err);
		fail_alloc_at(n);
		rc = tw_part_read(f->path, &plan, &p, &err);
		fail_alloc_told(rc, &err);
		assert_int_equal(p.files.count, rc == 0 ? 2 : 0);
	}
	tw_part_release(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_part_has_all_that_a_merge_needs),
		TEST(a_failure_takes_the_place_of_a_model),
		TEST(a_part_names_its_unit_and_its_inputs),
		TEST(a_unit_gives_the_same_bytes_or_none),
		TEST(a_part_is_present_under_its_number),
		TEST(foreign_parts_are_rejected),
		TEST(without_memory_no_part_is_written_or_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
