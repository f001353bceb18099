/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "model-db/import/import_find.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Places below a directory (model-db/import/import_find.h): by names alone, nothing is
 * read. */

struct walk {
	struct tw_strs *out;
	size_t dirs;
};

static bool is_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Directories, whose names are ones that a pipeline's may have. */
static int list(const char *dir, struct tw_strs *out, struct tw_err *err)
{
	DIR *d = opendir(dir);
	struct tw_err ignored = { 0 };
	const struct dirent *e;
	char *path = NULL;
	int rc = -1;

	if (d == NULL)
		return tw_fail_errno(err, errno, "cannot read '%s'", dir);
	while ((errno = 0, e = readdir(d)) != NULL) {
		free(path);
		path = NULL;
		if (tw_name_check("", e->d_name, strlen(e->d_name), &ignored) < 0)
			continue;
		if (tw_path_join(&path, err, dir, e->d_name, NULL) < 0)
			goto out;
		if (is_directory(path) && tw_strs_adds(out, e->d_name, err) < 0)
			goto out;
	}
	if (errno != 0) {
		tw_fail_errno(err, errno, "cannot read '%s'", dir);
		goto out;
	}
	tw_strs_sort(out);
	rc = 0;
out:
	free(path);
	closedir(d);
	return rc;
}

/* Whether one of the names is a source that has an output below it. */
static int is_place(const char *dir, const struct tw_strs *names, bool *out,
		    struct tw_err *err)
{
	bool found = false;

	for (size_t i = 0; i < names->count && !found; i++)
		for (int o = 0; o < TW_OUTPUT_COUNT && !found; o++) {
			char *path = NULL;

			if (tw_import_source(names->at[i]) == NULL)
				break;
			if (tw_path_join(&path, err, dir, names->at[i],
					 tw_output_name((enum tw_output)o), NULL) < 0)
				return -1;
			found = is_directory(path);
			free(path);
		}
	*out = found;
	return 0;
}

static int walk(struct walk *w, const char *dir, const char *place, int depth,
		struct tw_err *err);

static int walk_below(struct walk *w, const char *dir, const char *place,
		      const struct tw_strs *names, int depth, struct tw_err *err)
{
	char *path = NULL, *inner = NULL;
	int rc = -1;

	for (size_t i = 0; i < names->count; i++) {
		free(path);
		free(inner);
		path = NULL;
		inner = NULL;
		if (tw_path_join(&path, err, dir, names->at[i], NULL) < 0)
			goto out;
		if (*place == '\0')
			inner = strdup(names->at[i]);
		else if (tw_path_join(&inner, err, place, names->at[i], NULL) < 0)
			goto out;
		if (inner == NULL) {
			tw_fail(err, TW_NOMEM, "'%s'", path);
			goto out;
		}
		if (walk(w, path, inner, depth + 1, err) < 0)
			goto out;
	}
	rc = 0;
out:
	free(inner);
	free(path);
	return rc;
}

static int walk(struct walk *w, const char *dir, const char *place, int depth,
		struct tw_err *err)
{
	struct tw_strs names = { 0 };
	bool found = false;
	int rc = -1;

	if (++w->dirs > TW_IMPORT_DIRS_MAX)
		return tw_fail(err, TW_INVALID, "more than %d directories to look at",
			       TW_IMPORT_DIRS_MAX);
	if (list(dir, &names, err) < 0 || is_place(dir, &names, &found, err) < 0)
		goto out;
	if (found && tw_strs_adds(w->out, place, err) < 0)
		goto out;
	if (!found && depth < TW_IMPORT_DEPTH_MAX &&
	    walk_below(w, dir, place, &names, depth, err) < 0)
		goto out;
	rc = 0;
out:
	tw_strs_clear(&names);
	return rc;
}

int tw_import_places_in(const char *dir, struct tw_strs *out, struct tw_err *err)
{
	struct walk w = { .out = out };

	return walk(&w, dir, "", 0, err);
}
