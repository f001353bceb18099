/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/file.h"

#include "lib/core/err.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_MAX_BYTES 128

static int read_all(int fd, char *data, size_t want, size_t *len)
{
	size_t have = 0;

	while (have < want) {
		ssize_t n = read(fd, data + have, want - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	*len = have;
	return 0;
}

int tw_fd_write(int fd, const void *data, size_t len, const char *path,
		struct tw_err *err)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return tw_fail_errno(err, errno, "cannot write '%s'", path);
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int tw_file_read_at(int dir, const char *path, char *buf, size_t size, size_t *len,
		    struct tw_err *err)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY), rc = -1;
	size_t have;

	if (fd < 0)
		return tw_fail_errno(err, errno, "cannot open '%s'", path);
	if (read_all(fd, buf, size, &have) < 0) {
		tw_fail_errno(err, errno, "cannot read '%s'", path);
		goto out;
	}
	if (have == size) {
		tw_fail(err, TW_INVALID, "'%s' has more than %zu bytes", path, size - 1);
		goto out;
	}
	buf[have] = '\0';
	*len = have;

	rc = 0;
out:
	close(fd);
	return rc;
}

/* What the kernel makes as it is read has no size: read on until it ends. */
static int read_growing(int fd, const char *path, size_t max, char **data, size_t *len,
			struct tw_err *err)
{
	size_t size = 0, have = 0, more;
	char *buf = NULL;
	int rc = -1;

	do {
		char *grown;

		size = size == 0 ? 4096 : 2 * size;
		if (size > max)
			size = max + 1;
		grown = realloc(buf, size + 1);
		if (grown == NULL) {
			tw_fail(err, TW_NOMEM, "'%s'", path);
			goto out;
		}
		buf = grown;
		if (read_all(fd, buf + have, size - have, &more) < 0) {
			tw_fail_errno(err, errno, "cannot read '%s'", path);
			goto out;
		}
		have += more;
	} while (have == size && have <= max);
	if (have > max) {
		tw_fail(err, TW_INVALID, "'%s' has more bytes than its limit, %zu", path,
			max);
		goto out;
	}

	*data = buf;
	*len = have;
	buf = NULL;
	rc = 0;
out:
	free(buf);
	return rc;
}

int tw_file_read(const char *path, size_t max, char **data, size_t *len,
		 struct tw_err *err)
{
	char *buf = NULL;
	struct stat st;
	size_t have;
	int fd, rc = -1;

	/* Non-blocking: a FIFO without a writer must not hold us up. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0) {
		tw_fail_errno(err, errno, "cannot open '%s'", path);
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		tw_fail(err, TW_INVALID, "'%s' is not a regular file", path);
		goto out;
	}
	if ((uintmax_t)st.st_size > max) {
		tw_fail(err, TW_INVALID, "'%s' has %jd bytes, limit is %zu", path,
			(intmax_t)st.st_size, max);
		goto out;
	}
	if (st.st_size == 0) {
		if (read_growing(fd, path, max, &buf, &have, err) < 0)
			goto out;
	} else {
		buf = malloc((size_t)st.st_size + 1);
		if (buf == NULL) {
			tw_fail(err, TW_NOMEM, "'%s'", path);
			goto out;
		}
		if (read_all(fd, buf, (size_t)st.st_size, &have) < 0) {
			tw_fail_errno(err, errno, "cannot read '%s'", path);
			goto out;
		}
	}
	buf[have] = '\0';

	*data = buf;
	*len = have;
	buf = NULL;
	rc = 0;
out:
	free(buf);
	if (fd >= 0)
		close(fd);
	return rc;
}

int tw_file_create(const char *path, const void *data, size_t len, struct tw_err *err)
{
	bool made = false;
	int fd, rc = -1;

	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0) {
		tw_fail_errno(err, errno, "cannot create '%s'", path);
		goto out;
	}
	made = true;
	if (tw_fd_write(fd, data, len, path, err) < 0)
		goto out;
	if (fsync(fd) < 0) {
		tw_fail_errno(err, errno, "cannot write '%s'", path);
		goto out;
	}
	rc = 0;
out:
	if (fd >= 0 && close(fd) < 0 && rc == 0) {
		tw_fail_errno(err, errno, "cannot close '%s'", path);
		rc = -1;
	}
	if (made && rc < 0)
		unlink(path);
	return rc;
}

int tw_name_check(const char *what, const char *name, size_t len, struct tw_err *err)
{
	char shown[4 * 32 + 4];
	size_t used = 0;
	bool plain = len > 0 && len <= NAME_MAX_BYTES && name[0] != '.';

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];
		bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			     (c >= 'a' && c <= 'z');

		plain = plain && (alnum || (c != '\0' && strchr("-_.+:@", c) != NULL));
	}
	if (plain)
		return 0;

	/* The name is foreign: show it cut short and without control bytes. */
	for (size_t i = 0; i < len && i < 32; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c >= 0x20 && c < 0x7f && c != '\'' && c != '\\')
			shown[used++] = (char)c;
		else
			used += (size_t)snprintf(shown + used, 5, "\\x%02x", c);
	}
	snprintf(shown + used, sizeof(shown) - used, "%s", len > 32 ? "..." : "");
	return tw_fail(err, TW_INVALID,
		       "%s '%s': want 1 to %d letters, digits, '-', '_', '+', ':', '@' "
		       "and '.', which is not the first",
		       what, shown, NAME_MAX_BYTES);
}
