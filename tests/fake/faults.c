/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interposed library (LD_PRELOAD) that makes system calls fail and clocks jump.
 *
 *	TW_FAULTS	a file of lines "CALL ERRNO PREFIX": CALL (write, fsync, read or
 *			rename) fails with the number ERRNO for files below PREFIX
 *	TW_CLOCK	a file with the seconds to add to the time of day
 *
 * Both are read at each call, so that a test changes them while the program runs. glibc's
 * own calls, as those of stdio, are not interposed.
 */
/* Fortified headers define read() inline, and clang then takes ours for that one. */
#undef _FORTIFY_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define TEXT_MAX 1024

#pragma GCC visibility push(default)

static bool read_text(const char *variable, char text[TEXT_MAX])
{
	const char *path = getenv(variable);
	const int kept = errno;
	long fd, n;

	if (path == NULL)
		return false;
	fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	n = fd >= 0 ? syscall(SYS_read, fd, text, TEXT_MAX - 1) : -1;
	if (fd >= 0)
		syscall(SYS_close, fd);
	errno = kept;
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The error of a call for a path; 0: none. */
static int fault_of(const char *call, const char *path)
{
	char text[TEXT_MAX], *save = NULL;

	if (!read_text("TW_FAULTS", text))
		return 0;
	for (char *line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		char *in_line = NULL;
		const char *name = strtok_r(line, " ", &in_line);
		const char *number = strtok_r(NULL, " ", &in_line);
		const char *prefix = strtok_r(NULL, " ", &in_line);

		if (prefix != NULL && strcmp(name, call) == 0 &&
		    strncmp(path, prefix, strlen(prefix)) == 0)
			return (int)strtol(number, NULL, 10);
	}
	return 0;
}

static int fault_at(const char *call, int fd)
{
	char link[64], path[TEXT_MAX];
	ssize_t n;

	if (getenv("TW_FAULTS") == NULL)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	return fault_of(call, path);
}

static void *next_of(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (f == NULL)
		abort();
	return f;
}

/* Return -1 from the interposed function, if the call is to fail. */
#define FAIL_AT(call, fd)                              \
	do {                                           \
		const int fault_ = fault_at(call, fd); \
		if (fault_ != 0)                       \
			return errno = fault_, -1;     \
	} while (0)

/* dlsym() gives void *, which ISO C converts to no pointer to a function. */
#define NEXT(type, name)  \
	static type next; \
	if (next == NULL) \
	*(void **)(void *)&next = next_of(name)

typedef ssize_t write_fn(int, const void *, size_t);
typedef ssize_t pwrite_fn(int, const void *, size_t, off_t);
typedef ssize_t read_fn(int, void *, size_t);
typedef ssize_t pread_fn(int, void *, size_t, off_t);
typedef int fsync_fn(int);
typedef int rename_fn(const char *, const char *);
typedef int renameat_fn(int, const char *, int, const char *);
typedef int renameat2_fn(int, const char *, int, const char *, unsigned);
typedef int clock_fn(clockid_t, struct timespec *);

ssize_t write(int fd, const void *data, size_t len)
{
	NEXT(write_fn *, "write");
	FAIL_AT("write", fd);
	return next(fd, data, len);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	NEXT(pwrite_fn *, "pwrite");
	FAIL_AT("write", fd);
	return next(fd, data, len, at);
}

ssize_t read(int fd, void *data, size_t len)
{
	NEXT(read_fn *, "read");
	FAIL_AT("read", fd);
	return next(fd, data, len);
}

ssize_t pread(int fd, void *data, size_t len, off_t at)
{
	NEXT(pread_fn *, "pread");
	FAIL_AT("read", fd);
	return next(fd, data, len, at);
}

int fsync(int fd)
{
	NEXT(fsync_fn *, "fsync");
	FAIL_AT("fsync", fd);
	return next(fd);
}

int rename(const char *from, const char *to)
{
	const int fault = fault_of("rename", to);
	NEXT(rename_fn *, "rename");

	return fault != 0 ? (errno = fault, -1) : next(from, to);
}

/* A name relative to a directory is looked for in that. */
static int fault_below(int dir, const char *to)
{
	return to[0] == '/' ? fault_of("rename", to) : fault_at("rename", dir);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	const int fault = fault_below(to_dir, to);
	NEXT(renameat_fn *, "renameat");

	return fault != 0 ? (errno = fault, -1) : next(from_dir, from, to_dir, to);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	const int fault = fault_below(to_dir, to);
	NEXT(renameat2_fn *, "renameat2");

	return fault != 0 ? (errno = fault, -1) : next(from_dir, from, to_dir, to, flags);
}

/* ---- clocks ---- */

static time_t jump(void)
{
	char text[TEXT_MAX];

	return read_text("TW_CLOCK", text) ? (time_t)strtoll(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
	NEXT(clock_fn *, "clock_gettime");
	const int rc = next(clock, out);

	if (rc == 0 && clock == CLOCK_REALTIME)
		out->tv_sec += jump();
	return rc;
}

time_t time(time_t *out)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (out != NULL)
		*out = t.tv_sec;
	return t.tv_sec;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
	struct timespec t;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &t);
	*out = (struct timeval){ .tv_sec = t.tv_sec, .tv_usec = t.tv_nsec / 1000 };
	return 0;
}
