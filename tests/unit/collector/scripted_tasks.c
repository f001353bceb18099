/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/collector/scripted_tasks.h"

#include "lib/core/err.h"
#include "tests/unit/tw_test.h"

struct told script[SCRIPT_MAX];
size_t script_len;
bool script_fails;
struct tw_task_stats script_stats;

static int open_script(const struct tw_task_config *c, void **state, struct tw_err *err)
{
	(void)c;
	(void)err;
	*state = script;
	return 0;
}

static void tell(const struct tw_task_sink *sink, bool living)
{
	for (size_t i = 0; i < script_len; i++) {
		const struct told *e = &script[i];
		const struct tw_task_overflow o = { .cpu_ns = e->task.cpu_ns,
						    .ended = e->task.tgid };

		if (e->kind == ALIVE && living)
			sink->alive(sink->arg, &e->task);
		else if (e->kind == ENDED)
			sink->ended(sink->arg, &e->task);
		else if (e->kind == LEFT)
			sink->left(sink->arg, &e->task);
		else if (e->kind == LATE)
			sink->late(sink->arg, &e->task, e->more_ns);
		else if (e->kind == MOVED)
			sink->moved(sink->arg, &e->task);
		else if (e->kind == CGROUP)
			sink->cgroup(sink->arg, e->task.cgroup_id, e->path);
		else if (e->kind == OVERFLOW)
			sink->overflowed(sink->arg, e->task.cgroup_id, &o);
	}
	script_len = 0;
}

static int read_script(void *state, const struct tw_task_sink *sink, struct tw_err *err)
{
	(void)state;
	if (script_fails)
		return tw_fail(err, TW_IO, "no tasks");
	tell(sink, true);
	return 0;
}

static void drain_script(void *state, const struct tw_task_sink *sink)
{
	(void)state;
	tell(sink, false);
}

static int no_fd(const void *state)
{
	(void)state;
	return -1;
}

static void stats_of_script(const void *state, struct tw_task_stats *out)
{
	(void)state;
	*out = script_stats;
}

static void close_script(void *state)
{
	(void)state;
}

const struct tw_task_source scripted_tasks = {
	.name = "scripted",
	.reports_exits = true,
	.open = open_script,
	.read = read_script,
	.fd = no_fd,
	.drain = drain_script,
	.stats = stats_of_script,
	.close = close_script,
};

void say(enum told_kind kind, uint32_t tgid, uint64_t start, uint64_t cgroup,
	 uint64_t cpu_ns)
{
	assert_true(script_len < SCRIPT_MAX);
	script[script_len++] = (struct told){
		.kind = kind,
		.task = { .tgid = tgid,
			  .start_ns = start,
			  .cgroup_id = cgroup,
			  .cpu_ns = cpu_ns,
			  .comm = "task" },
	};
}

void say_path(uint64_t cgroup, const char *path)
{
	say(CGROUP, 0, 0, cgroup, 0);
	script[script_len - 1].path = path;
}
