/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_HWMON_DEVICE_H
#define TW_COLLECTOR_HWMON_DEVICE_H

/*
 * The device behind a directory hwmonN of sysfs, which is a link to it. Linux numbers
 * hwmon devices in the order in which their drivers are loaded. So a driver that is
 * loaded again may get another number, which another device may have had.
 */

#include "collector/meters/meter.h"

#include <stdbool.h>
#include <stdint.h>

#define TW_HWMON_DEVICES_MAX 128

/* 0: the directory is not a link. */
struct tw_hwmon_device {
	uint64_t link; /* identifies the link */
	uint64_t is;   /* identifies the device and the chip, whatever their number */
};

/* The directory hwmonN of a sensor's file. False: it is elsewhere. */
bool tw_hwmon_directory(const char *path, char dir[TW_ZONE_PATH]);

uint64_t tw_hwmon_link_of(const char *dir);
struct tw_hwmon_device tw_hwmon_device_of(const char *dir);

/* Find the directory of the device in `class`. False if no directory has it, or several.
 */
bool tw_hwmon_device_find(const char *class, const struct tw_hwmon_device *d,
			  char found[TW_ZONE_PATH]);

#endif /* TW_COLLECTOR_HWMON_DEVICE_H */
