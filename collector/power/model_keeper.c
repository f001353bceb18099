/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's end, and what both ends share; the child is model_keeper_child.c. */
#include "collector/power/model_keeper.h"

#include "collector/power/model_keeper_child.h"
#include "estimator/predict/power_model.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/model_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZIP_MAX ((size_t)64 << 20)

int tw_keeper_start(const struct tw_keeper_config *c, int *fd, struct tw_err *err)
{
	int end[2];
	pid_t pid;

	if (c->sources->count > TW_KEEPER_SOURCES_MAX)
		return tw_fail(err, TW_INVALID, "more than %d sources of models",
			       TW_KEEPER_SOURCES_MAX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end) < 0)
		return tw_fail_errno(err, errno, "cannot make a socket");
	pid = fork();
	if (pid < 0) {
		tw_fail_errno(err, errno, "cannot start the keeper of models");
		close(end[0]);
		close(end[1]);
		return -1;
	}
	if (pid == 0) {
		close(end[0]);
		exit(tw_keeper_run(c, end[1]));
	}
	close(end[1]);
	*fd = end[0];
	return 0;
}

int tw_keeper_tell_metrics(int fd, const struct tw_strs *metrics, struct tw_err *err)
{
	struct tw_buf b = { .limit = TW_KEEPER_METRICS_MAX };
	int rc = -1;

	for (size_t i = 0; i < metrics->count; i++)
		tw_buf_addf(&b, "%s%s", i > 0 ? "," : "", metrics->at[i]);
	if (tw_buf_failed(&b)) {
		tw_fail(err, TW_NOMEM, "names of %zu features", metrics->count);
		goto out;
	}
	if (send(fd, b.data, b.len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)b.len) {
		tw_fail_errno(err, errno, "the keeper of models does not listen");
		goto out;
	}
	rc = 0;
out:
	tw_buf_clear(&b);
	return rc;
}

void tw_keeper_reload(int fd)
{
	/* One that is full of such wishes, or gone, has nothing to gain by another. */
	(void)!send(fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static int read_all(int fd, char **data, size_t *len, struct tw_err *err)
{
	struct stat st;
	size_t got = 0;
	char *to;

	if (fstat(fd, &st) < 0)
		return tw_fail_errno(err, errno, "model");
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 || (size_t)st.st_size > ZIP_MAX)
		return tw_fail(err, TW_INVALID, "model: no file of 1 to %zu bytes",
			       ZIP_MAX);
	to = malloc((size_t)st.st_size);
	if (to == NULL)
		return tw_fail(err, TW_NOMEM, "model");
	while (got < (size_t)st.st_size) {
		const ssize_t n =
			pread(fd, to + got, (size_t)st.st_size - got, (off_t)got);

		if (n <= 0) {
			free(to);
			return tw_fail(err, TW_IO, "model: cannot read all of it");
		}
		got += (size_t)n;
	}
	*data = to;
	*len = got;
	return 0;
}

static int load(int fd, struct tw_power_model **out, struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	struct tw_model m = { 0 };
	char *data = NULL;
	size_t len = 0;
	int rc = -1;

	if (read_all(fd, &data, &len, err) < 0 ||
	    tw_zip_read(data, len, &tw_zip_model_limits, &files, err) < 0 ||
	    tw_model_from_files(&files, &m, err) < 0 ||
	    tw_power_model_new(&m, out, err) < 0)
		goto out;
	rc = 0;
out:
	tw_fileset_clear(&files);
	free(data);
	return rc;
}

/* The descriptor that came along, or -1. */
static int passed_fd(struct msghdr *m)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);
	int fd = -1;

	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

enum tw_keeper_said tw_keeper_hear(int fd, struct tw_keeper_news *news,
				   struct tw_power_model **model)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec to = { .iov_base = news, .iov_len = sizeof(*news) };
	struct msghdr m = { .msg_iov = &to,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	const ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct tw_err err = { 0 };
	int file;

	*model = NULL;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return TW_KEEPER_NOTHING;
	if (n <= 0)
		return TW_KEEPER_GONE;
	file = passed_fd(&m);
	news->origin[sizeof(news->origin) - 1] = '\0';
	news->from[sizeof(news->from) - 1] = '\0';
	news->why[sizeof(news->why) - 1] = '\0';
	if ((size_t)n != sizeof(*news) || news->source >= TW_KEEPER_SOURCES_MAX) {
		if (file >= 0)
			close(file);
		return TW_KEEPER_NOTHING;
	}
	if (file < 0)
		return TW_KEEPER_NEWS;
	if (load(file, model, &err) < 0)
		snprintf(news->why, sizeof(news->why), "%s", err.text);
	close(file);
	return TW_KEEPER_NEWS;
}
