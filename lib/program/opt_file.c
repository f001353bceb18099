/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/opt_file.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_BYTES_MAX ((size_t)1 << 20)

/* A range of the file's text. */
struct span {
	const char *at;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct span trim(struct span s)
{
	while (s.len > 0 && is_blank(s.at[0])) {
		s.at++;
		s.len--;
	}
	while (s.len > 0 && is_blank(s.at[s.len - 1]))
		s.len--;
	return s;
}

/* names ends with NULL. */
static bool is_known(const char *const *names, struct span name)
{
	for (size_t i = 0; names[i] != NULL; i++)
		if (strlen(names[i]) == name.len &&
		    memcmp(names[i], name.at, name.len) == 0)
			return true;
	return false;
}

static int take_line(struct span line, const char *const *names, struct tw_strs *out,
		     struct tw_err *err)
{
	const char *equals;
	struct span name, value;

	line = trim(line);
	if (line.len == 0 || line.at[0] == '#')
		return 0;
	equals = memchr(line.at, '=', line.len);
	if (equals == NULL)
		return tw_fail(err, TW_PARSE, "expected 'name = value'");
	name = trim((struct span){ line.at, (size_t)(equals - line.at) });
	value = trim(
		(struct span){ equals + 1, line.len - (size_t)(equals + 1 - line.at) });
	if (!is_known(names, name))
		return tw_fail(err, TW_INVALID, "unknown option '%.*s'",
			       (int)(name.len < 64 ? name.len : 64), name.at);
	if (tw_strs_add(out, name.at, name.len, err) < 0)
		return -1;
	if (tw_opt_file_find(out, out->at[out->count - 1]) != NULL)
		return tw_fail(err, TW_INVALID, "option '%s' is given twice",
			       out->at[out->count - 1]);
	return tw_strs_add(out, value.at, value.len, err);
}

int tw_opt_file_parse(const char *path, const char *data, size_t len,
		      const char *const *names, struct tw_strs *out, struct tw_err *err)
{
	struct tw_strs list = { 0 };
	size_t at = 0;

	for (size_t number = 1; at < len; number++) {
		const char *end = memchr(data + at, '\n', len - at);
		size_t n = end != NULL ? (size_t)(end - (data + at)) : len - at;

		if (take_line((struct span){ data + at, n }, names, &list, err) < 0) {
			tw_strs_clear(&list);
			return tw_err_wrap(err, "%s:%zu", path, number);
		}
		at += n + 1;
	}
	*out = list;
	return 0;
}

int tw_opt_file_read(const char *path, const char *const *names, struct tw_strs *out,
		     struct tw_err *err)
{
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(path, CONFIG_BYTES_MAX, &data, &len, err) == 0 &&
	    tw_opt_file_parse(path, data, len, names, out, err) == 0)
		rc = 0;
	free(data);
	return rc;
}

const char *tw_opt_file_find(const struct tw_strs *file, const char *name)
{
	for (size_t i = 0; i + 1 < file->count; i += 2)
		if (strcmp(file->at[i], name) == 0)
			return file->at[i + 1];
	return NULL;
}
