/* SPDX-License-Identifier: Apache-2.0 */
/* Where pipelines are pulled from, and what is remembered of them. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "server/fleet/pull_record.h"
#include "server/fleet/pull_source.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOP                                                                           \
	"https://raw.githubusercontent.com/sustainable-computing-io/kepler-model-db/" \
	"main/models/v0.7"

static int read_list(const char *list, const char *top, struct tw_pull_sources *out,
		     struct tw_err *err)
{
	struct tw_strs entries = { 0 };
	int rc = -1;

	if (tw_strs_split(&entries, list, err) < 0 ||
	    tw_pull_sources_read(&entries, top, out, err) < 0)
		goto out;
	rc = 0;
out:
	tw_strs_clear(&entries);
	return rc;
}

static void an_entry_is_a_url_a_path_or_a_name(void **state)
{
	static const struct {
		const char *entry, *top, *pipeline, *from, *shown;
	} cases[] = {
		{ "http://h/a/ec2.zip", NULL, "ec2", "http://h/a/ec2.zip",
		  "http://h/a/ec2.zip" },
		{ "http://h/ec2.zip?x=1#y", NULL, "ec2", "http://h/ec2.zip?x=1#y",
		  "http://h/ec2.zip" },
		{ "m=https://u:p@h/?a=b", NULL, "m", "https://u:p@h/?a=b", "https://h/" },
		{ "http://h/p?a=b", NULL, "p", "http://h/p?a=b", "http://h/p" },
		{ "/a/b/", NULL, "b", "/a/b/", "/a/b/" },
		{ "x=file:///a/b.zip", NULL, "x", "/a/b.zip", "/a/b.zip" },
		{ "ec2", "http://h/top//", "ec2", "http://h/top/ec2.zip",
		  "http://h/top/ec2.zip" },
		{ "mine=ec2", "file:///top", "mine", "/top/ec2.zip", "/top/ec2.zip" },
		{ "", "http://h", "std_v0.7.11", "http://h/std_v0.7.11.zip",
		  "http://h/std_v0.7.11.zip" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_pull_sources s = { .count = 0 };
		struct tw_err err = { 0 };

		if (read_list(cases[i].entry, cases[i].top, &s, &err) < 0)
			fail_msg("%s: %s", cases[i].entry, err.text);
		assert_int_equal(s.count, 1);
		assert_string_equal(s.at[0].pipeline, cases[i].pipeline);
		assert_string_equal(s.at[0].from, cases[i].from);
		assert_string_equal(s.at[0].shown, cases[i].shown);
		assert_int_equal(s.at[0].local, cases[i].from[0] == '/');
		tw_pull_sources_release(&s);
	}
}

static void the_published_database_has_the_usual_two(void **state)
{
	struct tw_pull_sources s = { .count = 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(read_list("", TOP "/", &s, &err), 0);
	assert_int_equal(s.count, 2);
	assert_string_equal(s.at[0].from, TOP "/ec2-0.7.11.zip");
	assert_string_equal(s.at[1].pipeline, "specpower-0.7.11");
	tw_pull_sources_release(&s);
	assert_int_equal(read_list("", NULL, &s, &err), 0);
	assert_int_equal(s.count, 0);
}

static void an_unknown_source_is_named(void **state)
{
	static const struct {
		const char *list, *top, *error;
	} cases[] = {
		{ "ec2", NULL,
		  "--pull: 'ec2' is neither a URL nor an absolute path, and "
		  "--pull-from is not set" },
		{ "http://h/", NULL, NULL },
		{ "http://h/..", NULL, NULL },
		{ "http://h/a b", NULL, NULL },
		{ "http://h/a,http://g/a.zip", NULL,
		  "--pull: two pipelines would be named 'a': say NAME=URL" },
		{ "", "ftp://h",
		  "--pull-from 'ftp://h' is neither a URL nor an absolute path" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_pull_sources s = { .count = 0 };
		struct tw_err err = { 0 };

		assert_int_equal(read_list(cases[i].list, cases[i].top, &s, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		if (cases[i].error != NULL)
			assert_string_equal(err.text, cases[i].error);
		tw_pull_sources_release(&s);
	}
}

static void more_than_the_limit_is_refused(void **state)
{
	struct tw_pull_sources s = { .count = 0 };
	struct tw_strs entries = { 0 };
	struct tw_err err = { 0 };
	char text[32];

	(void)state;
	for (int i = 0; i <= TW_PULL_SOURCES_MAX; i++) {
		snprintf(text, sizeof(text), "/a/p%d", i);
		assert_int_equal(tw_strs_adds(&entries, text, &err), 0);
	}
	assert_int_equal(tw_pull_sources_read(&entries, NULL, &s, &err), -1);
	assert_string_equal(err.text, "--pull: more than 64 pipelines");
	tw_pull_sources_release(&s);
	tw_strs_clear(&entries);
}

static struct tw_pull_source source = { .pipeline = (char[]){ "p" },
					.from = (char[]){ "http://h/p.zip" } };

static void a_record_is_of_its_url(void **state)
{
	struct tw_pull_source elsewhere = { .pipeline = source.pipeline,
					    .from = (char[]){ "http://g/p.zip" } };
	struct tw_pull_record r = { .etag = "\"a\"" }, back;
	char *db = scratch_new();
	struct tw_err err = { 0 };

	(void)state;
	assert_false(tw_pull_record_read(db, &source, &back));
	memset(r.manifest, 'a', TW_SHA256_TEXT - 1);
	memset(r.next, 'b', TW_SHA256_TEXT - 1);
	assert_int_equal(tw_pull_record_write(db, &source, &r, &err), 0);
	assert_true(tw_pull_record_read(db, &source, &back));
	assert_string_equal(back.etag, "\"a\"");
	assert_string_equal(back.manifest, r.manifest);
	assert_true(tw_pull_record_read(db, &elsewhere, &back));
	assert_string_equal(back.etag, "");
	assert_string_equal(back.manifest, r.manifest);
	scratch_free(db);
}

static void a_pipeline_in_place_is_ours_by_its_digest(void **state)
{
	struct tw_pull_record r = { .etag = "\"a\"", .manifest = "one", .next = "two" };
	/* Of a first pull that was not published; a directory has no manifest. */
	struct tw_pull_record none = { .etag = "", .manifest = "", .next = "one" };

	(void)state;
	assert_false(tw_pull_record_fits(&none, ""));
	assert_true(tw_pull_record_fits(&none, "one"));
	assert_false(tw_pull_record_fits(&r, "three"));
	assert_false(tw_pull_record_fits(&r, ""));
	assert_true(tw_pull_record_fits(&r, "one"));
	assert_string_equal(r.etag, "\"a\"");
	assert_true(tw_pull_record_fits(&r, "two"));
	assert_string_equal(r.etag, "");
	assert_string_equal(r.manifest, "two");
}

static void a_part_is_one_processs_at_a_time(void **state)
{
	const struct tw_pull_sources none = { .count = 0 };
	char *db = scratch_new(), *dir = NULL;
	struct tw_err err = { 0 };
	int fd, second;

	(void)state;
	assert_int_equal(tw_pull_part_open(db, &source, &fd, &err), 0);
	assert_int_equal(tw_pull_part_open(db, &source, &second, &err), -1);
	assert_int_equal(err.code, TW_IO);
	assert_string_equal(err.text, "another process is downloading it");
	close(fd);
	tw_pull_parts_tidy(db, &none);
	err = (struct tw_err){ 0 };
	assert_int_equal(tw_path_join(&dir, &err, db, ".pull", NULL), 0);
	assert_int_equal(rmdir(dir), 0); /* nothing is in it */
	free(dir);
	scratch_free(db);
}

static void every_failed_allocation_is_reported(void **state)
{
	char *db = scratch_new();
	const struct tw_pull_record r = { .etag = "\"a\"" };

	(void)state;
	for (int n = 1;; n++) {
		struct tw_pull_sources s = { .count = 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = read_list("a=http://h/x,/b,c", "http://h", &s, &err);
		if (rc == 0)
			rc = tw_pull_record_write(db, &source, &r, &err);
		tw_pull_sources_release(&s);
		if (!fail_alloc_told(rc, &err))
			break;
	}
	scratch_free(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_a_url_a_path_or_a_name),
		cmocka_unit_test(the_published_database_has_the_usual_two),
		cmocka_unit_test(an_unknown_source_is_named),
		cmocka_unit_test(more_than_the_limit_is_refused),
		cmocka_unit_test(a_record_is_of_its_url),
		cmocka_unit_test(a_pipeline_in_place_is_ours_by_its_digest),
		cmocka_unit_test(a_part_is_one_processs_at_a_time),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
