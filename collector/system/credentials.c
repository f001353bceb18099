/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/credentials.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/program/opt_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const names[] = { "user", "password", NULL };

/* The group may read it: service accounts are often members. */
int tw_secret_check(const char *path, struct tw_err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return tw_fail_errno(err, errno, "'%s'", path);
	if ((st.st_mode & (S_IRWXO | S_IWGRP)) != 0)
		return tw_fail(err, TW_DENIED,
			       "'%s' is not secret: its mode is %04o, want 0600 or 0640",
			       path, (unsigned)st.st_mode & 07777);
	return 0;
}

static int take(const char *path, const struct tw_strs *file, const char *name, char *out,
		size_t size, struct tw_err *err)
{
	const char *value = tw_opt_file_find(file, name);

	if (value == NULL || value[0] == '\0')
		return tw_fail(err, TW_NOTFOUND, "'%s': no %s", path, name);
	if (strlen(value) >= size)
		return tw_fail(err, TW_INVALID, "'%s': %s of over %zu bytes", path, name,
			       size - 1);
	snprintf(out, size, "%s", value);
	return 0;
}

int tw_login_read(const char *path, struct tw_login *out, struct tw_err *err)
{
	struct tw_strs file = { 0 };
	struct tw_login login;
	int rc = -1;

	if (tw_secret_check(path, err) < 0 ||
	    tw_opt_file_read(path, names, &file, err) < 0 ||
	    take(path, &file, "user", login.user, sizeof(login.user), err) < 0 ||
	    take(path, &file, "password", login.password, sizeof(login.password), err) <
		    0)
		goto out;

	*out = login;
	rc = 0;
out:
	tw_strs_clear(&file);
	return rc;
}

int tw_token_read(const char *path, char *out, size_t size, struct tw_err *err)
{
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(path, size - 1, &data, &len, err) < 0)
		return -1;
	while (len > 0 && strchr(" \t\r\n", data[len - 1]) != NULL)
		len--;
	data[len] = '\0';
	if (len == 0 || strlen(data) != len || strpbrk(data, " \t\r\n") != NULL) {
		tw_fail(err, TW_PARSE, "'%s' is not a token", path);
		goto out;
	}

	memcpy(out, data, len + 1);
	rc = 0;
out:
	free(data);
	return rc;
}
