/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/model_cache.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/hash.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file "<hash of the key>.kept" has the key, a newline and the data. */
#define SUFFIX ".kept"
#define NAME_BYTES (16 + sizeof(SUFFIX))

static void make_name(const char *key, char out[NAME_BYTES])
{
	snprintf(out, NAME_BYTES, "%016" PRIx64 SUFFIX, tw_hash(key, strlen(key)));
}

static int make_path(const char *dir, const char *key, char **out, struct tw_err *err)
{
	char name[NAME_BYTES];

	make_name(key, name);
	return tw_path_join(out, err, dir, name, NULL);
}

static bool is_cache_file(const char *name)
{
	const size_t len = strlen(name);

	return len == NAME_BYTES - 1 && strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0;
}

/* Make room for one more file. Files without access are skipped. */
static void remove_oldest(const char *dir)
{
	char oldest[NAME_BYTES] = "";
	const struct dirent *e;
	DIR *d = opendir(dir);
	struct stat st;
	time_t time = 0;
	size_t count = 0;

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL) {
		if (!is_cache_file(e->d_name) ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (count++ == 0 || st.st_mtime < time) {
			memcpy(oldest, e->d_name, NAME_BYTES); /* is_cache_file() */
			time = st.st_mtime;
		}
	}
	if (count >= TW_MODEL_CACHE_FILES_MAX)
		unlinkat(dirfd(d), oldest, 0);
	closedir(d);
}

int tw_model_cache_write(const char *dir, const char *key, const void *data, size_t len,
			 struct tw_err *err)
{
	struct tw_buf b = { 0 };
	char *path = NULL;
	int rc = -1;

	if (tw_dir_make(dir, err) < 0 || make_path(dir, key, &path, err) < 0)
		goto out;
	tw_buf_adds(&b, key);
	tw_buf_adds(&b, "\n");
	tw_buf_add(&b, data, len);
	if (tw_buf_failed(&b)) {
		tw_fail(err, TW_NOMEM, "'%s'", path);
		goto out;
	}
	remove_oldest(dir);
	if (tw_file_replace(path, b.data, b.len, err) < 0)
		goto out;
	rc = 0;
out:
	tw_buf_clear(&b);
	free(path);
	return rc;
}

int tw_model_cache_read(const char *dir, const char *key, size_t max, char **data,
			size_t *len, int64_t *time_s, struct tw_err *err)
{
	const size_t key_len = strlen(key);
	char *path = NULL, *text = NULL;
	struct stat st;
	size_t n;
	int rc = -1;

	if (make_path(dir, key, &path, err) < 0 ||
	    tw_file_read(path, TW_MODEL_CACHE_KEY_MAX + max, &text, &n, err) < 0)
		goto out;
	if (n <= key_len || memcmp(text, key, key_len) != 0 || text[key_len] != '\n') {
		tw_fail(err, TW_NOTFOUND, "'%s' has another key", path);
		goto out;
	}
	memmove(text, text + key_len + 1, n - key_len); /* with the NUL */

	*time_s = stat(path, &st) == 0 ? (int64_t)st.st_mtime : 0;
	*len = n - key_len - 1;
	*data = text;
	text = NULL;
	rc = 0;
out:
	free(text);
	free(path);
	return rc;
}
