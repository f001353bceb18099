/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/workloads/cgroup_use.h"

#include "collector/system/proc_stat.h"
#include "collector/workloads/cgroup.h"
#include "lib/core/num.h"

#include <string.h>

#define TEXT_MAX 16384

/* Where a figure is: one number, or a line of many; in micros, bytes, or what is below.
 */
struct place {
	bool memory;
	const char *file;
	const char *key; /* NULL: the file is the number */
	enum { AS_IT_IS, NANOS, TICKS } unit;
};

#define SLACK TW_CGROUP_FIGURES /* what is no figure: taken off the working set */

static const struct place v2[TW_CGROUP_FIGURES + 1] = {
	[TW_CGROUP_CPU_US] = { false, "cpu.stat", "usage_usec", AS_IT_IS },
	[TW_CGROUP_USER_US] = { false, "cpu.stat", "user_usec", AS_IT_IS },
	[TW_CGROUP_SYSTEM_US] = { false, "cpu.stat", "system_usec", AS_IT_IS },
	[TW_CGROUP_MEMORY_BYTES] = { true, "memory.current", NULL, AS_IT_IS },
	[TW_CGROUP_WORKING_SET_BYTES] = { true, "memory.current", NULL, AS_IT_IS },
	[SLACK] = { true, "memory.stat", "inactive_file", AS_IT_IS },
};

static const struct place v1[TW_CGROUP_FIGURES + 1] = {
	[TW_CGROUP_CPU_US] = { false, "cpuacct.usage", NULL, NANOS },
	[TW_CGROUP_USER_US] = { false, "cpuacct.stat", "user", TICKS },
	[TW_CGROUP_SYSTEM_US] = { false, "cpuacct.stat", "system", TICKS },
	[TW_CGROUP_MEMORY_BYTES] = { true, "memory.usage_in_bytes", NULL, AS_IT_IS },
	[TW_CGROUP_WORKING_SET_BYTES] = { true, "memory.usage_in_bytes", NULL, AS_IT_IS },
	[SLACK] = { true, "memory.stat", "total_inactive_file", AS_IT_IS },
};

bool tw_cgroup_stat_find(const char *text, size_t len, const char *key, uint64_t *out)
{
	const size_t n = strlen(key);
	const char *end = text + len;

	for (const char *line = text, *next; line < end; line = next) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));

		stop = stop != NULL ? stop : end;
		next = stop < end ? stop + 1 : end;
		if ((size_t)(stop - line) > n && memcmp(line, key, n) == 0 &&
		    line[n] == ' ')
			return tw_parse_u64(line + n + 1, (size_t)(stop - line) - n - 1,
					    out);
	}
	return false;
}

static bool in_micros(const struct place *p, uint64_t value, uint64_t *out)
{
	const uint64_t tick_us = 1000000 / (uint64_t)tw_proc_ticks_per_s();

	if (p->unit == TICKS && value > UINT64_MAX / tick_us)
		return false;
	*out = p->unit == TICKS   ? value * tick_us
	       : p->unit == NANOS ? value / 1000
				  : value;
	return true;
}

static bool read_place(const struct tw_cgroup_tree *t, const char *path,
		       const struct place *p, uint64_t *out)
{
	char text[TEXT_MAX];
	uint64_t value;
	size_t len;

	if (!tw_cgroup_tree_read(t, p->memory, path, p->file, text, sizeof(text), &len))
		return false;
	if (p->key == NULL && len > 0 && text[len - 1] == '\n')
		len--;
	return (p->key != NULL ? tw_cgroup_stat_find(text, len, p->key, &value)
			       : tw_parse_u64(text, len, &value)) &&
	       in_micros(p, value, out);
}

void tw_cgroup_use_read(const struct tw_cgroup_tree *t, const char *path,
			struct tw_cgroup_use *out)
{
	const struct place *places = tw_cgroup_tree_is_v1(t) ? v1 : v2;
	uint64_t *set = &out->of[TW_CGROUP_WORKING_SET_BYTES], slack;

	for (int i = 0; i < TW_CGROUP_FIGURES; i++)
		out->known[i] = read_place(t, path, &places[i], &out->of[i]);
	/* Both change in between. */
	if (out->known[TW_CGROUP_WORKING_SET_BYTES] &&
	    read_place(t, path, &places[SLACK], &slack))
		*set = *set > slack ? *set - slack : 0;
	else
		out->known[TW_CGROUP_WORKING_SET_BYTES] = false;
}
