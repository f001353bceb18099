/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/http/download.h"

#include "lib/core/err.h"
#include "lib/http/download_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHAT TW_DOWNLOAD_WHAT

static ssize_t read_at(int fd, char *data, size_t size, off_t at)
{
	ssize_t n;

	do
		n = pread(fd, data, size, at);
	while (n < 0 && errno == EINTR);
	return n;
}

int tw_download_look(int fd, struct tw_download_part *out, struct tw_err *err)
{
	char text[TW_HTTP_ETAG_MAX]; /* its line end takes the NUL's place */
	struct tw_download_part p = { .line = 0 };
	struct stat st;
	const char *end;
	ssize_t n;

	n = read_at(fd, text, sizeof(text), 0);
	if (n < 0 || fstat(fd, &st) < 0)
		return tw_fail_errno(err, errno, "cannot read the " WHAT);
	end = memchr(text, '\n', (size_t)n);
	if (end != NULL) {
		p.line = (size_t)(end - text) + 1;
		memcpy(p.etag, text, p.line - 1);
		p.bytes = (uint64_t)st.st_size - p.line;
	}
	*out = p;
	return 0;
}

int tw_download_read(int fd, size_t max, char **data, size_t *len, struct tw_err *err)
{
	struct tw_download_part part;
	char *all = NULL;
	size_t n = 0;
	int rc = -1;

	if (tw_download_look(fd, &part, err) < 0)
		return -1;
	if (part.line == 0)
		return tw_fail(err, TW_INVALID, "the " WHAT " is empty");
	if (part.bytes > max)
		return tw_fail(err, TW_INVALID, "the " WHAT " is over %zu bytes", max);
	all = malloc((size_t)part.bytes + 1);
	if (all == NULL)
		return tw_fail(err, TW_NOMEM, WHAT " of %zu bytes", (size_t)part.bytes);
	while (n < part.bytes) {
		const ssize_t got = read_at(fd, all + n, (size_t)part.bytes - n,
					    (off_t)(part.line + n));

		if (got <= 0) {
			tw_fail_errno(err, got < 0 ? errno : EIO,
				      "cannot read the " WHAT);
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
