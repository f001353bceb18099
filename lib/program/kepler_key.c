/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/kepler_key.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VALUE_MAX_BYTES ((size_t)64 << 10)

/* Editors and `echo` append a newline. */
static void trim_end(char *text, size_t len)
{
	while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
		text[--len] = '\0';
}

static int load_key(const char *dir, const char *key, struct tw_err *err)
{
	char *path = NULL, *value = NULL;
	size_t len;
	int rc = -1;

	if (tw_path_join(&path, err, dir, key, NULL) < 0)
		goto out;
	if (access(path, F_OK) == 0) {
		if (tw_file_read(path, VALUE_MAX_BYTES, &value, &len, err) < 0)
			goto out;
		trim_end(value, len);
		if (setenv(key, value, 1) < 0) {
			tw_fail(err, TW_NOMEM, "%s", key);
			goto out;
		}
	}
	rc = 0;
out:
	free(path);
	free(value);
	return rc;
}

int tw_kepler_keys_load(const char *const *keys, struct tw_err *err)
{
	const char *dir = getenv("CONFIG_PATH");

	if (dir == NULL || dir[0] == '\0')
		dir = "/etc/kepler/kepler.config";
	for (; *keys != NULL; keys++)
		if (load_key(dir, *keys, err) < 0)
			return -1;
	return 0;
}

int tw_kepler_key_default(const char *variable, const char *before, const char *key,
			  const char *after, struct tw_err *err)
{
	const char *value = getenv(key);
	struct tw_buf b = { 0 };
	int rc = -1;

	if (value == NULL || *value == '\0' || getenv(variable) != NULL)
		return 0;
	tw_buf_addf(&b, "%s%s%s", before, value, after);
	if (tw_buf_failed(&b) || setenv(variable, b.data, 0) < 0) {
		tw_fail(err, TW_NOMEM, "%s", key);
		goto out;
	}
	rc = 0;
out:
	tw_buf_clear(&b);
	return rc;
}

const char *const tw_kepler_model_db_keys[] = { "MODEL_PATH", "MNT_PATH", NULL };

int tw_kepler_model_db_default(struct tw_err *err)
{
	if (tw_kepler_key_default("TW_MODEL_DB", "", "MODEL_PATH", "", err) < 0)
		return -1;
	return tw_kepler_key_default("TW_MODEL_DB", "", "MNT_PATH", "/models", err);
}
