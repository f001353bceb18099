/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "estimator/models_config.h"
#include "estimator/models_entry.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/scratch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <string.h>
#include <time.h>

static void data_is_found_by_its_key_only(void **state)
{
	char *dir = scratch_new(), *data = NULL;
	struct tw_err err = { 0 };
	int64_t time_s = 0;
	size_t len = 0;

	(void)state;
	assert_int_equal(tw_model_cache_write(dir, "key one", "a\nb\0c", 5, &err), 0);
	assert_int_equal(tw_model_cache_write(dir, "key two", "", 0, &err), 0);
	assert_int_equal(
		tw_model_cache_read(dir, "key one", 100, &data, &len, &time_s, &err), 0);
	assert_int_equal(len, 5);
	assert_memory_equal(data, "a\nb\0c", 6);
	/* A file's time may be a tick of the kernel's clock later than time(). */
	assert_true(llabs((long long)time_s - (long long)time(NULL)) < 600);
	free(data);
	assert_int_equal(
		tw_model_cache_read(dir, "key two", 100, &data, &len, &time_s, &err), 0);
	assert_int_equal(len, 0);
	free(data);
	data = NULL;
	assert_int_equal(tw_model_cache_read(dir, "key", 100, &data, &len, &time_s, &err),
			 -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_null(data);
	scratch_free(dir);
}

static size_t count_files(const char *dir)
{
	DIR *d = opendir(dir);
	size_t count = 0;

	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d)) != NULL;)
		count += e->d_name[0] != '.';
	closedir(d);
	return count;
}

static void the_oldest_file_is_removed_at_the_limit(void **state)
{
	char *dir = scratch_new();
	struct tw_err err = { 0 };
	char key[32];

	(void)state;
	for (int i = 0; i < TW_MODEL_CACHE_FILES_MAX + 10; i++) {
		snprintf(key, sizeof(key), "key %d", i);
		assert_int_equal(tw_model_cache_write(dir, key, "x", 1, &err), 0);
	}
	assert_int_equal(count_files(dir), TW_MODEL_CACHE_FILES_MAX);
	scratch_free(dir);
}

/* A clock was wrong once: its files make room for others, and are not newer than now. */
static void files_of_the_future_are_the_oldest(void **state)
{
	const struct timespec year[] = { { .tv_sec = time(NULL) + 31536000 },
					 { .tv_sec = time(NULL) + 31536000 } };
	char *dir = scratch_new();
	struct tw_err err = { 0 };
	char key[32], path[600], *data = NULL;
	const struct dirent *e;
	int64_t time_s;
	size_t len;
	DIR *d;

	(void)state;
	assert_int_equal(tw_model_cache_write(dir, "future", "x", 1, &err), 0);
	d = opendir(dir);
	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (e->d_name[0] != '.')
			assert_int_equal(utimensat(AT_FDCWD, path, year, 0), 0);
	}
	closedir(d);
	assert_int_equal(
		tw_model_cache_read(dir, "future", 9, &data, &len, &time_s, &err), 0);
	assert_true(time_s <= time(NULL));
	free(data);
	for (int i = 0; i < TW_MODEL_CACHE_FILES_MAX; i++) {
		snprintf(key, sizeof(key), "key %d", i);
		assert_int_equal(tw_model_cache_write(dir, key, "x", 1, &err), 0);
	}
	assert_int_equal(
		tw_model_cache_read(dir, "future", 9, &data, &len, &time_s, &err), -1);
	tw_err_clear(&err);
	assert_int_equal(tw_model_cache_read(dir, "key 0", 9, &data, &len, &time_s, &err),
			 0);
	free(data);
	scratch_free(dir);
}

static void an_error_names_the_directory_that_cannot_be_written(void **state)
{
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_model_cache_write("/proc/nowhere", "k", "x", 1, &err), -1);
	assert_non_null(strstr(err.text, "/proc/nowhere"));
}

static void every_failed_allocation_is_reported(void **state)
{
	char *dir = scratch_new();

	(void)state;
	for (int n = 1;; n++) {
		struct tw_err err = { 0 };
		char *data = NULL;
		int64_t time_s;
		size_t len;
		int rc;

		fail_alloc_at(n);
		rc = tw_model_cache_write(dir, "k", "x", 1, &err);
		if (rc == 0)
			rc = tw_model_cache_read(dir, "k", 9, &data, &len, &time_s, &err);
		free(data);
		if (!fail_alloc_told(rc, &err))
			break;
	}
	scratch_free(dir);
}

/* ---- the configured URLs ---------------------------------------------------- */

static void lines_of_model_config_assign_urls(void **state)
{
	static char lines[] = "NODE_TOTAL_ESTIMATOR=true\r\n"
			      "  NODE_TOTAL_INIT_URL= http://h/a \n\n"
			      "CONTAINER_COMPONENTS_INIT_URL=\n"
			      "PROCESS_COMPONENTS_INIT_URL=https://h/b";
	const struct tw_energy_source *acpi = tw_energy_source_find("acpi");
	const struct tw_energy_source *rapl = tw_energy_source_find("rapl-sysfs");
	struct tw_init_urls u = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	setenv("MODEL_CONFIG", lines, 1);
	assert_int_equal(tw_init_urls_read(&u, &err), 0);
	unsetenv("MODEL_CONFIG");
	assert_string_equal(tw_init_urls_find(&u, TW_ABS_POWER, acpi), "http://h/a");
	assert_null(tw_init_urls_find(&u, TW_ABS_POWER, rapl));
	assert_null(tw_init_urls_find(&u, TW_DYN_POWER, acpi));
	assert_string_equal(tw_init_urls_find(&u, TW_DYN_POWER, rapl), "https://h/b");
	tw_init_urls_release(&u);
}

static void a_line_of_model_config_precedes_a_variable(void **state)
{
	const struct tw_energy_source *rapl = tw_energy_source_find("rapl-sysfs");
	struct tw_init_urls u = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	setenv("NODE_COMPONENTS_INIT_URL", " http://variable ", 1);
	assert_int_equal(tw_init_urls_read(&u, &err), 0);
	assert_string_equal(tw_init_urls_find(&u, TW_ABS_POWER, rapl), "http://variable");
	tw_init_urls_release(&u);
	setenv("MODEL_CONFIG", "NODE_COMPONENTS_INIT_URL=http://line", 1);
	assert_int_equal(tw_init_urls_read(&u, &err), 0);
	assert_string_equal(tw_init_urls_find(&u, TW_ABS_POWER, rapl), "http://line");
	tw_init_urls_release(&u);
	unsetenv("NODE_COMPONENTS_INIT_URL");
	unsetenv("MODEL_CONFIG");
}

static void a_text_that_is_no_url_is_refused(void **state)
{
	static char lines[] = "NODE_TOTAL_INIT_URL=/etc/passwd";
	struct tw_init_urls u = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	setenv("MODEL_CONFIG", lines, 1);
	assert_int_equal(tw_init_urls_read(&u, &err), -1);
	unsetenv("MODEL_CONFIG");
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(
		err.text,
		"NODE_TOTAL_INIT_URL: '/etc/passwd' is not an http:// or https:// URL");
	tw_init_urls_release(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_is_found_by_its_key_only),
		cmocka_unit_test(the_oldest_file_is_removed_at_the_limit),
		cmocka_unit_test(files_of_the_future_are_the_oldest),
		cmocka_unit_test(an_error_names_the_directory_that_cannot_be_written),
		cmocka_unit_test(every_failed_allocation_is_reported),
		cmocka_unit_test(lines_of_model_config_assign_urls),
		cmocka_unit_test(a_line_of_model_config_precedes_a_variable),
		cmocka_unit_test(a_text_that_is_no_url_is_refused),
	};

	return cmocka_run_group_tests_name("kept", tests, NULL, NULL);
}
