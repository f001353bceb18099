/* SPDX-License-Identifier: Apache-2.0 */
#include "profiler/load.h"

#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* stress-ng removes its files within this time, else it is killed. */
#define END_MS 5000
#define LOOK_MS 10

bool tw_load_has_stress(void)
{
	const char *path = getenv("PATH");
	char file[4096];

	while (path != NULL && *path != '\0') {
		const size_t len = strcspn(path, ":");

		if (len > 0 && len + sizeof("/stress-ng") <= sizeof(file)) {
			snprintf(file, sizeof(file), "%.*s/stress-ng", (int)len, path);
			if (access(file, X_OK) == 0)
				return true;
		}
		path += len + (path[len] == ':');
	}
	return false;
}

/*
 * In the child: join the group, exit with the parent, unblock signals, leave the
 * terminal. stress-ng complains on stderr that it ends early; its status tells of
 * failures.
 */
static void settle_in(pid_t group, pid_t parent, int signal_at_end)
{
	const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	setpgid(0, group);
	prctl(PR_SET_PDEATHSIG, signal_at_end);
	if (getppid() != parent)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (fd >= 0) {
		dup2(fd, STDIN_FILENO);
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
	}
}

static _Noreturn void run_stress(const struct tw_strs *args)
{
	char **argv = calloc(args->count + 1, sizeof(*argv));

	if (argv == NULL)
		_exit(1);
	memcpy(argv, args->at, args->count * sizeof(*argv));
	execvp(argv[0], argv);
	_exit(127);
}

/* Start one process. args: of stress-ng, or NULL. */
static int start(const struct tw_planned *p, const struct tw_load_config *c,
		 const struct tw_strs *args, struct tw_load *l, struct tw_err *err)
{
	const pid_t parent = getpid(), group = tw_load_group(l);
	const pid_t pid = fork();

	if (pid < 0)
		return tw_fail_errno(err, errno, "cannot start workload '%s'", p->name);
	if (pid == 0) {
		settle_in(group, parent, args != NULL ? SIGTERM : SIGKILL);
		if (args != NULL)
			run_stress(args);
		if (p->pace.steps > 0)
			tw_spinner_pace(p->spin, &p->pace);
		tw_spinner_run(p->spin, p->load_percent, (unsigned)l->count, c->dir);
	}
	/*
	 * Set it in the parent, too, so that the group exists before the next process
	 * joins it.
	 */
	setpgid(pid, group);
	l->pid[l->count++] = pid;
	return 0;
}

int tw_load_start(const struct tw_planned *p, const struct tw_load_config *c,
		  struct tw_load *out, struct tw_err *err)
{
	const unsigned count = c->stress                  ? 1
			       : p->spin == TW_SPIN_MIXED ? 4
							  : tw_planned_cpus(p, c->cpus);
	struct tw_load l = { 0 };
	struct tw_strs args = { 0 };
	int rc = -1;

	*out = l;
	if (p->spin == TW_SPIN_NONE)
		return 0;
	l.pid = calloc(count, sizeof(*l.pid));
	if (l.pid == NULL) {
		tw_fail(err, TW_NOMEM, "workload '%s'", p->name);
		goto out;
	}
	if (c->stress &&
	    tw_planned_stress(p, c->cpus, c->dir, (unsigned)c->limit_s, &args, err) < 0)
		goto out;
	for (unsigned i = 0; i < count; i++)
		if (start(p, c, c->stress ? &args : NULL, &l, err) < 0)
			goto out;
	*out = l;
	l = (struct tw_load){ 0 };
	rc = 0;
out:
	tw_load_end(&l);
	tw_strs_clear(&args);
	return rc;
}

pid_t tw_load_group(const struct tw_load *l)
{
	return l->count > 0 ? l->pid[0] : 0;
}

int tw_load_check(struct tw_load *l, struct tw_err *err)
{
	for (size_t i = 0; i < l->count; i++) {
		siginfo_t info = { 0 };

		/* Leave the process to tw_load_end(), so that the group's number stays.
		 */
		if (waitid(P_PID, (id_t)l->pid[i], &info, WEXITED | WNOHANG | WNOWAIT) <
			    0 ||
		    info.si_pid == 0)
			continue;
		return tw_fail(err, TW_IO, "a process of the workload ended by %s %d",
			       info.si_code == CLD_EXITED ? "status" : "signal",
			       info.si_status);
	}
	return 0;
}

bool tw_load_runs(const struct tw_load *l)
{
	size_t left = 0;

	for (size_t i = 0; i < l->count; i++) {
		siginfo_t info = { 0 };

		if (waitid(P_PID, (id_t)l->pid[i], &info, WEXITED | WNOHANG | WNOWAIT) ==
		    0)
			left += info.si_pid == 0;
	}
	return left > 0;
}

void tw_load_end(struct tw_load *l)
{
	const struct timespec look = { .tv_nsec = LOOK_MS * 1000000L };
	const uint64_t until_ms = tw_now_ms() + END_MS;
	const pid_t group = tw_load_group(l);

	if (group > 0)
		kill(-group, SIGTERM);
	while (tw_load_runs(l) && tw_now_ms() < until_ms)
		nanosleep(&look, NULL);
	/* The leader is not waited for yet, so the number of the group is not reused. */
	if (group > 0)
		kill(-group, SIGKILL);
	for (size_t i = 0; i < l->count; i++)
		while (waitpid(l->pid[i], NULL, 0) < 0 && errno == EINTR)
			;
	free(l->pid);
	*l = (struct tw_load){ 0 };
}
