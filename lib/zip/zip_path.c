/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

int tw_zip_read_path(const char *path, size_t bytes_max,
		     const struct tw_fileset_limits *limits, struct tw_fileset *out,
		     struct tw_err *err)
{
	char *data = NULL;
	struct stat st;
	size_t len;
	int rc = -1;

	if (stat(path, &st) < 0)
		return tw_fail_errno(err, errno, "cannot read '%s'", path);
	if (S_ISDIR(st.st_mode))
		return tw_fileset_read_dir(out, path, limits, err);
	if (tw_file_read(path, bytes_max, &data, &len, err) < 0)
		goto out;
	if (tw_zip_read(data, len, limits, out, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}
	rc = 0;
out:
	free(data);
	return rc;
}
