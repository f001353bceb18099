/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/json.h"
#include "profiler/name.h"
#include "profiler/likeness.h"
#include "profiler/spec.h"
#include "tests/unit/shared.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* kepler-model-server's figures were written with all their digits. */
#define CLOSE 1e-9

/* Names that differ from kepler-model-server's because its names are wrong (see golden's
 * README): cut at "(TM)", words joined, numbers of cores. */
static const struct {
	const char *brand, *want;
} better[] = {
	{ "Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz", "intel_core_i7_8700k" },
	{ "11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz",
	  "11th_gen_intel_core_i7_1165g7" },
	{ "12th Gen Intel(R) Core(TM) i9-12900K", "12th_gen_intel_core_i9_12900k" },
	{ "Intel(R) Core(TM) Ultra 7 155H", "intel_core_ultra_7_155h" },
	{ "AMD Opteron(tm) Processor 6376", "amd_opteron_6376" },
	{ "Intel(R) Atom(TM) CPU  C3558  @ 2.20GHz", "intel_atom_c3558" },
	{ "QEMU Virtual CPU version 2.5+", "qemu_virtual_version_2.5+" },
	/* kepler-model-server keeps the number of cores and so misses the EPYC types of
	 * its own database, which are amd_epyc_9654. */
	{ "AMD EPYC 9654 96-Core Processor", "amd_epyc_9654" },
	{ "AMD Ryzen 7 5800X 8-Core Processor", "amd_ryzen_7_5800x" },
	{ "AMD Ryzen Threadripper PRO 3995WX 64-Cores",
	  "amd_ryzen_threadripper_pro_3995wx" },
};

static const char *find_better(const char *brand)
{
	for (size_t i = 0; i < TW_COUNT(better); i++)
		if (strcmp(better[i].brand, brand) == 0)
			return better[i].want;
	return NULL;
}

static void expect_processor(const char *brand, const char *want)
{
	const size_t len = strlen(brand);
	/* The sanitizer detects reads behind the buffer. */
	char *exact = malloc(len > 0 ? len : 1), name[TW_SPEC_TEXT];

	assert_non_null(exact);
	memcpy(exact, brand, len);
	tw_processor_name(exact, len, name);
	free(exact);
	if (strcmp(name, want) != 0)
		fail_msg("'%s' is '%s', not '%s'", brand, name, want);
}

static void expect_vendor(const char *vendor, const char *want)
{
	char name[TW_SPEC_TEXT];

	tw_vendor_name(vendor, strlen(vendor), name);
	if (strcmp(name, want) != 0)
		fail_msg("'%s' is '%s', not '%s'", vendor, name, want);
}

static json_t *read_golden(void)
{
	struct tw_err err = { 0 };
	char path[512], *data;
	json_t *v = NULL;
	size_t len;

	shared_path(path, sizeof(path), "golden/names.json");
	if (tw_file_read(path, 1 << 20, &data, &len, &err) < 0 ||
	    tw_json_parse(data, len, path, &v, &err) < 0)
		fail_msg("%s", err.text);
	free(data);
	return v;
}

static void processors_have_the_names_of_published_databases(void **state)
{
	json_t *golden = read_golden(), *v;
	const char *brand;
	size_t corrected = 0;

	(void)state;
	json_object_foreach(json_object_get(golden, "format_processor"), brand, v) {
		const char *want = find_better(brand);

		corrected += want != NULL;
		expect_processor(brand, want != NULL ? want : json_string_value(v));
	}
	/* All entries of the table must be in the recorded data. */
	assert_int_equal(corrected, TW_COUNT(better));
	json_decref(golden);
}

static void vendors_have_the_names_of_published_databases(void **state)
{
	json_t *golden = read_golden(), *v;
	const char *vendor;

	(void)state;
	json_object_foreach(json_object_get(golden, "format_vendor"), vendor, v)
		expect_vendor(vendor, json_string_value(v));
	json_decref(golden);
}

static void similarities_are_those_of_kepler_model_server(void **state)
{
	json_t *golden = read_golden(), *v;
	size_t i;

	(void)state;
	json_array_foreach(json_object_get(golden, "jaccard"), i, v) {
		const double got =
			tw_similarity_text(json_string_value(json_array_get(v, 0)),
					   json_string_value(json_array_get(v, 1)));

		assert_true(fabs(got - json_number_value(json_array_get(v, 2))) < CLOSE);
	}
	json_array_foreach(json_object_get(golden, "compute_similarity"), i, v) {
		const double got = tw_similarity_figure(
			(uint32_t)json_integer_value(json_array_get(v, 0)),
			(uint32_t)json_integer_value(json_array_get(v, 1)));

		assert_true(fabs(got - json_number_value(json_array_get(v, 2))) < CLOSE);
	}
	json_decref(golden);
}

/* Names that the recorded results do not contain. */
static void filler_words_are_dropped_from_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(better); i++)
		expect_processor(better[i].brand, better[i].want);
	expect_processor("Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz",
			 "intel_xeon_e5_2686v4");
	expect_processor("AMD EPYC 9754 128-Core Processor", "amd_epyc_9754");
	expect_processor("AMD EPYC 8-Core Processor", "amd_epyc");
	expect_processor("AMD Ryzen Threadripper 2950X 16-Core Processor",
			 "amd_ryzen_threadripper_2950x");
	expect_processor("96-Core Processor", "");
	expect_processor("AMD EPYC-Rome Processor", "amd_epyc_rome");
	expect_processor("Quad-Core AMD Opteron(tm) Processor 2356", "amd_opteron_2356");
	expect_processor("AMD Ryzen 7 5700G with Radeon Graphics", "amd_ryzen_7_5700g");
	expect_processor("Intel Xeon Processor (Skylake, IBRS)", "intel_xeon");
	expect_processor("Intel\u00ae Xeon\u00ae Silver 4210R, 2.4 GHz",
			 "intel_xeon_silver_4210r");
	expect_processor("Intel Xeon Silver 4210R 2.4GHz", "intel_xeon_silver_4210r");
	expect_processor("GHz", "");
	expect_processor("2.4 GHz", "");
	expect_processor("CPU Processor @ 1GHz", "");
	expect_processor("  -  --", "");
	expect_processor("v2", "v2");
	expect_processor("\tA\nB\r", "a_b");
	expect_processor("(R)(TM)(", "");
	expect_processor("a_b__c", "a_b_c");
}

static void long_names_are_cut_at_a_word(void **state)
{
	char brand[256], want[TW_SPEC_TEXT], name[TW_SPEC_TEXT];

	(void)state;
	/* 31 + 1 + 31 is the longest that fits. */
	memset(want, 'x', 63);
	want[31] = '_';
	want[63] = '\0';
	memcpy(brand, want, 64);
	brand[31] = ' ';
	expect_processor(brand, want);
	strcat(brand, " more and more");
	expect_processor(brand, want);
	snprintf(brand, sizeof(brand), "one %s two", want);
	expect_processor(brand, "one_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	/* A word that is too long is cut; a NUL separates words. */
	memset(brand, 'Y', sizeof(brand));
	tw_processor_name(brand, sizeof(brand), name);
	assert_int_equal(strlen(name), TW_SPEC_TEXT - 1);
	tw_vendor_name(brand, sizeof(brand), name);
	assert_int_equal(strlen(name), TW_SPEC_TEXT - 1);
	tw_processor_name("AMD\0EPYC", 8, name);
	assert_string_equal(name, "amd_epyc");
}

static void a_number_of_cores_is_cut_off_the_end(void **state)
{
	static const char *const cases[][2] = {
		{ "amd_epyc_9654_96_core", "amd_epyc_9654" },
		{ "amd_ryzen_threadripper_pro_3995wx_64_cores",
		  "amd_ryzen_threadripper_pro_3995wx" },
		{ "amd_epyc_9654", "amd_epyc_9654" },
		{ "amd_epyc", "amd_epyc" },
		{ "intel_core", "intel_core" },
		{ "96_core_amd", "96_core_amd" },
		{ "amd_core", "amd_core" },
		{ "epyc9654_core", "epyc9654_core" },
		{ "96_core", "96_core" },
		{ "_96_core", "_96_core" },
		{ "_core", "_core" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		char name[TW_SPEC_TEXT];

		snprintf(name, sizeof(name), "%s", cases[i][0]);
		tw_processor_drop_cores(name);
		assert_string_equal(name, cases[i][1]);
	}
}

/* ---- the EPYC types of published SPECpower results ---- */

#define EPYC "AMD EPYC "
#define TYPES_MAX 64

struct epyc_type {
	char model[16]; /* "7742" */
	int cores;      /* of a chip */
};

static void add_type(struct epyc_type *types, size_t *count, const char *name, int cores)
{
	char model[16] = "";

	assert_int_equal(sscanf(name, EPYC "%15[0-9A-Z]", model), 1);
	for (size_t i = 0; i < *count; i++)
		if (strcmp(types[i].model, model) == 0)
			return;
	assert_true(*count < TYPES_MAX);
	memcpy(types[*count].model, model, sizeof(model));
	types[(*count)++].cores = cores;
}

/* Field n, from 0, of a line of CSV with quoted fields; up to 127 bytes of it. */
static void get_field(const char *line, int n, char out[128])
{
	bool quoted = false;
	size_t len = 0;

	for (const char *p = line; *p != '\0' && *p != '\n' && n >= 0; p++) {
		if (*p == '"')
			quoted = !quoted;
		else if (*p == ',' && !quoted)
			n--;
		else if (n == 0 && len < 127)
			out[len++] = *p;
	}
	out[len] = '\0';
}

static size_t read_types(struct epyc_type *types)
{
	enum { NAME = 5, CHIPS = 11, CORES = 12 };
	char path[512], name[128], chips[128], cores[128], *data;
	struct tw_err err = { 0 };
	size_t len, count = 0;

	shared_path(path, sizeof(path), "data/specpower/specpower.csv");
	if (tw_file_read(path, 1 << 20, &data, &len, &err) < 0)
		fail_msg("%s", err.text);
	for (const char *line = data; line != NULL && *line != '\0';
	     line = strchr(line, '\n') != NULL ? strchr(line, '\n') + 1 : NULL) {
		get_field(line, NAME, name);
		get_field(line, CHIPS, chips);
		get_field(line, CORES, cores);
		if (strncmp(name, EPYC, strlen(EPYC)) == 0)
			add_type(
				types, &count, name,
				(int)(strtol(cores, NULL, 10) / strtol(chips, NULL, 10)));
	}
	free(data);
	return count;
}

/* The name after reading a spec from a client or a database. */
static void name_in_a_spec(const char *name, char out[TW_SPEC_TEXT])
{
	struct tw_machine_spec s;
	struct tw_err err = { 0 };
	json_t *v = json_pack("{s:s}", "processor", name);

	assert_non_null(v);
	assert_int_equal(tw_machine_spec_from_json(v, "spec", &s, &err), 0);
	memcpy(out, s.processor, TW_SPEC_TEXT);
	json_decref(v);
}

static void every_epyc_of_specpower_is_found_by_its_brand_string(void **state)
{
	struct epyc_type types[TYPES_MAX];
	const size_t count = read_types(types);
	size_t found = 0, asked = 0;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		char brand[128], old[128], model[16], want[64], got[TW_SPEC_TEXT];

		memcpy(model, types[i].model, sizeof(model));
		for (char *p = model; *p != '\0'; p++)
			*p = (char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p);
		snprintf(want, sizeof(want), "amd_epyc_%s", model);
		/* /proc/cpuinfo */
		snprintf(brand, sizeof(brand), EPYC "%.15s %d-Core Processor",
			 types[i].model, types[i].cores);
		tw_processor_name(brand, strlen(brand), got);
		found += strcmp(got, want) == 0;
		/* Kepler */
		snprintf(old, sizeof(old), "%s_%d_core", want, types[i].cores);
		name_in_a_spec(old, got);
		asked += strcmp(got, want) == 0;
	}
	print_message("EPYC types of SPECpower: %zu; found by brand %zu, by Kepler's "
		      "name %zu\n",
		      count, found, asked);
	assert_true(count >= 9);
	assert_int_equal(found, count);
	assert_int_equal(asked, count);
}

static void a_vendor_is_its_first_word(void **state)
{
	(void)state;
	expect_vendor("", "");
	expect_vendor("   ", "");
	expect_vendor("...", "");
	expect_vendor("AuthenticAMD", "authenticamd");
	expect_vendor("Hewlett-Packard", "hewlett_packard");
	expect_vendor("Co., Ltd.", "co");
	expect_vendor("(c) Maker", "maker");
}

static void similarity_accepts_empty_texts(void **state)
{
	(void)state;
	assert_true(tw_similarity_text("", "") >= 1);
	assert_true(tw_similarity_text("", "a") <= 0);
	assert_true(tw_similarity_text("a", "") <= 0);
	assert_true(tw_similarity_text("aA", "a") >= 0.5);
	/* kepler-model-server divides by 0 for -1 and 1. Our figures are never negative.
	 */
	assert_true(tw_similarity_figure(0, 0) >= 1);
	assert_true(tw_similarity_figure(0, 1) <= 0);
	assert_true(tw_similarity_figure(UINT32_MAX, 1) <= 0);
	assert_true(tw_similarity_figure(UINT32_MAX, UINT32_MAX) >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processors_have_the_names_of_published_databases),
		cmocka_unit_test(vendors_have_the_names_of_published_databases),
		cmocka_unit_test(similarities_are_those_of_kepler_model_server),
		cmocka_unit_test(filler_words_are_dropped_from_names),
		cmocka_unit_test(long_names_are_cut_at_a_word),
		cmocka_unit_test(a_number_of_cores_is_cut_off_the_end),
		cmocka_unit_test(every_epyc_of_specpower_is_found_by_its_brand_string),
		cmocka_unit_test(a_vendor_is_its_first_word),
		cmocka_unit_test(similarity_accepts_empty_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
