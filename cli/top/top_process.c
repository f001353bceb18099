/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_process.h"

#include "lib/core/array.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PATH_BYTES 4096

bool tw_top_is_here(const char *url, const char *node)
{
	static const char *const loopback[] = { "127.", "localhost", "[::1]" };
	const char *host = strstr(url, "://");
	struct utsname u;

	if (host == NULL || uname(&u) < 0 || strcmp(u.nodename, node) != 0)
		return false;
	for (size_t i = 0; i < TW_COUNT(loopback); i++)
		if (strncmp(host + 3, loopback[i], strlen(loopback[i])) == 0)
			return true;
	return false;
}

/* Read the beginning of a file of a process. Return its length, or -1. */
static ssize_t read_text(const char *proc, const char *pid, const char *file, char *text,
			 size_t size)
{
	char path[PATH_BYTES];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "%s/%s/%s", proc, pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	len = read(fd, text, size - 1);
	close(fd);
	if (len >= 0)
		text[len] = '\0';
	return len;
}

/*
 * Whether the process has the command that name begins with, before two blanks. A kernel
 * thread may append its work to the command in /proc: kworker/0:1-events.
 */
static bool has_command(const char *proc, const char *pid, const char *name, bool kernel)
{
	const char *end = strstr(name, "  ");
	char comm[80];
	size_t len;

	if (read_text(proc, pid, "comm", comm, sizeof(comm)) < 0)
		return false;
	len = strcspn(comm, "\n");
	if (kernel && end != NULL && end != name &&
	    strncmp(name, comm, (size_t)(end - name)) == 0)
		return true;
	return strncmp(name, comm, len) == 0 && strncmp(name + len, "  ", 2) == 0;
}

static void name_user(uid_t uid, char user[TW_TOP_USER])
{
	/* Most rows have the user of the previous row. */
	static char last[TW_TOP_USER];
	static uid_t last_uid = (uid_t)-1;

	if (uid != last_uid) {
		const struct passwd *pw = getpwuid(uid);

		if (pw != NULL)
			snprintf(last, sizeof(last), "%.8s", pw->pw_name);
		else
			snprintf(last, sizeof(last), "%u", (unsigned)uid);
		last_uid = uid;
	}
	memcpy(user, last, TW_TOP_USER);
}

bool tw_top_process_read(const char *proc, const char *pid, const char *name,
			 struct tw_top_process *out)
{
	char path[PATH_BYTES];
	const char *program;
	struct stat st;
	ssize_t len;

	snprintf(path, sizeof(path), "%s/%s", proc, pid);
	if (stat(path, &st) < 0)
		return false;
	len = read_text(proc, pid, "cmdline", out->line, sizeof(out->line));
	if (len < 0 || !has_command(proc, pid, name, len == 0))
		return false;
	/*
	 * Cut the folder of the program, because a screen has few columns. Some programs
	 * write all arguments into the first.
	 */
	program = out->line[0] == '/' ? memrchr(out->line, '/', strcspn(out->line, " "))
				      : NULL;
	if (program != NULL) {
		len -= program + 1 - out->line;
		memmove(out->line, program + 1, (size_t)len + 1);
	}
	for (ssize_t i = 0; i + 1 < len; i++)
		if (out->line[i] == '\0')
			out->line[i] = ' ';
	name_user(st.st_uid, out->user);
	return true;
}
