/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_METER_FILE_H
#define TW_COLLECTOR_METER_FILE_H

/*
 * What meters of files share: numbers and names of one line, and a growing list of zones.
 */

#include "collector/meters/meter.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* Digits only, blanks and a newline after them. Errors name the path. */
int tw_meter_number(const char *path, uint64_t *out, struct tw_err *err);

/* The same of text in memory. */
int tw_meter_parse(const char *data, size_t len, uint64_t *out, struct tw_err *err);

/* The first line, without blanks at its end; control bytes become '?'. */
int tw_meter_line(const char *path, char *out, size_t size, struct tw_err *err);

/* N of all prefixN in a directory, sorted; no more than max, what is beyond is left out.
 */
int tw_meter_list(const char *dir, const char *prefix, unsigned *at, size_t max,
		  size_t *count, struct tw_err *err);

/* Zones of a meter as it is opened. All zero bytes is none. */
struct tw_zone_list {
	struct tw_zone *at; /* free() */
	size_t count;
	/*
	 * Their files, kept open: those of RAPL are root's alone, and the user that
	 * reads them may not be root any more. -1: none.
	 */
	int *fd;
};

/* A copy of z. Fails beyond TW_ZONES_MAX. */
int tw_zone_list_add(struct tw_zone_list *l, const struct tw_zone *z, struct tw_err *err);

/* Open the files of all. 0 if any of them can be read; else the reason of the first. */
int tw_zone_list_open(struct tw_zone_list *l, struct tw_err *err);

/* For meters whose whole state is a list. */
const struct tw_zone *tw_zone_list_zones(const void *state, size_t *count);
void tw_zone_list_read(void *state, struct tw_reading *out);
void tw_zone_list_close(void *state);

#endif /* TW_COLLECTOR_METER_FILE_H */
