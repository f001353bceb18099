/* SPDX-License-Identifier: Apache-2.0 */
/* Apart from publish.c, so that who only publishes needs nothing that writes archives. */
#include "lib/core/err.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/pipeline.h"
#include "model-db/pipeline_merge.h"
#include "model-db/publish.h"

#include <errno.h>
#include <sys/stat.h>

/* What is there is added to the set. */
static int add_old(void *pipeline, const char *path, struct tw_err *err)
{
	struct tw_fileset old = { 0 };
	struct stat st;
	int rc = -1;

	if (lstat(path, &st) < 0 && errno == ENOENT)
		return 0;
	if (tw_fileset_read_dir(&old, path, &tw_zip_pipeline_limits, err) < 0 ||
	    tw_pipeline_merge(pipeline, &old, err) < 0)
		goto out;

	rc = 0;
out:
	tw_fileset_clear(&old);
	return rc;
}

int tw_pipeline_update(const char *db, const char *name, struct tw_fileset *pipeline,
		       struct tw_err *err)
{
	return tw_pipeline_publish_with(db, name, pipeline, add_old, pipeline, err);
}
