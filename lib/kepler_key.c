/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/kepler_key.h"

#include "lib/err.h"
#include "lib/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VALUE_MAX_BYTES ((size_t)64 << 10)

/* Editors and `echo` leave a newline. */
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
