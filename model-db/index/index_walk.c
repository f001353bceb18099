/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/index_walk.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/strs.h"
#include "model-db/pipeline.h"
#include "model-db/prior/prior_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct walk {
	tw_index_enter_fn *enter;
	tw_index_found_fn *found;
	tw_index_refused_fn *refused;
	void *arg;
	struct tw_index_place at;
};

/* The levels of directories below the database. */
enum level { PIPELINE, SOURCE, OUTPUT, GROUP, MODEL };

static void refuse(const struct walk *w, const char *path, const struct tw_err *why)
{
	w->refused(w->arg, path, why);
}

/* Take the name's meaning at this level; fails if the name is unknown. */
static int take_name(struct walk *w, enum level level, const char *name,
		     struct tw_err *err)
{
	size_t len = strlen(name);

	switch (level) {
	case PIPELINE:
		w->at.pipeline = name;
		return tw_name_check("pipeline name", name, len, err);
	case SOURCE:
		return tw_energy_source_open(name, &w->at.source, err);
	case OUTPUT:
		if (!tw_output_find(name, &w->at.output))
			return tw_fail(err, TW_INVALID, "no such output type");
		return 0;
	case GROUP:
		w->at.group = tw_feature_group_find(name);
		if (w->at.group == NULL)
			return tw_fail(err, TW_INVALID, "no such feature group");
		return 0;
	case MODEL:
		break;
	}
	if (len - strlen(".zip") >= sizeof(w->at.name))
		return tw_fail(err, TW_INVALID, "the name is too long");
	snprintf(w->at.name, sizeof(w->at.name), "%.*s", (int)(len - strlen(".zip")),
		 name);
	return 0;
}

static bool is_zip(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && strcmp(name + len - 4, ".zip") == 0;
}

/* Whether the path is of this level. Symbolic links are refused. */
static bool wanted(const struct walk *w, enum level level, const char *path,
		   const char *name)
{
	struct tw_err why = { 0 };
	struct stat st;

	if (lstat(path, &st) < 0)
		tw_fail_errno(&why, errno, "cannot stat it");
	else if (S_ISLNK(st.st_mode))
		tw_fail(&why, TW_INVALID, "is a symbolic link");
	else if (level == SOURCE && strcmp(name, TW_PIPELINE_REPORTS) == 0)
		return false;
	else
		return level == MODEL ? S_ISREG(st.st_mode) && is_zip(name)
				      : S_ISDIR(st.st_mode);
	refuse(w, path, &why);
	return false;
}

/* An unknown name is a user's own energy source if it has models of an output type. */
static bool is_source(const char *path, const char *name)
{
	char output[PATH_MAX];
	bool has = tw_energy_source_find(name) != NULL;

	for (int o = 0; o < TW_OUTPUT_COUNT && !has; o++) {
		const int len = snprintf(output, sizeof(output), "%s/%s", path,
					 tw_output_name((enum tw_output)o));

		has = (size_t)len < sizeof(output) && access(output, F_OK) == 0;
	}
	return has;
}

/* The directory of the prior is not a pipeline: it needs no manifest and no signature. */
static bool is_prior(const char *path, const char *name)
{
	char file[PATH_MAX];
	const int len = snprintf(file, sizeof(file), "%s/" TW_PRIOR_FILE, path);

	return strcmp(name, TW_PRIOR_DIRECTORY) == 0 && (size_t)len < sizeof(file) &&
	       access(file, F_OK) == 0;
}

static int walk_dir(struct walk *w, enum level level, const char *dir,
		    struct tw_err *err);

static int walk_name(struct walk *w, enum level level, const char *path, const char *name,
		     struct tw_err *err)
{
	struct tw_err why = { 0 };

	if (!wanted(w, level, path, name))
		return 0;
	if ((level == SOURCE && strcmp(name, TW_PIPELINE_FOREIGN) == 0) ||
	    (level == PIPELINE && is_prior(path, name)))
		return 0;
	if (level == SOURCE && !is_source(path, name))
		tw_fail(&why, TW_INVALID, "no such energy source");
	if (why.code != TW_OK || take_name(w, level, name, &why) < 0 ||
	    (level == PIPELINE && w->enter != NULL &&
	     w->enter(w->arg, path, name, &why) < 0)) {
		if (why.code == TW_NOMEM)
			return tw_fail(err, TW_NOMEM, "'%s': %s", path, why.text);
		refuse(w, path, &why);
		return 0;
	}
	if (level < MODEL)
		return walk_dir(w, level + 1, path, err);
	w->at.path = path;
	return w->found(w->arg, &w->at, err);
}

static int walk_names(struct walk *w, enum level level, const char *dir,
		      const struct tw_strs *names, struct tw_err *err)
{
	char *path = NULL;
	int rc = -1;

	for (size_t i = 0; i < names->count; i++) {
		if (names->at[i][0] == '.')
			continue;
		free(path);
		path = NULL;
		if (tw_path_join(&path, err, dir, names->at[i], NULL) < 0 ||
		    walk_name(w, level, path, names->at[i], err) < 0)
			goto out;
	}

	rc = 0;
out:
	free(path);
	return rc;
}

/* A directory that cannot be read is refused; the database itself fails the walk. */
static int walk_dir(struct walk *w, enum level level, const char *dir, struct tw_err *err)
{
	struct tw_strs names = { 0 };
	struct tw_err why = { 0 };
	int rc = -1;

	if (tw_dir_list(dir, &names, &why) < 0) {
		if (why.code == TW_NOMEM ||
		    (level == PIPELINE && why.code != TW_NOTFOUND)) {
			tw_fail(err, why.code, "%s", why.text);
			goto out;
		}
		if (level > PIPELINE)
			refuse(w, dir, &why);
	} else if (walk_names(w, level, dir, &names, err) < 0) {
		goto out;
	}

	rc = 0;
out:
	tw_strs_clear(&names);
	return rc;
}

int tw_index_walk(const char *db, tw_index_enter_fn *enter, tw_index_found_fn *found,
		  tw_index_refused_fn *refused, void *arg, struct tw_err *err)
{
	struct walk w = {
		.enter = enter, .found = found, .refused = refused, .arg = arg
	};

	return walk_dir(&w, PIPELINE, db, err);
}
