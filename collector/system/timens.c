/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/system/timens.h"

#include "lib/core/err.h"
#include "lib/core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 512
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
	char text[TEXT_MAX];
	size_t len;

	if (tw_file_read_at(AT_FDCWD, path, text, sizeof(text), &len, &err) < 0)
		return (struct tw_clock_offsets){ 0, 0 };
	return tw_clock_offsets_parse(text);
}
