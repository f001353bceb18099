/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_METER_FILE_H
#define TW_COLLECTOR_METER_FILE_H

/* Functions for meters that read files: numbers, one-line names, and a list of zones. */

#include "collector/meters/meter.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* Read digits, with trailing white space allowed. Errors name the path. */
int tw_meter_number(const char *path, uint64_t *out, struct tw_err *err);

/* Parse such a number from memory. */
int tw_meter_parse(const char *data, size_t len, uint64_t *out, struct tw_err *err);

/* The first line without trailing white space; control bytes become '?'. */
int tw_meter_line(const char *path, char *out, size_t size, struct tw_err *err);

/* The part of the GPU that amdgpu's power covers. */
enum tw_amdgpu {
	TW_AMDGPU_CARD,
	TW_AMDGPU_INSIDE, /* a GPU inside the processor, whose package contains it */
	TW_AMDGPU_MODULE, /* processor, GPU and memory */
};

/* dir: a hwmon directory of amdgpu. */
enum tw_amdgpu tw_amdgpu_covers(const char *dir);

/* The numbers N of all entries prefixN of a directory, sorted. At most max of them. */
int tw_meter_list(const char *dir, const char *prefix, unsigned *at, size_t max,
		  size_t *count, struct tw_err *err);

/* The zones of a meter that reads files. All zero bytes: no zones. */
struct tw_zone_list {
	struct tw_zone *at; /* free() */
	size_t count;
	/*
	 * Their files, kept open: the files of RAPL are readable only by root, and the
	 * collector drops root later. -1: not open.
	 */
	int *fd;
	struct tw_zone *left; /* zones that are left out: struct tw_meter, `left_out` */
	size_t left_count;
};

/* Append a copy of z. Fails beyond TW_ZONES_MAX. */
int tw_zone_list_add(struct tw_zone_list *l, const struct tw_zone *z, struct tw_err *err);

/* Append a copy of z to the zones that are left out, with the reason as its note. */
int tw_zone_list_leave(struct tw_zone_list *l, const struct tw_zone *z, const char *why,
		       struct tw_err *err);

/* Open all files. Returns 0 if any of them is readable, else the error of the first. */
int tw_zone_list_open(struct tw_zone_list *l, struct tw_err *err);

/* Operations for meters whose whole state is a list. */
const struct tw_zone *tw_zone_list_zones(const void *state, size_t *count);
const struct tw_zone *tw_zone_list_left_out(const void *state, size_t *count);
void tw_zone_list_read(void *state, struct tw_reading *out);
void tw_zone_list_close(void *state);

#endif /* TW_COLLECTOR_METER_FILE_H */
