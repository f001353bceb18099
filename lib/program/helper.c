/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/helper.h"

#include "lib/core/err.h"
#include "lib/core/file.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int path_beside(const char *name, char **out, struct tw_err *err)
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
	return tw_path_join(out, err, self, name, NULL);
}

int tw_helper_find(const char *name, char **out, struct tw_err *err)
{
	struct tw_err unknown = { 0 };
	char *path = NULL;

	if (path_beside(name, &path, &unknown) < 0 || access(path, X_OK) < 0) {
		free(path);
		path = NULL;
		if (tw_path_join(&path, err, TW_LIBEXEC, name, NULL) < 0)
			return -1;
	}
	*out = path;
	return 0;
}

static int set_files(posix_spawn_file_actions_t *actions, const int *file, size_t files)
{
	int e = 0;

	for (size_t i = 0; e == 0 && i < files; i++)
		e = posix_spawn_file_actions_adddup2(actions, file[i], (int)i);
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

int tw_helper_start(const char *program, const char *name, const int *file, size_t files,
		    pid_t *pid)
{
	/* posix_spawn() takes no const argv, but does not write to it. */
	char *argv[] = { (char *)(uintptr_t)name, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int e;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return ENOMEM;
	}
	e = set_files(&actions, file, files);
	if (e == 0)
		e = set_signals(&attr);
	if (e == 0)
		e = posix_spawn(pid, program, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return e;
}
