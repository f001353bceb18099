/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/index/index_listing.h"

#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/json.h"
#include "model-db/manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MANIFEST_MAX ((size_t)64 << 20)

/* Keep the list of a manifest. */
static int take_list(struct tw_index_listing *l, const char *text, size_t len,
		     const char *name, struct tw_err *err)
{
	struct tw_manifest_id id;
	json_t *doc = NULL;
	const json_t *files;
	int rc = -1;

	if (tw_manifest_read_id(text, len, &id, err) < 0 ||
	    tw_json_parse(text, len, TW_MANIFEST_NAME, &doc, err) < 0 ||
	    tw_json_object(doc, TW_MANIFEST_NAME, "files", false, &files, err) < 0)
		goto out;
	if (id.version != 0 && strcmp(id.pipeline, name) != 0) {
		tw_fail(err, TW_DENIED, TW_MANIFEST_NAME " is of pipeline '%s'",
			id.pipeline);
		goto out;
	}
	l->files = json_incref(json_object_get(doc, "files"));
	rc = 0;
out:
	json_decref(doc);
	return rc;
}

/* Files about a pipeline decide which of its models a machine gets. */
static int check_common(const struct tw_index_listing *l, const char *path,
			struct tw_err *err)
{
	static const char *const names[] = { "metadata.json", "node_type_index.json" };
	char *file = NULL;
	int rc = -1;

	for (size_t i = 0; i < 2; i++) {
		free(file);
		file = NULL;
		if (tw_path_join(&file, err, path, names[i], NULL) < 0)
			goto out;
		if (access(file, F_OK) == 0 && tw_index_listing_check(l, file, err) < 0) {
			tw_err_wrap(err, "%s", names[i]);
			goto out;
		}
	}
	rc = 0;
out:
	free(file);
	return rc;
}

int tw_index_listing_read(struct tw_index_listing *l, const char *path, const char *name,
			  struct tw_err *err)
{
	char *manifest = NULL, *text = NULL;
	struct stat st;
	size_t len;
	int rc = -1;

	tw_index_listing_release(l);
	l->root = strlen(path) + 1;
	if (tw_path_join(&manifest, err, path, TW_MANIFEST_NAME, NULL) < 0)
		goto out;
	if (lstat(manifest, &st) < 0 && errno == ENOENT) {
		rc = 0;
		goto out;
	}
	if (tw_file_read(manifest, MANIFEST_MAX, &text, &len, err) < 0 ||
	    take_list(l, text, len, name, err) < 0 || check_common(l, path, err) < 0)
		goto out;
	rc = 0;
out:
	free(text);
	free(manifest);
	return rc;
}

int tw_index_listing_check(const struct tw_index_listing *l, const char *path,
			   struct tw_err *err)
{
	if (l->files == NULL || json_object_get(l->files, path + l->root) != NULL)
		return 0;
	return tw_fail(err, TW_INVALID, TW_MANIFEST_NAME " does not list it");
}

void tw_index_listing_release(struct tw_index_listing *l)
{
	json_decref(l->files);
	*l = (struct tw_index_listing){ 0 };
}
