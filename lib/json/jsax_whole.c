/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/jsax.h"

#include "lib/core/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE ((size_t)256 << 10)

/* Behind the document's end only white space is fine. */
static int feed(struct tw_jsax *p, const char *data, size_t len, uint64_t offset,
		struct tw_err *err)
{
	size_t used = 0;

	if (tw_jsax_feed(p, data, len, &used, err) < 0)
		return -1;
	for (; used < len; used++)
		if (data[used] == '\0' || strchr(" \t\r\n", data[used]) == NULL)
			return tw_fail(err, TW_PARSE,
				       "byte %" PRIu64 ": text behind the end",
				       offset + used);
	return 0;
}

int tw_jsax_parse(const struct tw_jsax_limits *limits, tw_jsax_fn *fn, void *arg,
		  const char *data, size_t len, struct tw_err *err)
{
	struct tw_jsax *p = NULL;
	int rc = -1;

	if (tw_jsax_new(limits, fn, arg, &p, err) < 0 || feed(p, data, len, 0, err) < 0 ||
	    tw_jsax_end(p, err) < 0)
		goto out;
	rc = 0;
out:
	tw_jsax_free(p);
	return rc;
}

static int feed_file(struct tw_jsax *p, int fd, char *piece, struct tw_err *err)
{
	uint64_t offset = 0;

	for (;;) {
		ssize_t n = read(fd, piece, PIECE);

		if (n == 0)
			return tw_jsax_end(p, err);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tw_fail_errno(err, errno, "cannot read");
		if (feed(p, piece, (size_t)n, offset, err) < 0)
			return -1;
		offset += (uint64_t)n;
	}
}

int tw_jsax_read(const struct tw_jsax_limits *limits, tw_jsax_fn *fn, void *arg,
		 const char *path, struct tw_err *err)
{
	struct tw_jsax *p = NULL;
	char *piece = malloc(PIECE);
	int fd = -1, rc = -1;

	if (piece == NULL) {
		tw_fail(err, TW_NOMEM, "'%s'", path);
		goto out;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		tw_fail_errno(err, errno, "cannot open '%s'", path);
		goto out;
	}
	if (tw_jsax_new(limits, fn, arg, &p, err) < 0 ||
	    feed_file(p, fd, piece, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}
	rc = 0;
out:
	tw_jsax_free(p);
	if (fd >= 0)
		close(fd);
	free(piece);
	return rc;
}
