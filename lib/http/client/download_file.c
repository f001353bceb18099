/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/client/download.h"

#include "lib/core/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t read_at(int fd, char *data, size_t size, off_t at)
{
	ssize_t n;

	do
		n = pread(fd, data, size, at);
	while (n < 0 && errno == EINTR);
	return n;
}

int tw_download_file_inspect(int fd, struct tw_download_file *out, struct tw_err *err)
{
	char text[TW_HTTP_ETAG_MAX]; /* the newline takes the place of the NUL */
	struct tw_download_file f = { .line_len = 0 };
	struct stat st;
	const char *end;
	ssize_t n;

	n = read_at(fd, text, sizeof(text), 0);
	if (n < 0 || fstat(fd, &st) < 0)
		return tw_fail_errno(err, errno, "cannot read the download");
	end = memchr(text, '\n', (size_t)n);
	if (end != NULL) {
		f.line_len = (size_t)(end - text) + 1;
		memcpy(f.etag, text, f.line_len - 1);
		f.bytes = (uint64_t)st.st_size - f.line_len;
	}
	*out = f;
	return 0;
}

int tw_download_file_read(int fd, size_t max, char **data, size_t *len,
			  struct tw_err *err)
{
	struct tw_download_file file;
	char *all = NULL;
	size_t n = 0;
	int rc = -1;

	if (tw_download_file_inspect(fd, &file, err) < 0)
		return -1;
	if (file.line_len == 0)
		return tw_fail(err, TW_INVALID, "the download is empty");
	if (file.bytes > max)
		return tw_fail(err, TW_INVALID, "the download is over %zu bytes", max);
	all = malloc((size_t)file.bytes + 1);
	if (all == NULL)
		return tw_fail(err, TW_NOMEM, "download of %zu bytes",
			       (size_t)file.bytes);
	while (n < file.bytes) {
		const ssize_t got = read_at(fd, all + n, (size_t)file.bytes - n,
					    (off_t)(file.line_len + n));

		if (got <= 0) {
			tw_fail_errno(err, got < 0 ? errno : EIO,
				      "cannot read the download");
			goto out;
		}
		n += (size_t)got;
	}
	all[n] = '\0';

	*data = all;
	*len = n;
	all = NULL;
	rc = 0;
out:
	free(all);
	return rc;
}
