/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/hwmon_device.h"

#include "collector/meters/meter_file.h"
#include "lib/core/err.h"
#include "lib/core/hash.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool tw_hwmon_directory(const char *path, char dir[TW_ZONE_PATH])
{
	static const char class[] = "/class/hwmon/";
	const char *at = strstr(path, class), *end;

	end = at != NULL ? strchr(at + sizeof(class) - 1, '/') : NULL;
	if (end == NULL)
		return false;
	snprintf(dir, TW_ZONE_PATH, "%.*s", (int)(end - path), path);
	return true;
}

uint64_t tw_hwmon_link_of(const char *dir)
{
	char target[PATH_MAX];
	const ssize_t len = readlinkat(AT_FDCWD, dir, target, sizeof(target));

	return len > 0 ? tw_hash(target, (size_t)len) | 1 : 0;
}

/* Identifies the device and the chip, whatever their number. 0: no link. */
static uint64_t identity_of(const char *dir)
{
	char target[PATH_MAX], path[TW_ZONE_PATH + 8], name[TW_ZONE_NAME] = "";
	const ssize_t len = readlinkat(AT_FDCWD, dir, target, sizeof(target) - 1);
	struct tw_err ignored = { 0 };
	char *number;

	if (len <= 0)
		return 0;
	target[len] = '\0';
	number = strstr(target, "/hwmon/hwmon");
	if (number != NULL)
		*number = '\0';
	snprintf(path, sizeof(path), "%s/name", dir);
	(void)tw_meter_line(path, name, sizeof(name), &ignored);
	return (tw_hash(target, strlen(target)) ^ tw_hash(name, strlen(name))) | 1;
}

struct tw_hwmon_device tw_hwmon_device_of(const char *dir)
{
	return (struct tw_hwmon_device){ .link = tw_hwmon_link_of(dir),
					 .is = identity_of(dir) };
}

bool tw_hwmon_device_find(const char *class, const struct tw_hwmon_device *d,
			  char found[TW_ZONE_PATH])
{
	struct tw_err ignored = { 0 };
	unsigned at[TW_HWMON_DEVICES_MAX];
	size_t count = 0, same = 0;
	char dir[TW_ZONE_PATH];

	if (tw_meter_list(class, "hwmon", at, TW_HWMON_DEVICES_MAX, &count, &ignored) < 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		snprintf(dir, sizeof(dir), "%.200s/hwmon%u", class, at[i]);
		if (identity_of(dir) != d->is)
			continue;
		same++;
		memcpy(found, dir, sizeof(dir));
	}
	return same == 1;
}
