/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ask/helper.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int path_beside(char **out, struct tw_err *err)
{
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n < 0)
		return tw_fail_errno(err, errno, "/proc/self/exe");
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash == NULL)
		return tw_fail(err, TW_NOTFOUND, "/proc/self/exe: '%s' is not a path",
			       self);
	*slash = '\0';
	return tw_path_join(out, err, self, TW_ASK_PROGRAM, NULL);
}

/* The path beside this program, or that of `make install` if there is no such file. */
static int find(char **out, struct tw_err *err)
{
	struct tw_err unknown = { 0 };
	char *path = NULL;

	if (path_beside(&path, &unknown) == 0 && access(path, X_OK) == 0) {
		*out = path;
		return 0;
	}
	free(path);
	return tw_path_join(out, err, TW_LIBEXEC, TW_ASK_PROGRAM, NULL);
}

/* Copy a file into memory, where every user may execute it. -1: errno says why. */
static int copy_into_memory(const char *path, off_t size)
{
	const int to = tw_file_in_memory(TW_ASK_PROGRAM, true);
	const int from = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;
	int e;

	while (from >= 0 && to >= 0 && size > 0 && n > 0) {
		n = sendfile(to, from, NULL, (size_t)size);
		size -= n > 0 ? n : 0;
	}
	e = n == 0 ? EIO : errno;
	if (from >= 0)
		close(from);
	if (to >= 0 && size == 0)
		return to;
	if (to >= 0)
		close(to);
	errno = e;
	return -1;
}

static int open_program(const char *path, struct tw_err *err)
{
	struct stat st;
	int fd, high;

	if (access(path, X_OK) < 0 || stat(path, &st) < 0)
		return tw_fail_errno(err, errno, "cannot run '%s'", path);
	if (geteuid() == 0 && (st.st_mode & S_IXOTH) == 0) {
		fd = copy_into_memory(path, st.st_size);
		if (fd < 0)
			return tw_fail_errno(
				err, errno,
				"'%s' is only root's, and cannot be copied into memory",
				path);
	} else {
		fd = open(path, O_PATH | O_CLOEXEC);
	}
	if (fd > TW_ASK_FILE)
		return fd;
	/* The helper's own files take the low numbers before it starts. */
	high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, TW_ASK_FILE + 1);
	if (high < 0)
		tw_fail_errno(err, errno, "cannot run '%s'", path);
	if (fd >= 0)
		close(fd);
	return high;
}

int tw_helper_program_open(const char *path, struct tw_helper_program *out,
			   struct tw_err *err)
{
	struct tw_helper_program p = { .fd = -1 };

	if (path == NULL) {
		if (find(&p.path, err) < 0)
			return -1;
	} else {
		p.path = strdup(path);
		if (p.path == NULL)
			return tw_fail(err, TW_NOMEM, "'%s'", path);
	}
	p.fd = open_program(p.path, err);
	if (p.fd < 0) {
		free(p.path);
		return -1;
	}
	*out = p;
	return 0;
}

void tw_helper_program_close(struct tw_helper_program *p)
{
	if (p->path == NULL)
		return;
	close(p->fd);
	free(p->path);
	*p = (struct tw_helper_program){ .fd = -1 };
}

/* Errors go where those of this program go. */
static int set_files(posix_spawn_file_actions_t *actions, int fd, int file)
{
	int e = posix_spawn_file_actions_adddup2(actions, fd, STDIN_FILENO);

	if (e == 0)
		e = posix_spawn_file_actions_adddup2(actions, fd, STDOUT_FILENO);
	if (e == 0 && file >= 0)
		e = posix_spawn_file_actions_adddup2(actions, file, TW_ASK_FILE);
	return e;
}

static int set_signals(posix_spawnattr_t *attr)
{
	sigset_t none, ignored;
	int e;

	sigemptyset(&none);
	sigemptyset(&ignored);
	sigaddset(&ignored, SIGPIPE);
	e = posix_spawnattr_setsigmask(attr, &none);
	if (e == 0)
		e = posix_spawnattr_setsigdefault(attr, &ignored);
	if (e == 0)
		e = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK |
							   POSIX_SPAWN_SETSIGDEF);
	return e;
}

/* Returns 0 or an errno value. */
static int spawn(const struct tw_helper_program *program, int fd, int file, pid_t *pid)
{
	char name[] = TW_ASK_PROGRAM, path[sizeof("/proc/self/fd/") + 11];
	char *argv[] = { name, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int e;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return ENOMEM;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", program->fd);
	e = set_files(&actions, fd, file);
	if (e == 0)
		e = set_signals(&attr);
	if (e == 0)
		e = posix_spawn(pid, path, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return e;
}

static int send_settings(int fd, const json_t *settings, struct tw_err *err)
{
	struct tw_buf b = { 0 };
	int rc = -1;

	tw_buf_add_json(&b, settings);
	if (tw_buf_failed(&b))
		tw_fail(err, TW_NOMEM, "settings");
	else if (b.len > TW_ASK_SETTINGS_MAX)
		tw_fail(err, TW_INVALID, "settings of %zu bytes", b.len);
	else if (send(fd, b.data, b.len, MSG_NOSIGNAL) != (ssize_t)b.len)
		tw_fail_errno(err, errno, "cannot send settings to '%s'", TW_ASK_PROGRAM);
	else
		rc = 0;
	tw_buf_clear(&b);
	return rc;
}

int tw_helper_start(const struct tw_helper_program *program, const json_t *settings,
		    int file, struct tw_helper *out, struct tw_err *err)
{
	int ends[2], e;

	*out = (struct tw_helper){ .fd = -1 };
	if (settings == NULL)
		return tw_fail(err, TW_NOMEM, "settings");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return tw_fail_errno(err, errno, "cannot make a socket");
	out->fd = ends[0];
	e = spawn(program, ends[1], file, &out->pid);
	close(ends[1]);
	if (e != 0) {
		out->pid = 0;
		return tw_fail_errno(err, e, "cannot start '%s'", program->path);
	}
	return send_settings(out->fd, settings, err);
}

void tw_helper_end(struct tw_helper *h)
{
	if (h->fd >= 0)
		close(h->fd);
	if (h->pid > 0)
		kill(h->pid, SIGKILL);
	while (h->pid > 0 && waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*h = (struct tw_helper){ .fd = -1 };
}
