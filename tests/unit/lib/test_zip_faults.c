/* SPDX-License-Identifier: Apache-2.0 */
/* Writing of archives where a call of libzip fails. The functions here stand in front of
 * libzip's, and call them unless they are to fail. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "tests/unit/zip_bytes.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

/* The call that fails, and libzip's codes of the failure. */
static const char *failing;
static int code, system_code;
/* The source of the archive, and whether libzip has written it. libzip calls some of the
 * functions for its own ends before. */
static zip_source_t *archive;
static bool written, closing;
static unsigned discarded, freed;

static void *find_real(const char *name)
{
	void *p = dlsym(RTLD_NEXT, name);

	assert_non_null(p);
	return p;
}

/* A pointer to libzip's own function of the name. */
#define REAL(name)                             \
	__typeof__(&name) real;                \
	void *const symbol = find_real(#name); \
	memcpy(&real, &symbol, sizeof(real))

static bool fails(const char *name, zip_error_t *e)
{
	if (failing == NULL || strcmp(failing, name) != 0)
		return false;
	zip_error_set(e, code, system_code);
	return true;
}

static bool fails_for_archive(const char *name, zip_source_t *src)
{
	return written && src == archive && fails(name, zip_source_error(src));
}

zip_source_t *zip_source_buffer_create(const void *data, zip_uint64_t len, int freep,
				       zip_error_t *e)
{
	REAL(zip_source_buffer_create);

	if (fails("zip_source_buffer_create", e))
		return NULL;
	return archive = real(data, len, freep, e);
}

zip_t *zip_open_from_source(zip_source_t *src, int flags, zip_error_t *e)
{
	REAL(zip_open_from_source);

	return fails("zip_open_from_source", e) ? NULL : real(src, flags, e);
}

zip_source_t *zip_source_buffer(zip_t *z, const void *data, zip_uint64_t len, int freep)
{
	REAL(zip_source_buffer);

	return fails("zip_source_buffer", zip_get_error(z)) ? NULL
							    : real(z, data, len, freep);
}

zip_int64_t zip_file_add(zip_t *z, const char *name, zip_source_t *src, zip_flags_t flags)
{
	REAL(zip_file_add);

	return fails("zip_file_add", zip_get_error(z)) ? -1 : real(z, name, src, flags);
}

int zip_set_file_compression(zip_t *z, zip_uint64_t i, zip_int32_t method,
			     zip_uint32_t level)
{
	REAL(zip_set_file_compression);

	return fails("zip_set_file_compression", zip_get_error(z))
		       ? -1
		       : real(z, i, method, level);
}

int zip_file_set_dostime(zip_t *z, zip_uint64_t i, zip_uint16_t time, zip_uint16_t date,
			 zip_flags_t flags)
{
	REAL(zip_file_set_dostime);

	return fails("zip_file_set_dostime", zip_get_error(z))
		       ? -1
		       : real(z, i, time, date, flags);
}

int zip_file_set_external_attributes(zip_t *z, zip_uint64_t i, zip_flags_t flags,
				     zip_uint8_t os, zip_uint32_t attributes)
{
	REAL(zip_file_set_external_attributes);

	return fails("zip_file_set_external_attributes", zip_get_error(z))
		       ? -1
		       : real(z, i, flags, os, attributes);
}

int zip_close(zip_t *z)
{
	REAL(zip_close);

	if (fails("zip_close", zip_get_error(z)))
		return -1;
	closing = true;
	written = real(z) == 0;
	closing = false;
	return written ? 0 : -1;
}

void zip_discard(zip_t *z)
{
	REAL(zip_discard);

	discarded += z != NULL && !closing;
	real(z);
}

int zip_source_stat(zip_source_t *src, zip_stat_t *st)
{
	REAL(zip_source_stat);
	const int status = real(src, st);

	return fails_for_archive("zip_source_stat", src) ? -1 : status;
}

int zip_source_open(zip_source_t *src)
{
	REAL(zip_source_open);

	return fails_for_archive("zip_source_open", src) ? -1 : real(src);
}

zip_int64_t zip_source_read(zip_source_t *src, void *data, zip_uint64_t len)
{
	REAL(zip_source_read);

	/* One byte less than the archive has. */
	if (fails_for_archive("zip_source_read", src))
		return real(src, data, len - 1);
	return real(src, data, len);
}

void zip_source_free(zip_source_t *src)
{
	REAL(zip_source_free);

	freed += written && src == archive;
	real(src);
}

/* Write a set of one file, "a", with a failing call. */
static int write_archive(const char *call, char **data, size_t *len, struct tw_err *err)
{
	struct tw_fileset set = { 0 };
	int status;

	zip_add_to(&set, "a", "1", 1);
	failing = call;
	written = false;
	discarded = freed = 0;
	status = tw_zip_write(&set, data, len, err);
	failing = NULL;
	tw_fileset_clear(&set);
	return status;
}

/* "what: libzip's text", as tw_fail() has it. */
static void format_error(const char *what, enum tw_code want, char *out, size_t size)
{
	zip_error_t e;

	zip_error_init(&e);
	zip_error_set(&e, code, system_code);
	snprintf(out, size, "%s: %s%s", what, zip_error_strerror(&e),
		 want == TW_NOMEM ? ": out of memory" : "");
	zip_error_fini(&e);
}

static void a_call_that_fails_is_reported(void **state)
{
	/* what: the member, or the archive. opened: the call is between its opening and
	 * its close, so that it is discarded. */
	static const struct {
		const char *call, *what;
		bool opened;
	} calls[] = {
		{ "zip_source_buffer_create", "archive", false },
		{ "zip_open_from_source", "archive", false },
		{ "zip_source_buffer", "a", true },
		{ "zip_file_add", "a", true },
		{ "zip_set_file_compression", "a", true },
		{ "zip_file_set_dostime", "a", true },
		{ "zip_file_set_external_attributes", "a", true },
		{ "zip_close", "archive", true },
		{ "zip_source_stat", "archive", false },
		{ "zip_source_open", "archive", false },
		{ "zip_source_read", "archive", false },
	};
	/* libzip tells no code where it has no memory for the error; -4 is zlib's
	 * Z_MEM_ERROR, -2 its Z_STREAM_ERROR. */
	static const struct {
		int code, system;
		enum tw_code want;
	} failures[] = {
		{ ZIP_ER_OK, 0, TW_NOMEM },    { ZIP_ER_MEMORY, 0, TW_NOMEM },
		{ ZIP_ER_ZLIB, -4, TW_NOMEM }, { ZIP_ER_ZLIB, -2, TW_IO },
		{ ZIP_ER_WRITE, -4, TW_IO },   { ZIP_ER_WRITE, ENOSPC, TW_IO },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(calls); i++)
		for (size_t k = 0; k < TW_COUNT(failures); k++) {
			struct tw_err err = { 0 };
			char *data = NULL, text[128];
			size_t len = 7;

			code = failures[k].code;
			system_code = failures[k].system;
			format_error(calls[i].what, failures[k].want, text, sizeof(text));
			if (write_archive(calls[i].call, &data, &len, &err) != -1 ||
			    err.code != failures[k].want)
				fail_msg("%s, %d: code %d", calls[i].call, code,
					 err.code);
			assert_string_equal(err.text, text);
			assert_null(data);
			assert_int_equal(len, 7);
			assert_int_equal(discarded, calls[i].opened);
		}
}

static void the_source_of_a_written_archive_is_freed(void **state)
{
	struct tw_err err = { 0 };
	char *data = NULL;
	size_t len = 0;

	(void)state;
	assert_int_equal(write_archive(NULL, &data, &len, &err), 0);
	assert_int_equal(freed, 1);
	assert_int_equal(discarded, 0);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_fails_is_reported),
		cmocka_unit_test(the_source_of_a_written_archive_is_freed),
	};

	return cmocka_run_group_tests_name("zip_faults", tests, NULL, NULL);
}
