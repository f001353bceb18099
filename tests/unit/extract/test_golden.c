/* SPDX-License-Identifier: Apache-2.0 */
/* Extraction and isolation against what kepler-model-server made of the same data. */
#include "tests/unit/tw_test.h"

#include "isolator/isolator.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/field/csv.h"
#include "lib/field/dataset.h"
#include "tests/unit/shared.h"
#include "trainer/extract/extract.h"
#include "trainer/response/prom.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a golden file's name says: <input>__<source>__<group>__<what>.csv */
struct golden {
	char input[32], source[32], group[32], what[32];
};

static const struct tw_isolator_args no_args;

static bool parse_name(const char *name, struct golden *g)
{
	char *part[] = { g->input, g->source, g->group, g->what };

	for (size_t i = 0; i < 4; i++) {
		const char *end = strstr(name, i < 3 ? "__" : ".csv");
		size_t len = end != NULL ? (size_t)(end - name) : 0;

		if (end == NULL || len >= sizeof(g->input))
			return false;
		memcpy(part[i], name, len);
		part[i][len] = '\0';
		name = end + 2;
	}
	return true;
}

static void extract(const struct golden *g, enum tw_row_level level,
		    struct tw_dataset *out)
{
	const struct tw_extract_args args = {
		.source = tw_energy_source_find(g->source),
		.group = tw_feature_group_find(g->group),
		.level = level,
		.compat = TW_COMPAT_KMS,
	};
	bool is_idle = strcmp(g->input, "idle") == 0;
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };
	char path[512];

	assert_non_null(args.source);
	assert_non_null(args.group);
	shared_path(path, sizeof(path),
		    is_idle ? "data/prometheus/idle.json"
			    : "data/prometheus/workload-0.6.json");
	if (tw_prom_read(path, &p, &err) < 0 || tw_extract(p, &args, out, &err) < 0)
		fail_msg("%s", err.text);
	tw_prom_free(p);
}

static void read_golden(const char *dir, const char *name, struct tw_dataset *out)
{
	struct tw_err err = { 0 };
	char *text = NULL, path[1024];
	size_t len = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (tw_file_read(path, 64 << 20, &text, &len, &err) < 0 ||
	    tw_csv_read(text, len, out, &err) < 0)
		fail_msg("%s: %s", name, err.text);
	free(text);
}

static void compare_column(const char *file, const struct tw_dataset *ours,
			   const struct tw_column *theirs)
{
	const double *v = tw_dataset_find(ours, theirs->name);

	if (v == NULL)
		fail_msg("%s: we have no column '%s'", file, theirs->name);
	for (size_t r = 0; r < ours->rows; r++) {
		double larger = fmax(fabs(v[r]), fabs(theirs->v[r]));

		if (!(fabs(v[r] - theirs->v[r]) <= 1e-9 * larger))
			fail_msg("%s: row %zu of '%s' is %.17g, golden %.17g", file, r,
				 theirs->name, v[r], theirs->v[r]);
	}
}

/* Both are in order of time and id: rows match by place. */
static void compare(const char *file, const struct tw_dataset *ours,
		    const struct tw_dataset *theirs)
{
	assert_int_equal(ours->rows, theirs->rows);
	assert_int_equal(ours->cols, theirs->cols);
	assert_true((ours->id != NULL) == (theirs->id != NULL));
	for (size_t r = 0; r < ours->rows; r++) {
		assert_int_equal(ours->time_ms[r], theirs->time_ms[r]);
		if (ours->id != NULL)
			assert_string_equal(ours->ids.at[ours->id[r]],
					    theirs->ids.at[theirs->id[r]]);
	}
	for (size_t i = 0; i < theirs->cols; i++)
		compare_column(file, ours, &theirs->col[i]);
}

static void isolate(const char *name, const struct golden *g, struct tw_dataset *d)
{
	const struct tw_isolator *isolator = tw_isolator_find(name);
	struct tw_dataset all = { 0 };
	struct tw_err err = { 0 };
	void *state = NULL;

	assert_non_null(isolator);
	if (tw_isolate_aggregate(d, &all, &err) < 0 ||
	    isolator->fit(&no_args, &all, tw_energy_source_find(g->source), &state,
			  &err) < 0 ||
	    isolator->apply(state, &all, &err) < 0)
		fail_msg("%s", err.text);
	free(state);
	tw_dataset_release(d);
	*d = all;
}

static void check_file(const char *dir, const char *name)
{
	struct tw_dataset ours = { 0 }, theirs = { 0 };
	struct golden g = { 0 };

	if (!parse_name(name, &g))
		fail_msg("golden file with an unknown name: %s", name);
	extract(&g, strcmp(g.what, "node_aggr") == 0 ? TW_ROWS_NODE : TW_ROWS_CONTAINER,
		&ours);
	if (strcmp(g.what, "iso_min") == 0)
		isolate("MinIdleIsolator", &g, &ours);
	else if (strcmp(g.what, "iso_none") == 0)
		isolate("NoneIsolator", &g, &ours);
	read_golden(dir, name, &theirs);
	compare(name, &ours, &theirs);
	tw_dataset_release(&ours);
	tw_dataset_release(&theirs);
}

static void check_dir(const char *name, int want)
{
	const struct dirent *e;
	char dir[512];
	int files = 0;
	DIR *d;

	shared_path(dir, sizeof(dir), name);
	d = opendir(dir);
	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		check_file(dir, e->d_name);
		files++;
	}
	closedir(d);
	assert_int_equal(files, want);
}

static void extraction_agrees_with_every_golden_file(void **state)
{
	(void)state;
	check_dir("golden/extract", 28);
}

static void isolation_agrees_with_every_golden_file(void **state)
{
	(void)state;
	check_dir("golden/isolate", 28);
}

/*
 * faults.md 3: the row of 1702462650 spans 21 s, and power by the mean step of all was
 * 135.9 W.
 */
static void without_compat_power_is_divided_by_its_own_step(void **state)
{
	const struct tw_extract_args args = {
		.source = tw_energy_source_find("rapl-sysfs"),
		.group = tw_feature_group_find("BPFOnly"),
		.level = TW_ROWS_NODE,
	};
	struct tw_dataset d = { 0 };
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };
	char path[512];
	bool found = false;

	(void)state;
	shared_path(path, sizeof(path), "data/prometheus/idle.json");
	if (tw_prom_read(path, &p, &err) < 0 || tw_extract(p, &args, &d, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t r = 0; r < d.rows; r++) {
		if (d.time_ms[r] != 1702462650000)
			continue;
		found = true;
		assert_true(fabs(tw_dataset_find(&d, "package_power")[r] - 93.9) < 0.05);
	}
	assert_true(found);
	tw_dataset_release(&d);
	tw_prom_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(extraction_agrees_with_every_golden_file),
		cmocka_unit_test(isolation_agrees_with_every_golden_file),
		cmocka_unit_test(without_compat_power_is_divided_by_its_own_step),
	};

	return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
