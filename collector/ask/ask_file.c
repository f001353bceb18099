/* SPDX-License-Identifier: Apache-2.0 */
/* The job "file": a user's own meter, whose value stands in a file. */
#include "collector/ask/own_job.h"
#include "lib/core/err.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

/* Only the first line is read, up to this length. */
#define LINE_MAX_BYTES 256

/* The age at which a program's file is too old, in intervals; at least OLD_MIN_S. */
#define OLD_INTERVALS 3
#define OLD_MIN_S 30

struct job {
	struct tw_own_job own;
	const char *path;
	int kept; /* opened with root's rights: for a file that only root may open */
	bool by_kernel; /* of sysfs or /proc: its time stamp says nothing */
};

#define AT(member) TW_FIELD_AT(struct job, member)
static const struct tw_field fields[] = {
	TW_OWN_JOB_FIELDS(struct job),
	{ "file", TW_FIELD_BORROWED, AT(path) },
};
static const struct tw_fields settings = TW_FIELDS(fields, struct job);

static void close_job(void *state)
{
	const struct job *j = state;

	if (j->kept >= 0)
		close(j->kept);
}

/* A FIFO without a writer must not block. */
static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static bool is_by_kernel(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 &&
	       (fs.f_type == SYSFS_MAGIC || fs.f_type == PROC_SUPER_MAGIC);
}

static int open_job(void *state, struct tw_err *err)
{
	struct job *j = state;

	(void)err;
	j->kept = open_file(j->path);
	j->by_kernel = is_by_kernel(j->path);
	return 0;
}

/* A file that was replaced is opened anew; the kept one serves if that is not allowed. */
static int open_now(const struct job *j, struct tw_err *err)
{
	int fd = open_file(j->path);

	if (fd < 0 && errno == EACCES && j->kept >= 0)
		fd = fcntl(j->kept, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return tw_fail_errno(err, errno, "cannot open '%.48s'", j->path);
	return fd;
}

/* A program that writes the file may have ended: its last value does not hold forever. */
static int check_age(const struct job *j, int fd, struct tw_err *err)
{
	const uint64_t stated_s =
		OLD_INTERVALS *
		(j->own.state.interval_ms > j->own.window_ms ? j->own.state.interval_ms
							     : j->own.window_ms) /
		1000;
	const uint64_t most_s = stated_s > OLD_MIN_S ? stated_s : OLD_MIN_S;
	struct timespec now;
	struct stat st;

	if (j->by_kernel || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	if (now.tv_sec > st.st_mtime && (uint64_t)(now.tv_sec - st.st_mtime) > most_s)
		return tw_fail(err, TW_IO, "'%.48s' was written %lld s ago", j->path,
			       (long long)(now.tv_sec - st.st_mtime));
	return 0;
}

static int read_value(const struct job *j, int fd, struct tw_value *out,
		      struct tw_err *err)
{
	char text[LINE_MAX_BYTES];
	const char *end;
	ssize_t n;

	do
		n = pread(fd, text, sizeof(text), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return tw_fail_errno(err, errno, "cannot read '%.48s'", j->path);
	if (n == 0)
		return tw_fail(err, TW_PARSE, "'%.48s' is empty", j->path);
	end = memchr(text, '\n', (size_t)n);
	if (end == NULL && (size_t)n == sizeof(text))
		return tw_fail(err, TW_PARSE, "'%.48s' has a line of over %d bytes",
			       j->path, LINE_MAX_BYTES);
	if (tw_value_parse(text, end != NULL ? (size_t)(end - text) : (size_t)n,
			   j->own.unit, out, err) < 0)
		return tw_err_wrap(err, "'%.40s'", j->path);
	return check_age(j, fd, err);
}

/* To look for a missing file costs little: there is no back-off. */
static int poll_file(void *state, struct tw_err *err)
{
	const struct job *j = state;
	struct tw_value v;
	const int file = open_now(j, err);

	if (file >= 0 && read_value(j, file, &v, err) == 0)
		tw_own_job_send(&j->own, &v);
	else
		tw_own_job_send_missing(&j->own, err);
	if (file >= 0)
		close(file);
	return 0;
}

const struct tw_ask_job tw_ask_file = {
	.name = "file",
	.settings = &settings,
	.open = open_job,
	.poll = poll_file,
	.close = close_job,
};
