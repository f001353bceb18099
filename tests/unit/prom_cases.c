/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/prom_cases.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/field/csv.h"
#include "tests/unit/code_name.h"
#include "tests/unit/tw_test.h"
#include "trainer/extract/extract.h"
#include "trainer/response/prom.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *read_part(const char *dir, const char *name, const char *file)
{
	char path[512], *text = NULL;
	struct tw_err err = { 0 };
	size_t len;

	snprintf(path, sizeof(path), "%s/%.200s/%s", dir, name, file);
	if (access(path, R_OK) < 0)
		return NULL;
	if (tw_file_read(path, 1 << 20, &text, &len, &err) < 0)
		fail_msg("%s", err.text);
	return text;
}

/* The warnings and the table of an input, or "code: text" of its error, and a newline. */
static void run_case(const struct tw_extract_args *wanted, const char *input,
		     struct tw_buf *out)
{
	struct tw_extract_args args = *wanted;
	struct tw_dataset d = { 0 };
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	args.warnings = out;
	if (tw_prom_parse(input, strlen(input), &p, &err) < 0 ||
	    tw_extract(p, &args, &d, &err) < 0)
		tw_buf_addf(out, "%s: %s\n", code_name(err.code), err.text);
	else
		tw_csv_write(&d, out);
	tw_dataset_release(&d);
	tw_prom_free(p);
}

static int check_case(const char *dir, const char *name,
		      const struct tw_extract_args *args)
{
	char *input = read_part(dir, name, "input.json");
	char *expect = read_part(dir, name, "expect");
	char *error = read_part(dir, name, "error");
	struct tw_buf got = { 0 };
	int bad;

	assert_non_null(input);
	assert_true((expect != NULL) != (error != NULL));
	run_case(args, input, &got);
	bad = strcmp(got.data, expect != NULL ? expect : error) != 0;
	if (bad)
		print_error("%s: got\n%s", name, got.data);
	free(input);
	free(expect);
	free(error);
	tw_buf_clear(&got);
	return bad;
}

int run_prom_cases(const char *dir, const struct tw_extract_args *args)
{
	DIR *entries = opendir(dir);
	const struct dirent *e;
	int cases = 0, bad = 0;

	assert_non_null(entries);
	while ((e = readdir(entries)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		bad += check_case(dir, e->d_name, args);
		cases++;
	}
	closedir(entries);
	assert_int_equal(bad, 0);
	return cases;
}
