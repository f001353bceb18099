/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/engage/engage_others.h"

#include "collector/system/proc_stat.h"
#include "collector/workloads/tasks.h"
#include "lib/core/clock.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_MAX 2048
#define PROCESSES_MAX ((size_t)1 << 22)
/* comm of tw-collector, whose work is part of every phase. */
#define COLLECTOR "tw-collector"

struct tw_others_process {
	uint32_t pid;
	uint64_t start_ns, cpu_ns;
	char comm[16];
};

static int add(struct tw_others *o, const struct tw_task *t, struct tw_err *err)
{
	struct tw_others_process *p;

	if (o->count == o->size) {
		const size_t size = o->size > 0 ? 2 * o->size : 256;
		void *more = NULL;

		if (size <= PROCESSES_MAX)
			more = realloc(o->at, size * sizeof(*o->at));
		if (more == NULL)
			return tw_fail(err, TW_NOMEM, "%zu processes", size);
		o->at = more;
		o->size = size;
	}
	p = &o->at[o->count++];
	*p = (struct tw_others_process){ .pid = t->tgid,
					 .start_ns = t->start_ns,
					 .cpu_ns = t->cpu_ns };
	snprintf(p->comm, sizeof(p->comm), "%.*s", (int)strnlen(t->comm, sizeof(t->comm)),
		 t->comm);
	/* Names go to reports and terminals. */
	for (char *c = p->comm; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	const struct tw_others_process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

int tw_others_look(struct tw_others *o, struct tw_err *err)
{
	DIR *dir = opendir("/proc");
	const uint32_t ticks_per_s = tw_proc_ticks_per_s();
	const struct dirent *d;
	int rc = -1;

	*o = (struct tw_others){ .time_ns = tw_now_ns() };
	if (dir == NULL)
		return tw_fail_errno(err, errno, "cannot open '/proc'");
	while ((d = readdir(dir)) != NULL) {
		char path[300], text[STAT_MAX];
		struct tw_err gone = { 0 };
		struct tw_task t;
		uint64_t pid;
		size_t len;

		if (!tw_parse_u64(d->d_name, strlen(d->d_name), &pid))
			continue;
		/* A process that exits meanwhile is no error. */
		snprintf(path, sizeof(path), "%s/stat", d->d_name);
		if (tw_file_read_at(dirfd(dir), path, text, sizeof(text), &len, &gone) <
			    0 ||
		    tw_proc_stat_parse(text, len, ticks_per_s, &t, &gone) < 0)
			continue;
		if (add(o, &t, err) < 0)
			goto out;
	}
	if (o->count > 0)
		qsort(o->at, o->count, sizeof(*o->at), by_pid);
	rc = 0;
out:
	closedir(dir);
	if (rc < 0)
		tw_others_release(o);
	return rc;
}

static bool is_other(const struct tw_others_process *p, pid_t group)
{
	return p->pid != (uint32_t)getpid() && strcmp(p->comm, COLLECTOR) != 0 &&
	       (group == 0 || getpgid((pid_t)p->pid) != group);
}

/* CPU time since the first look; all of it if the process began later. */
static uint64_t used_ns(const struct tw_others *first, const struct tw_others_process *p)
{
	const struct tw_others_process *was = NULL;

	if (first->count > 0)
		was = bsearch(p, first->at, first->count, sizeof(*p), by_pid);
	if (was == NULL || was->start_ns != p->start_ns)
		return p->cpu_ns;
	return p->cpu_ns > was->cpu_ns ? p->cpu_ns - was->cpu_ns : 0;
}

int tw_others_compare(const struct tw_others *first, pid_t group,
		      struct tw_others_use *out, struct tw_err *err)
{
	struct tw_others now;
	struct tw_others_use use = { 0 };
	double span_ns;

	if (tw_others_look(&now, err) < 0)
		return -1;
	span_ns = (double)(now.time_ns - first->time_ns) + 1;
	for (size_t i = 0; i < now.count; i++) {
		const double cpus = (double)used_ns(first, &now.at[i]) / span_ns;

		if (!is_other(&now.at[i], group))
			continue;
		use.cpus += cpus;
		if (cpus > use.most_cpus) {
			use.most_cpus = cpus;
			memcpy(use.most, now.at[i].comm, sizeof(use.most));
		}
	}
	tw_others_release(&now);
	*out = use;
	return 0;
}

void tw_others_release(struct tw_others *o)
{
	free(o->at);
	*o = (struct tw_others){ 0 };
}
