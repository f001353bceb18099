/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/process.h"
#include "collector/system/roots.h"
#include "collector/workloads/tasks.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAT_MAX 2048

struct proc {
	DIR *dir;
	uint32_t ticks_per_s;
	uint64_t unreadable;
};

static void close_proc(void *state)
{
	struct proc *p = state;

	if (p == NULL)
		return;
	if (p->dir != NULL)
		closedir(p->dir);
	free(p);
}

static int open_proc(const struct tw_task_config *c, void **state, struct tw_err *err)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return tw_fail(err, TW_NOMEM, "processes of '%s'", c->roots->proc);
	p->ticks_per_s = tw_proc_ticks_per_s();
	p->dir = opendir(c->roots->proc);
	if (p->dir == NULL) {
		tw_fail_errno(err, errno, "cannot open '%s'", c->roots->proc);
		close_proc(p);
		return -1;
	}
	*state = p;
	return 0;
}

/*
 * Whether the error is a shortage of this process or the machine, not of the process that
 * is read.
 */
static bool is_shortage(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM;
}

/* A process that exits while it is read does not count as unreadable. */
static int read_process(struct proc *p, const char *pid, const struct tw_task_sink *sink,
			struct tw_err *err)
{
	struct tw_err why = { 0 };
	char path[32], text[STAT_MAX];
	struct tw_task t;
	size_t len;

	snprintf(path, sizeof(path), "%.10s/stat", pid);
	errno = 0;
	if (tw_file_read_at(dirfd(p->dir), path, text, sizeof(text), &len, &why) < 0 &&
	    is_shortage(errno))
		return tw_fail_errno(err, errno, "cannot read '%s'", path);
	if (why.code != TW_OK ||
	    tw_proc_stat_parse(text, len, p->ticks_per_s, &t, &why) < 0) {
		p->unreadable += why.code == TW_DENIED || why.code == TW_PARSE;
		return 0;
	}
	if (sink->alive != NULL)
		sink->alive(sink->arg, &t);
	return 0;
}

static int read_proc(void *state, const struct tw_task_sink *sink, struct tw_err *err)
{
	struct proc *p = state;
	const struct dirent *d;
	uint64_t pid;

	rewinddir(p->dir);
	while (errno = 0, (d = readdir(p->dir)) != NULL)
		if (tw_parse_u64(d->d_name, strlen(d->d_name), &pid) &&
		    read_process(p, d->d_name, sink, err) < 0)
			return -1;
	if (errno != 0)
		return tw_fail_errno(err, errno, "cannot read the list of processes");
	return 0;
}

static void stats_of_proc(const void *state, struct tw_task_stats *out)
{
	const struct proc *p = state;

	*out = (struct tw_task_stats){ .unreadable = p->unreadable };
}

const struct tw_task_source tw_task_source_proc = {
	.name = "proc",
	.summary =
		"/proc/PID/stat: resolution 10 ms, misses processes that begin and exit "
		"between two ticks, 10 to 20 us a task",
	.reports_exits = false,
	.open = open_proc,
	.read = read_proc,
	.stats = stats_of_proc,
	.close = close_proc,
};
