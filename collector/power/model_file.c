/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/power/model_file.h"

#include "estimator/predict/power_model.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

/*
 * The version of a path; for a directory, of its metadata.json, because models are
 * replaced, never edited. All 0: missing.
 */
static struct tw_file_mark look_at(const char *path)
{
	char inside[PATH_MAX];
	struct stat st;

	if (stat(path, &st) < 0)
		return (struct tw_file_mark){ 0 };
	if (S_ISDIR(st.st_mode) &&
	    ((size_t)snprintf(inside, sizeof(inside), "%s/metadata.json", path) >=
		     sizeof(inside) ||
	     stat(inside, &st) < 0))
		return (struct tw_file_mark){ 0 };
	return (struct tw_file_mark){
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = st.st_size,
		.changed_ns =
			(int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec,
	};
}

static bool same(const struct tw_file_mark *a, const struct tw_file_mark *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       a->changed_ns == b->changed_ns;
}

int tw_model_file_open(struct tw_model_file *f, const char *path,
		       struct tw_power_model **out, struct tw_err *err)
{
	/* Take the mark before reading, so that no change is missed. */
	const struct tw_file_mark mark = look_at(path);

	if (tw_power_model_load(path, out, err) < 0)
		return -1;
	*f = (struct tw_model_file){ .path = path, .read = mark, .seen = mark };
	return 0;
}

int tw_model_file_look(struct tw_model_file *f, struct tw_power_model **out,
		       struct tw_err *err)
{
	const struct tw_file_mark now = look_at(f->path), before = f->seen;

	f->seen = now;
	/* A missing file may be in the middle of a replacement. */
	if (now.ino == 0 || same(&now, &f->read) || !same(&now, &before))
		return 0;
	f->read = now;
	return tw_power_model_load(f->path, out, err) < 0 ? -1 : 1;
}

void tw_model_file_reload(struct tw_model_file *f)
{
	f->read = (struct tw_file_mark){ 0 };
}
