/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/process.h"

#include "bpf/shared.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/core/num.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fields by their numbers in proc(5). */
enum {
	FIELD_PPID = 4,
	FIELD_FLAGS = 9,
	FIELD_UTIME = 14,
	FIELD_STIME = 15,
	FIELD_START = 22,
	FIELD_COUNT
};

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000

#define STAT_MAX 2048

uint32_t tw_proc_ticks_per_s(void)
{
	const long ticks = sysconf(_SC_CLK_TCK);

	return ticks > 0 ? (uint32_t)ticks : 100;
}

/* Parse the fields behind the name; false if a field that is used is not a number. */
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

/* ---- time namespaces ---- */

#define OFFSETS_MAX 512
#define S INT64_C(1000000000)

/* Linux limits offsets to about 146 years. */
#define SECONDS_MAX (INT64_MAX / S - 1)

/* "NAME  SECONDS  NANOSECONDS", with any number of spaces. */
static int64_t offset_of(const char *text, const char *name)
{
	const size_t len = strlen(name);
	const char *line = text;
	long long seconds, ns;
	char *end;

	while (line != NULL && (strncmp(line, name, len) != 0 || line[len] != ' ')) {
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	if (line == NULL)
		return 0;
	errno = 0;
	seconds = strtoll(line + len, &end, 10);
	if (errno != 0 || *end != ' ' || seconds > SECONDS_MAX || seconds < -SECONDS_MAX)
		return 0;
	ns = strtoll(end, &end, 10);
	if (errno != 0 || (*end != '\n' && *end != '\0') || ns < 0 || ns >= S)
		return 0;
	return seconds * S + ns;
}

struct tw_clock_offsets tw_clock_offsets_parse(const char *text)
{
	return (struct tw_clock_offsets){ .boot_ns = offset_of(text, "boottime"),
					  .monotonic_ns = offset_of(text, "monotonic") };
}

struct tw_clock_offsets tw_clock_offsets(void)
{
	static const char path[] = "/proc/self/timens_offsets";
	struct tw_err err = { 0 };
	char text[OFFSETS_MAX];
	size_t len;

	if (tw_file_read_at(AT_FDCWD, path, text, sizeof(text), &len, &err) < 0)
		return (struct tw_clock_offsets){ 0, 0 };
	return tw_clock_offsets_parse(text);
}
