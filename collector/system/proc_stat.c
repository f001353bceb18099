/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/proc_stat.h"

#include "bpf/shared.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Fields by their numbers in proc(5). */
enum {
	FIELD_PPID = 4,
	FIELD_FLAGS = 9,
	FIELD_UTIME = 14,
	FIELD_STIME = 15,
	FIELD_START = 22,
	FIELD_COUNT,
	FIELD_GUEST = 43
};

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000

#define STAT_MAX 2048

uint32_t tw_proc_ticks_per_s(void)
{
	const long ticks = sysconf(_SC_CLK_TCK);

	return ticks > 0 ? (uint32_t)ticks : 100;
}

/* Parse the fields behind the name; false if a field that is used is no number. */
static bool read_fields(const char *p, const char *end, uint64_t field[FIELD_COUNT])
{
	for (int i = 3; i < FIELD_COUNT; i++) {
		const char *word;

		while (p < end && *p == ' ')
			p++;
		word = p;
		while (p < end && *p != ' ' && *p != '\n')
			p++;
		field[i] = 0;
		switch (i) {
		case FIELD_PPID:
		case FIELD_FLAGS:
		case FIELD_UTIME:
		case FIELD_STIME:
		case FIELD_START:
			if (!tw_parse_u64(word, (size_t)(p - word), &field[i]))
				return false;
		}
	}
	return true;
}

/* The name stands between the first '(' and the last ')', and may contain both. */
static const char *read_comm(const char *data, size_t len, struct tw_task *out)
{
	const char *open = memchr(data, '(', len), *close = memrchr(data, ')', len);
	size_t n;

	if (open == NULL || close == NULL || close < open)
		return NULL;
	n = (size_t)(close - open) - 1;
	if (n >= sizeof(out->comm))
		n = sizeof(out->comm) - 1;
	memcpy(out->comm, open + 1, n);
	return close + 1;
}

int tw_proc_stat_parse(const char *data, size_t len, uint32_t ticks_per_s,
		       struct tw_task *out, struct tw_err *err)
{
	const char *space = memchr(data, ' ', len), *rest;
	const uint64_t tick_ns = UINT64_C(1000000000) / ticks_per_s;
	uint64_t field[FIELD_COUNT], tgid = 0;
	struct tw_task t = { 0 };

	rest = read_comm(data, len, &t);
	if (space == NULL || rest == NULL ||
	    !tw_parse_u64(data, (size_t)(space - data), &tgid) || tgid == 0 ||
	    tgid > INT32_MAX || !read_fields(rest, data + len, field) ||
	    field[FIELD_PPID] > INT32_MAX)
		return tw_fail(err, TW_PARSE, "not a line of /proc/PID/stat");
	if (field[FIELD_START] > UINT64_MAX / tick_ns ||
	    field[FIELD_UTIME] > UINT64_MAX / tick_ns / 2 ||
	    field[FIELD_STIME] > UINT64_MAX / tick_ns / 2)
		return tw_fail(err, TW_PARSE, "process %" PRIu64 ": time out of range",
			       tgid);
	t.tgid = (uint32_t)tgid;
	t.parent = (uint32_t)field[FIELD_PPID];
	t.flags = (field[FIELD_FLAGS] & PF_KTHREAD) != 0 ? TW_TASK_KERNEL : 0;
	t.cpu_ns = (field[FIELD_UTIME] + field[FIELD_STIME]) * tick_ns;
	t.start_ns = field[FIELD_START] * tick_ns;
	*out = t;
	return 0;
}

int tw_proc_is(int dir, uint64_t start_ns, struct tw_err *err)
{
	const uint32_t ticks_per_s = tw_proc_ticks_per_s();
	const uint64_t tick_ns = UINT64_C(1000000000) / ticks_per_s;
	struct tw_task t;
	char text[STAT_MAX];
	size_t len;

	if (tw_file_read_at(dir, "stat", text, sizeof(text), &len, err) < 0 ||
	    tw_proc_stat_parse(text, len, ticks_per_s, &t, err) < 0)
		return -1;
	if (t.start_ns / tick_ns != start_ns / tick_ns)
		return tw_fail(err, TW_NOTFOUND, "process %u is another one", t.tgid);
	return 0;
}

bool tw_proc_ran_guest(int dir)
{
	struct tw_err ignored = { 0 };
	char text[STAT_MAX];
	const char *space;
	size_t len;

	if (tw_file_read_at(dir, "stat", text, sizeof(text), &len, &ignored) < 0)
		return false;
	space = strrchr(text, ')');
	for (int i = 2; i < FIELD_GUEST && space != NULL; i++)
		space = strchr(space + 1, ' ');
	return space != NULL && space[1] >= '1' && space[1] <= '9';
}
