/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cray's counters of a node: /sys/cray/pm_counters, energies as "12345 J 1700000000 us",
 * updated ten times a second (HPE Cray EX, "PM counters"; S. Martin, CUG 2014). `energy`
 * is the node's, with what the other files have in it.
 */
#include "collector/meters/meter.h"
#include "collector/meters/meter_file.h"
#include "collector/system/roots.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UPDATE_MS 100

/* A file, or with "%u" one for each number. */
static const struct counter {
	const char *file;
	enum tw_zone_kind kind;
	unsigned count;
} counters[] = {
	{ "energy", TW_ZONE_PLATFORM, 1 },
	{ "cpu_energy", TW_ZONE_PACKAGE, 1 },
	{ "memory_energy", TW_ZONE_DRAM, 1 },
	{ "accel%u_energy", TW_ZONE_GPU, 8 },
};

/* The number before the unit. */
static int read_joules(const char *path, uint64_t *out, struct tw_err *err)
{
	char text[64];
	size_t len;

	if (tw_file_read_at(AT_FDCWD, path, text, sizeof(text), &len, err) < 0)
		return -1;
	text[len < sizeof(text) ? len : sizeof(text) - 1] = '\0';
	if (strncmp(text + strspn(text, "0123456789"), " J ", 3) != 0 ||
	    tw_meter_parse(text, strspn(text, "0123456789"), out, err) < 0 ||
	    *out > UINT64_MAX / 1000000)
		return tw_fail(err, TW_PARSE, "'%s': want 'NUMBER J TIME us'", path);
	return 0;
}

static int add_counter(struct tw_zone_list *l, const char *dir, const struct counter *c,
		       unsigned n, struct tw_err *err)
{
	struct tw_zone z = { .kind = c->kind, .package = -1, .window_ms = UPDATE_MS };
	struct tw_err absent = { 0 };
	uint64_t joules;

	if (strcmp(c->file, "accel%u_energy") == 0)
		snprintf(z.name, sizeof(z.name), "accel%u_energy", n);
	else
		snprintf(z.name, sizeof(z.name), "%s", c->file);
	if (c->kind == TW_ZONE_GPU)
		snprintf(z.gpu.index, sizeof(z.gpu.index), "%u", n);
	snprintf(z.path, sizeof(z.path), "%.200s/%.40s", dir, z.name);
	if (read_joules(z.path, &joules, &absent) < 0)
		return absent.code == TW_NOTFOUND
			       ? 0
			       : tw_zone_list_leave(l, &z, "its file cannot be read",
						    err);
	return tw_zone_list_add(l, &z, err);
}

static int open_cray(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	struct tw_zone_list *l = calloc(1, sizeof(*l));
	char dir[TW_ZONE_PATH];

	if (l == NULL)
		return tw_fail(err, TW_NOMEM, "zones");
	if ((size_t)snprintf(dir, sizeof(dir), "%s/cray/pm_counters", c->roots->sys) >=
	    200) {
		tw_fail(err, TW_INVALID, "'%s' is too long", c->roots->sys);
		goto fail;
	}
	for (size_t i = 0; i < TW_COUNT(counters); i++)
		for (unsigned n = 0; n < counters[i].count; n++)
			if (add_counter(l, dir, &counters[i], n, err) < 0)
				goto fail;
	if (l->count == 0) {
		tw_fail(err, TW_NOTFOUND, "no counters below '%s'", dir);
		goto fail;
	}
	*state = l;
	return 0;
fail:
	tw_zone_list_close(l);
	return -1;
}

static void read_cray(void *state, struct tw_reading *out)
{
	const struct tw_zone_list *l = state;

	for (size_t i = 0; i < l->count; i++) {
		struct tw_err err = { 0 };
		uint64_t joules = 0;

		out[i] = (struct tw_reading){ 0 };
		out[i].readable = read_joules(l->at[i].path, &joules, &err) == 0;
		out[i].energy_uj = joules * 1000000;
		if (!out[i].readable)
			tw_reading_fail(&out[i], &err);
	}
}

const struct tw_meter tw_meter_cray = {
	.name = "cray",
	.summary = "Cray's energy counters of the node, its processors, memory and GPUs",
	.late = true,
	.open = open_cray,
	.zones = tw_zone_list_zones,
	.left_out = tw_zone_list_left_out,
	.read = read_cray,
	.close = tw_zone_list_close,
};
