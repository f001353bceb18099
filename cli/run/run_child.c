/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/run_child.h"

#include "cli/memory.h"
#include "collector/system/process.h"
#include "collector/workloads/cgroup.h"
#include "collector/workloads/tasks.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES 4352
#define STAT_BYTES 1024
#define NAMED_MAX 8
/* Start times in /proc have this resolution. */
#define START_STEP_NS UINT64_C(10000000)

/* ---- signals ---- */

static sigset_t awaited, before;

int tw_run_children_prepare(struct tw_err *err)
{
	/* A parent may have ignored SIGCHLD; the kernel then keeps no exit status. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGCHLD);
	sigaddset(&awaited, SIGTERM);
	sigaddset(&awaited, SIGHUP);
	sigprocmask(SIG_BLOCK, &awaited, &before);
	/* A terminal sends these to the command, too; the report follows its end. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0
		       ? 0
		       : tw_fail_errno(err, errno, "cannot become a reaper");
}

/* ---- the cgroup ---- */

static bool write_pid(const char *dir, const char *pid)
{
	char path[PATH_BYTES + 16];
	int fd;
	bool ok;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ok = write(fd, pid, strlen(pid)) == (ssize_t)strlen(pid);
	close(fd);
	return ok;
}

static void forget_cgroup(struct tw_run_child *c)
{
	free(c->cgroup);
	free(c->home);
	c->cgroup = c->home = NULL;
	c->name[0] = '\0';
}

/* The kernel reads this pid in cgroup.procs as the writing process. */
#define SELF "0"

/*
 * Move this process into a new cgroup below its own, if the user has the right to. The
 * command must begin there: after a tick the collector keeps a process's cgroup for a
 * while.
 */
static void enter_cgroup(struct tw_run_child *c, const struct tw_cgroup_tree *tree,
			 unsigned number)
{
	const char *top = tw_cgroup_tree_top(tree);
	char path[TW_CGROUP_PATH];

	if (top == NULL || !tw_cgroup_tree_own(tree, path))
		return;
	snprintf(c->name, sizeof(c->name), "tallywatt-run-%d-%u", (int)getpid(), number);
	c->home = tw_must_printf("%s%s", top, strcmp(path, "/") != 0 ? path : "");
	c->cgroup = tw_must_printf("%s/%s", c->home, c->name);
	if (strlen(c->cgroup) < PATH_BYTES && mkdir(c->cgroup, 0755) == 0) {
		if (write_pid(c->cgroup, SELF))
			return;
		rmdir(c->cgroup);
	}
	forget_cgroup(c);
}

static void end_cgroup(struct tw_run_child *c)
{
	char path[PATH_BYTES + 16], *text, *line, *rest;
	struct tw_err ignored = { 0 };
	size_t len;

	if (c->cgroup == NULL)
		return;
	snprintf(path, sizeof(path), "%s/cgroup.procs", c->cgroup);
	if (tw_file_read(path, 1 << 20, &text, &len, &ignored) == 0) {
		for (line = strtok_r(text, "\n", &rest); line != NULL;
		     line = strtok_r(NULL, "\n", &rest))
			write_pid(c->home, line);
		free(text);
	}
	/* It stays if the command has made others below it. */
	rmdir(c->cgroup);
	forget_cgroup(c);
}

/* ---- /proc ---- */

struct process {
	uint32_t pid, parent;
	uint64_t start_ns;
	char name[TW_COMM_LEN];
	bool of_tree, was_judged;
};

static bool read_process(const char *name, struct process *out)
{
	struct tw_err ignored = { 0 };
	char path[64], text[STAT_BYTES];
	struct tw_task task;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%.16s/stat", name);
	if (tw_file_read_at(AT_FDCWD, path, text, sizeof(text), &len, &ignored) < 0 ||
	    tw_proc_stat_parse(text, len, tw_proc_ticks_per_s(), &task, &ignored) < 0)
		return false;
	*out = (struct process){ .pid = task.tgid,
				 .parent = task.parent,
				 .start_ns = task.start_ns };
	memcpy(out->name, task.comm, sizeof(out->name));
	return true;
}

/* ---- the process ---- */

static void execute(char *const *argv, int go, int failed)
{
	char byte;
	int why;

	if (read(go, &byte, 1) != 1)
		_exit(127);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	execvp(argv[0], argv);
	why = errno;
	_exit(write(failed, &why, sizeof(why)) < 0 ? 126 : 127);
}

static void remember(struct tw_run_child *c, uint32_t pid)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->pids[i] == pid)
			return;
	tw_must_have(tw_grow(&c->pids, &c->size, c->count, sizeof(*c->pids)));
	c->pids[c->count++] = pid;
}

int tw_run_child_make(char *const *argv, const struct tw_cgroup_tree *tree,
		      unsigned number, struct tw_run_child *out, struct tw_err *err)
{
	int go[2], failed[2];

	*out = (struct tw_run_child){ .go = -1, .failed = -1, .made_ns = tw_boot_ns() };
	if (pipe2(go, O_CLOEXEC) < 0)
		return tw_fail_errno(err, errno, "pipe");
	if (pipe2(failed, O_CLOEXEC) < 0) {
		close(go[0]);
		close(go[1]);
		return tw_fail_errno(err, errno, "pipe");
	}
	if (tree != NULL)
		enter_cgroup(out, tree, number);
	out->pid = fork();
	if (out->pid == 0) {
		/* The end of this process ends the wait, too. */
		close(go[1]);
		execute(argv, go[0], failed[1]);
	}
	if (out->cgroup != NULL)
		write_pid(out->home, SELF);
	close(go[0]);
	close(failed[1]);
	out->go = go[1];
	out->failed = failed[0];
	if (out->pid < 0)
		return tw_fail_errno(err, errno, "cannot start a process");
	remember(out, (uint32_t)out->pid);
	return 0;
}

int tw_run_child_start(struct tw_run_child *c, const char *command, struct tw_err *err)
{
	ssize_t n;
	int why;

	c->began_ns = tw_now_ns();
	if (write(c->go, "", 1) != 1)
		return tw_fail_errno(err, errno, "'%s'", command);
	while ((n = read(c->failed, &why, sizeof(why))) < 0 && errno == EINTR)
		;
	return n == (ssize_t)sizeof(why) ? tw_fail_errno(err, why, "'%s'", command) : 0;
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* Whether a process began during this run: an older one belongs to an earlier run. */
static bool is_new(const struct tw_run_child *c, const struct process *p)
{
	return p->start_ns + START_STEP_NS > c->made_ns;
}

/* Return the pid of a child that has exited, or 0. *of_run: it belongs to this run. */
static pid_t find_ended(const struct tw_run_child *c, bool *of_run)
{
	siginfo_t child = { .si_pid = 0 };
	struct process p;
	char name[16];

	if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) < 0)
		return 0;
	snprintf(name, sizeof(name), "%d", (int)child.si_pid);
	/* Under hidepid, /proc does not show the age of other users' processes. */
	*of_run = child.si_pid == c->pid || !read_process(name, &p) || is_new(c, &p);
	return child.si_pid;
}

/* Reap all children that have exited. Return whether the command is among them. */
static bool reap(struct tw_run_child *c)
{
	bool ended = false, of_run;
	struct rusage used;
	int status;
	pid_t pid;

	while ((pid = find_ended(c, &of_run)) > 0 && wait4(pid, &status, 0, &used) > 0) {
		if (of_run)
			c->cpu_s += seconds(&used.ru_utime) + seconds(&used.ru_stime);
		if (pid != c->pid)
			continue;
		ended = true;
		c->ended_ns = tw_now_ns();
		c->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
						: WEXITSTATUS(status);
	}
	return ended;
}

bool tw_run_child_wait(struct tw_run_child *c, uint64_t ms)
{
	const uint64_t until_ms = tw_now_ms() + ms;

	while (!reap(c)) {
		const uint64_t now_ms = tw_now_ms(),
			       left_ms = now_ms < until_ms ? until_ms - now_ms : 0;
		const struct timespec t = { .tv_sec = (time_t)(left_ms / 1000),
					    .tv_nsec = (long)(left_ms % 1000 * 1000000) };
		const int got = sigtimedwait(&awaited, NULL, &t);

		if (got == SIGTERM || got == SIGHUP) {
			c->stopped = true;
			kill(c->pid, got);
		} else if (got < 0 && errno == EAGAIN && left_ms == 0) {
			return false;
		}
	}
	return true;
}

/* ---- the tree ---- */

static int by_pid(const void *a, const void *b)
{
	const uint32_t x = ((const struct process *)a)->pid,
		       y = ((const struct process *)b)->pid;

	return (x > y) - (x < y);
}

/* The processes of the machine, sorted. */
static size_t read_processes(struct process **out)
{
	const struct dirent *e;
	DIR *d = opendir("/proc");
	size_t count = 0, size = 0;

	*out = NULL;
	while (d != NULL && (e = readdir(d)) != NULL) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		tw_must_have(tw_grow(out, &size, count, sizeof(**out)));
		count += read_process(e->d_name, &(*out)[count]);
	}
	if (d != NULL)
		closedir(d);
	if (count > 0)
		qsort(*out, count, sizeof(**out), by_pid);
	return count;
}

/*
 * Whether a process is in the tree: a child of this process that is_new(), or a child of
 * a process in the tree.
 */
static bool judge(const struct tw_run_child *c, struct process *p, size_t count,
		  struct process *of)
{
	const struct process wanted = { .pid = of->parent };
	struct process *parent;

	if (of->was_judged)
		return of->of_tree;
	/* Set it at once: a pid that was used again could form a cycle. */
	of->was_judged = true;
	if (of->parent == (uint32_t)getpid()) {
		of->of_tree = is_new(c, of);
	} else {
		parent = bsearch(&wanted, p, count, sizeof(*p), by_pid);
		of->of_tree = parent != NULL && judge(c, p, count, parent);
	}
	return of->of_tree;
}

/* True if a process is in another cgroup than that of the command, c->name. */
static bool is_elsewhere(const struct tw_run_child *c, uint32_t pid)
{
	struct tw_err ignored = { 0 };
	char path[64], text[PATH_BYTES];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	return tw_file_read_at(AT_FDCWD, path, text, sizeof(text), &len, &ignored) == 0 &&
	       strstr(text, c->name) == NULL;
}

void tw_run_child_look(struct tw_run_child *c)
{
	struct process *p;
	const size_t count = read_processes(&p);

	for (size_t i = 0; i < count; i++) {
		if (!judge(c, p, count, &p[i]))
			continue;
		remember(c, p[i].pid);
		c->has_left =
			c->has_left || (c->cgroup != NULL && is_elsewhere(c, p[i].pid));
	}
	free(p);
}

size_t tw_run_child_left(struct tw_run_child *c, struct tw_buf *names)
{
	siginfo_t ignored;
	struct process *p;
	size_t count, left = 0;

	reap(c);
	/* Most commands leave no process: then /proc is not read. */
	if (waitid(P_ALL, 0, &ignored, WEXITED | WNOHANG | WNOWAIT) < 0)
		return 0;
	count = read_processes(&p);
	for (size_t i = 0; i < count; i++) {
		if (!judge(c, p, count, &p[i]))
			continue;
		if (left++ < NAMED_MAX)
			tw_buf_addf(names, "%s%s (pid %u)", left > 1 ? ", " : "",
				    p[i].name, p[i].pid);
	}
	if (left > NAMED_MAX)
		tw_buf_adds(names, ", ...");
	free(p);
	return left;
}

void tw_run_child_release(struct tw_run_child *c)
{
	if (c->go >= 0)
		close(c->go);
	if (c->failed >= 0)
		close(c->failed);
	/* A process that never began has ended by now. */
	if (c->pid > 0 && c->ended_ns == 0)
		waitpid(c->pid, NULL, 0);
	end_cgroup(c);
	free(c->pids);
	*c = (struct tw_run_child){ .go = -1, .failed = -1 };
}
