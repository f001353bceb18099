/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sensors of hwmon: Documentation/hwmon/sysfs-interface. powerN_average and powerN_input
 * are in uW, energyN_input in uJ. What a sensor covers is known by its chip only: a table
 * says so, and a sensor that is not in it is no meter.
 */
#include "collector/meter.h"
#include "collector/meter_file.h"
#include "collector/roots.h"
#include "lib/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SENSORS_MAX 256
#define DEVICES_MAX 128

/* "/hwmonN/device/powerN_average_interval" */
#define LONGEST 80

/* What sensors of a chip are, by the beginning of their label. */
struct chip {
	const char *meter; /* whose */
	const char *name;  /* of hwmonN/name */
	const char *label; /* "": any, or none */
	enum tw_zone_kind kind;
};

static const struct chip chips[] = {
	/* drivers/hwmon/acpi_power_meter.c: the machine, by its firmware */
	{ "acpi", "power_meter", "", TW_ZONE_PLATFORM },
	/* drivers/hwmon/amd_energy.c */
	{ "amd_energy", "amd_energy", "Ecore", TW_ZONE_CORE },
	{ "amd_energy", "amd_energy", "Esocket", TW_ZONE_PACKAGE },
	/* drivers/hwmon/xgene-hwmon.c */
	{ "ampere-xgene-hwmon", "apm_xgene", "CPU power", TW_ZONE_PACKAGE },
	{ "ampere-xgene-hwmon", "apm_xgene", "IO power", TW_ZONE_UNCORE },
	{ "hwmon", "amdgpu", "", TW_ZONE_GPU },
	{ "hwmon", "corsairpsu", "power total", TW_ZONE_PLATFORM },
	{ "hwmon", "fam15h_power", "", TW_ZONE_PACKAGE },
	{ "hwmon", "i915", "", TW_ZONE_GPU },
	{ "hwmon", "ibmpowernv", "System", TW_ZONE_PLATFORM },
	{ "hwmon", "nouveau", "", TW_ZONE_GPU },
	{ "hwmon", "xe", "pkg", TW_ZONE_GPU },
};

/* Best first: a sensor is read from one of them. */
static const struct form {
	const char *prefix, *suffix;
	bool power;
} forms[] = {
	{ "energy", "_input", false },
	{ "power", "_average", true },
	{ "power", "_input", true },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct chip *find_chip(const char *meter, const char *name,
				    const char *label)
{
	for (size_t i = 0; i < COUNT(chips); i++)
		if (strcmp(chips[i].meter, meter) == 0 &&
		    strcmp(chips[i].name, name) == 0 &&
		    strncmp(chips[i].label, label, strlen(chips[i].label)) == 0)
			return &chips[i];
	return NULL;
}

/* How sensor n is told; NULL if there is none. */
static const struct form *find_form(const char *dir, unsigned n)
{
	for (size_t i = 0; i < COUNT(forms); i++) {
		char path[TW_ZONE_PATH];

		snprintf(path, sizeof(path), "%s/%s%u%s", dir, forms[i].prefix, n,
			 forms[i].suffix);
		if (access(path, F_OK) == 0)
			return &forms[i];
	}
	return NULL;
}

/* Its label; "power1" or the like where it has none. */
static void read_label(const char *dir, const struct form *f, unsigned n, char *out,
		       size_t size)
{
	struct tw_err ignored = { 0 };
	char path[TW_ZONE_PATH];

	snprintf(path, sizeof(path), "%s/%s%u_label", dir, f->prefix, n);
	if (tw_meter_line(path, out, size, &ignored) < 0)
		snprintf(out, size, "%s%u", f->prefix, n);
}

static int add_sensor(struct tw_zone_list *l, const char *meter, const char *name,
		      const char *dir, unsigned n, int package, struct tw_err *err)
{
	const struct form *f = find_form(dir, n);
	struct tw_zone z = { .package = package };
	struct tw_err ignored = { 0 };
	const struct chip *chip;
	char path[TW_ZONE_PATH];

	if (f == NULL)
		return 0;
	read_label(dir, f, n, z.name, sizeof(z.name));
	chip = find_chip(meter, name, z.name);
	if (chip == NULL)
		return 0;
	z.kind = chip->kind;
	z.tells_power = f->power;
	if ((size_t)snprintf(z.path, sizeof(z.path), "%s/%s%u%s", dir, f->prefix, n,
			     f->suffix) >= sizeof(z.path))
		return tw_fail(err, TW_INVALID, "'%s' is too long", dir);
	snprintf(path, sizeof(path), "%s/%s%u_average_interval", dir, f->prefix, n);
	if (tw_meter_number(path, &z.window_ms, &ignored) < 0)
		z.window_ms = 0;
	return tw_zone_list_add(l, &z, err);
}

/*
 * hwmonN, or its device, where older drivers have their files. The nth directory of a
 * chip is the nth package.
 */
static int add_device(struct tw_zone_list *l, const char *meter, const char *dir,
		      int *package, struct tw_err *err)
{
	struct tw_err ignored = { 0 };
	const size_t had = l->count;
	char name[TW_ZONE_NAME], path[TW_ZONE_PATH];

	if ((size_t)snprintf(path, sizeof(path), "%s/name", dir) >= sizeof(path) ||
	    tw_meter_line(path, name, sizeof(name), &ignored) < 0)
		return 0;
	for (unsigned n = 1; n <= SENSORS_MAX; n++)
		if (add_sensor(l, meter, name, dir, n, *package, err) < 0)
			return -1;
	*package += l->count > had;
	return 0;
}

static int add_devices(struct tw_zone_list *l, const struct tw_meter_config *c,
		       const char *meter, struct tw_err *err)
{
	char dir[TW_ZONE_PATH], device[TW_ZONE_PATH];
	unsigned at[DEVICES_MAX];
	size_t count = 0;
	int package = 0;

	if ((size_t)snprintf(dir, sizeof(dir), "%s/class/hwmon", c->roots->sys) >=
	    sizeof(dir) - LONGEST)
		return tw_fail(err, TW_INVALID, "'%s' is too long", c->roots->sys);
	if (tw_meter_list(dir, "hwmon", at, DEVICES_MAX, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const size_t had = l->count;

		snprintf(device, sizeof(device), "%.160s/hwmon%u", dir, at[i]);
		if (add_device(l, meter, device, &package, err) < 0)
			return -1;
		if (l->count > had)
			continue;
		snprintf(device, sizeof(device), "%.160s/hwmon%u/device", dir, at[i]);
		if (add_device(l, meter, device, &package, err) < 0)
			return -1;
	}
	if (l->count == 0)
		return tw_fail(err, TW_NOTFOUND, "no sensor of %s below '%s'", meter,
			       dir);
	return tw_zone_list_open(l, err);
}

static int open_chip(const struct tw_meter_config *c, const char *meter, void **state,
		     struct tw_err *err)
{
	struct tw_zone_list *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return tw_fail(err, TW_NOMEM, "zones");
	if (add_devices(l, c, meter, err) < 0) {
		tw_zone_list_close(l);
		return -1;
	}
	*state = l;
	return 0;
}

#define HWMON_METER(id, text, about)                                        \
	static int open_##id(const struct tw_meter_config *c, void **state, \
			     struct tw_err *err)                            \
	{                                                                   \
		return open_chip(c, text, state, err);                      \
	}                                                                   \
	const struct tw_meter tw_meter_##id = {                             \
		.name = text,                                               \
		.summary = about,                                           \
		.open = open_##id,                                          \
		.zones = tw_zone_list_zones,                                \
		.read = tw_zone_list_read,                                  \
		.close = tw_zone_list_close,                                \
	}

HWMON_METER(acpi, "acpi", "ACPI's power meter: the machine's power by its firmware");
HWMON_METER(amd_energy, "amd_energy", "AMD's energy counters of cores and sockets");
HWMON_METER(hwmon, "hwmon", "other sensors of hwmon that are known");
HWMON_METER(xgene, "ampere-xgene-hwmon", "Ampere's power of CPU and IO");
