/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/json.h"

#include <stdlib.h>

int tw_json_read(const char *path, size_t bytes_max, json_t **out, struct tw_err *err)
{
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(path, bytes_max, &data, &len, err) < 0 ||
	    tw_json_parse(data, len, path, out, err) < 0)
		goto out;
	rc = 0;
out:
	free(data);
	return rc;
}
