/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tw-ask polls a slow service for the collector that started it (lib/ask/ask.h).
 *
 * It is two processes. The child polls the service. The parent reads no network input,
 * and restarts the child if it crashes.
 */
#include "collector/ask/ask_filter.h"
#include "collector/ask/ask_job.h"
#include "collector/system/privilege.h"
#include "lib/ask/helper.h"
#include "lib/core/err.h"
#include "lib/json/json.h"
#include "lib/program/log.h"
#include "lib/program/opt.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESTART_MIN_MS 1000
#define RESTART_MAX_MS 60000

static int read_settings(int fd, json_t **out, struct tw_err *err)
{
	char *text = malloc(TW_ASK_SETTINGS_MAX);
	ssize_t n;
	int rc = -1;

	if (text == NULL)
		return tw_fail(err, TW_NOMEM, "settings");
	do
		n = recv(fd, text, TW_ASK_SETTINGS_MAX, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		tw_fail_errno(err, errno, "cannot read the settings");
		goto out;
	}
	if (tw_json_parse(text, (size_t)n, "settings", out, err) < 0)
		goto out;

	rc = 0;
out:
	free(text);
	return rc;
}

/*
 * Ignore signals: closing the socket ends this program. A service manager that signals
 * all processes at once must leave the time to log out.
 */
static void ignore_signals(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

struct service {
	const struct tw_ask_job *job;
	void *state;
	int fd;
	bool filter;
};

/* The child. It shares what the parent opened and allocated. */
static _Noreturn void ask(const struct service *s, pid_t parent)
{
	struct tw_err err = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (s->filter && tw_ask_filter_install(TW_ASK_ASKS, s->job->net, &err) < 0)
		_exit(1);
	if (getppid() == parent)
		tw_ask_job_run(s->job, s->state, s->fd);
	_exit(0);
}

/* Run the child once. 0: it exited normally. */
static int run_once(const struct service *s, struct tw_err *err)
{
	const pid_t parent = getpid();
	const pid_t pid = fork();
	int status;

	if (pid < 0)
		return tw_fail_errno(err, errno, "cannot fork");
	if (pid == 0)
		ask(s, parent);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return tw_fail_errno(err, errno, "waitpid");
	if (WIFSIGNALED(status))
		return tw_fail(err, TW_IO, "the helper died of signal %d, restarting it",
			       WTERMSIG(status));
	return WEXITSTATUS(status) == 0
		       ? 0
		       : tw_fail(err, TW_IO, "the helper failed, restarting it");
}

static void run_forever(const struct service *s)
{
	unsigned failures = 0;

	for (;;) {
		struct tw_err why = { 0 };

		if (run_once(s, &why) == 0)
			return;
		failures++;
		if (!tw_ask_send_failure(s->fd, &why, false) ||
		    !tw_ask_pause(
			    s->fd,
			    tw_ask_backoff_ms(failures, RESTART_MIN_MS, RESTART_MAX_MS),
			    RESTART_MAX_MS))
			return;
	}
}

static int drop_rights(const json_t *settings, struct service *s, struct tw_err *err)
{
	struct tw_privilege p = { .user = NULL };

	if (tw_json_text(settings, "settings", "user", true, &p.user, err) < 0 ||
	    tw_json_bool(settings, "settings", "filter", true, &s->filter, err) < 0 ||
	    tw_privilege_drop(&p, err) < 0)
		return -1;
	return s->filter ? tw_ask_filter_install(TW_ASK_KEEPS, s->job->net, err) : 0;
}

static int serve(int fd, struct tw_err *err)
{
	struct service s = { .fd = fd };
	const char *name;
	long long log_format = TW_LOG_LOGFMT;
	json_t *settings = NULL;
	int rc = -1;

	ignore_signals();
	if (read_settings(fd, &settings, err) < 0 ||
	    tw_json_text(settings, "settings", "job", false, &name, err) < 0 ||
	    tw_json_int(settings, "settings", "log_format", true, TW_LOG_LOGFMT,
			TW_LOG_JSON, &log_format, err) < 0)
		goto out;
	tw_log_init("tw-ask", TW_LOG_INFO, (enum tw_log_format)log_format);
	s.job = tw_ask_job_find(name);
	if (s.job == NULL) {
		tw_fail(err, TW_NOTFOUND, "no job '%.32s'", name);
		goto out;
	}
	/* A failure of open() is final: without rights it would fail again. */
	if (tw_ask_job_open(s.job, settings, &s.state, err) < 0 ||
	    drop_rights(settings, &s, err) < 0) {
		tw_ask_send_failure(fd, err, true);
	} else {
		if (s.job->once)
			tw_ask_job_run(s.job, s.state, fd);
		else
			run_forever(&s);
		rc = 0;
	}
	tw_ask_job_close(s.job, s.state);
out:
	json_decref(settings);
	return rc;
}

int main(int argc, char **argv)
{
	struct tw_err err = { 0 };

	(void)argv;
	if (argc > 1) {
		fprintf(stderr,
			"tw-ask: takes no arguments: the Tallywatt daemons start it\n");
		return TW_EXIT_USAGE;
	}
	/* It was executed by the number of a descriptor, which would be its name. */
	prctl(PR_SET_NAME, TW_ASK_PROGRAM);
	if (serve(STDIN_FILENO, &err) < 0) {
		fprintf(stderr, "tw-ask: %s\n", err.text);
		return TW_EXIT_FAILED;
	}
	return TW_EXIT_OK;
}
