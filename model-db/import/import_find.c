/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/import/import_find.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "lib/field/feature.h"
#include "lib/json/json.h"
#include "lib/zip/fileset.h"
#include "model-db/manifest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const struct tw_energy_source *tw_import_source(const char *name)
{
	return tw_energy_source_find(strcmp(name, "rapl") == 0 ? "rapl-sysfs" : name);
}

/* ---- in a set ---- */

/* Copy the path component that begins at `at`. */
static bool part_at(const char *at, char *out, size_t size)
{
	const size_t len = strcspn(at, "/");

	if (len >= size)
		return false;
	memcpy(out, at, len);
	out[len] = '\0';
	return true;
}

/* Whether the path is <source>/<output>/<group>/<file>. */
static bool is_model_path(const char *at)
{
	char part[64];
	enum tw_output output;

	if (!part_at(at, part, sizeof(part)) || tw_import_source(part) == NULL)
		return false;
	at += strlen(part);
	if (*at++ != '/' || !part_at(at, part, sizeof(part)) ||
	    !tw_output_find(part, &output))
		return false;
	at += strlen(part);
	return *at++ == '/' && strchr(at, '/') != NULL;
}

/* The length of the place in a file's name. False if the file belongs to no model. */
static bool find_place(const char *name, size_t *len)
{
	for (const char *at = name; at != NULL; at = strchr(at, '/')) {
		at += *at == '/';
		if (is_model_path(at)) {
			*len = at > name ? (size_t)(at - name) - 1 : 0;
			return true;
		}
	}
	return false;
}

static bool is_last(const struct tw_strs *l, const char *s, size_t len)
{
	return l->count > 0 && strncmp(l->at[l->count - 1], s, len) == 0 &&
	       l->at[l->count - 1][len] == '\0';
}

static void drop_repeats(struct tw_strs *l)
{
	size_t kept = 0;

	tw_strs_sort(l);
	for (size_t i = 0; i < l->count; i++)
		if (kept > 0 && strcmp(l->at[kept - 1], l->at[i]) == 0)
			free(l->at[i]);
		else
			l->at[kept++] = l->at[i];
	l->count = kept;
}

int tw_import_places(const struct tw_fileset *s, struct tw_strs *out, struct tw_err *err)
{
	for (size_t i = 0; i < s->count; i++) {
		size_t len;

		if (find_place(s->at[i].name, &len) &&
		    !is_last(out, s->at[i].name, len) &&
		    tw_strs_add(out, s->at[i].name, len, err) < 0)
			return -1;
	}
	drop_repeats(out);
	return 0;
}

int tw_import_move(struct tw_fileset *from, const char *place, struct tw_fileset *out,
		   struct tw_err *err)
{
	const size_t len = strlen(place) + (*place != '\0');

	for (size_t i = 0; i < from->count; i++) {
		struct tw_fileset_file *f = &from->at[i];
		char *data = f->data;

		if (data == NULL || strncmp(f->name, place, strlen(place)) != 0 ||
		    (len > 0 && f->name[len - 1] != '/'))
			continue;
		f->data = NULL;
		if (tw_fileset_take(out, f->name + len, data, f->len, err) < 0)
			return -1;
	}
	return 0;
}

int tw_import_enter(struct tw_fileset *s, struct tw_err *err)
{
	struct tw_fileset inner = { 0 };
	struct tw_strs places = { 0 };
	int rc = -1;

	tw_fileset_sort(s);
	if (tw_import_places(s, &places, err) < 0)
		goto out;
	if (places.count == 0) {
		tw_fail(err, TW_INVALID, "not a pipeline: it has no model");
		goto out;
	}
	if (places.count > 1) {
		tw_fail(err, TW_INVALID, "%zu pipelines, want one", places.count);
		goto out;
	}
	if (*places.at[0] != '\0') {
		if (tw_import_move(s, places.at[0], &inner, err) < 0)
			goto out;
		tw_fileset_clear(s);
		*s = inner;
		inner = (struct tw_fileset){ 0 };
	}
	rc = 0;
out:
	tw_fileset_clear(&inner);
	tw_strs_clear(&places);
	return rc;
}

/* ---- names ---- */

/* The last `parts` components of a place. */
static const char *tail(const char *place, size_t parts)
{
	const char *at = place + strlen(place);

	while (at > place) {
		if (at[-1] == '/' && --parts == 0)
			return at;
		at--;
	}
	return at;
}

static bool is_unique(const struct tw_strs *places, size_t i, const char *end)
{
	const size_t parts_len = strlen(end);

	for (size_t k = 0; k < places->count; k++) {
		const size_t len = strlen(places->at[k]);

		if (k != i && len >= parts_len &&
		    strcmp(places->at[k] + len - parts_len, end) == 0 &&
		    (len == parts_len || places->at[k][len - parts_len - 1] == '/'))
			return false;
	}
	return true;
}

static int add_name(const struct tw_strs *places, size_t i, struct tw_strs *out,
		    struct tw_err *err)
{
	const char *end = tail(places->at[i], 1);
	char *name;

	for (size_t parts = 2; end > places->at[i] && !is_unique(places, i, end); parts++)
		end = tail(places->at[i], parts);
	if (tw_strs_adds(out, end, err) < 0)
		return -1;
	name = out->at[out->count - 1];
	for (; *name != '\0'; name++)
		if (*name == '/')
			*name = '-';
	return 0;
}

int tw_import_names(const struct tw_strs *places, const char *self, struct tw_strs *out,
		    struct tw_err *err)
{
	for (size_t i = 0; i < places->count; i++) {
		if (*places->at[i] == '\0') {
			if (tw_strs_adds(out, self, err) < 0)
				return -1;
		} else if (add_name(places, i, out, err) < 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- origin ---- */

bool tw_import_is_old(struct tw_fileset *s)
{
	const struct tw_fileset_file *f;
	struct tw_err ignored = { 0 };
	const char *creator = NULL;
	json_t *doc = NULL;

	tw_fileset_sort(s);
	if (tw_fileset_find(s, TW_MANIFEST_NAME) != NULL)
		return false;
	f = tw_fileset_find(s, "metadata.json");
	if (f != NULL && tw_json_parse(f->data, f->len, f->name, &doc, &ignored) == 0)
		(void)!tw_json_text(doc, f->name, "creator", true, &creator, &ignored);
	json_decref(doc);
	return creator == NULL;
}

/* ---- in a directory ---- */

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

/* List the subdirectories whose names are valid for a pipeline. */
static int list(const char *dir, struct tw_strs *out, struct tw_err *err)
{
	struct tw_err ignored = { 0 };
	struct tw_strs names = { 0 };
	char *path = NULL;
	int rc = -1;

	if (tw_dir_list(dir, &names, err) < 0)
		goto out;
	for (size_t i = 0; i < names.count; i++) {
		free(path);
		path = NULL;
		if (tw_name_check("", names.at[i], strlen(names.at[i]), &ignored) < 0)
			continue;
		if (tw_path_join(&path, err, dir, names.at[i], NULL) < 0 ||
		    (is_directory(path) && tw_strs_adds(out, names.at[i], err) < 0))
			goto out;
	}
	rc = 0;
out:
	free(path);
	tw_strs_clear(&names);
	return rc;
}

/* Whether one of the names is a source with a directory of an output. */
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
