/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sensors of hwmon: Documentation/hwmon/sysfs-interface. powerN_average and powerN_input
 * are in uW, energyN_input in uJ. Only the chip tells what a sensor covers, so a table
 * lists the known chips. The meter hwmon-any reports the sensors of all other chips, each
 * on its own: they may overlap, so they are never summed. Sensors of batteries and
 * chargers are skipped: charging is not consumption.
 */
#include "collector/meters/meter.h"
#include "collector/meters/meter_file.h"
#include "collector/system/roots.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/hash.h"
#include "lib/core/num.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SENSORS_MAX 256
#define DEVICES_MAX 128

/* "/hwmonN/device/powerN_average_interval" */
#define LONGEST 80

/* What the sensors of a chip measure, by the start of their label. */
struct chip {
	const char *meter; /* name of the meter */
	const char *name;  /* content of hwmonN/name */
	const char *label; /* "": any label, or no label */
	enum tw_zone_kind kind;
	const char *vendor; /* vendor of a GPU */
};

#define ANY "hwmon-any"
#define MODULE "Module Power Socket"

static const struct chip chips[] = {
	/*
	 * drivers/hwmon/acpi_power_meter.c: the machine, by its firmware. NVIDIA's has
	 * meters within each other: a module is Grace and its GPUs, Grace is a socket
	 * with the two below and its memory.
	 */
	{ "acpi", "power_meter", MODULE, TW_ZONE_PLATFORM, NULL },
	{ "acpi", "power_meter", "Grace Power Socket", TW_ZONE_PACKAGE, NULL },
	{ "acpi", "power_meter", "CPU Power Socket", TW_ZONE_CORE, NULL },
	{ "acpi", "power_meter", "SysIO Power Socket", TW_ZONE_UNCORE, NULL },
	{ "acpi", "power_meter", "", TW_ZONE_PLATFORM, NULL },
	/* drivers/hwmon/amd_energy.c */
	{ "amd_energy", "amd_energy", "Ecore", TW_ZONE_CORE, NULL },
	{ "amd_energy", "amd_energy", "Esocket", TW_ZONE_PACKAGE, NULL },
	/* drivers/hwmon/xgene-hwmon.c */
	{ "ampere-xgene-hwmon", "apm_xgene", "CPU power", TW_ZONE_PACKAGE, NULL },
	{ "ampere-xgene-hwmon", "apm_xgene", "IO power", TW_ZONE_UNCORE, NULL },
	{ "hwmon", "amdgpu", "", TW_ZONE_GPU, "amd" },
	{ "hwmon", "corsairpsu", "power total", TW_ZONE_PLATFORM, NULL },
	{ "hwmon", "fam15h_power", "", TW_ZONE_PACKAGE, NULL },
	{ "hwmon", "i915", "", TW_ZONE_GPU, "intel" },
	{ "hwmon", "ibmpowernv", "System", TW_ZONE_PLATFORM, NULL },
	{ "hwmon", "nouveau", "", TW_ZONE_GPU, "nvidia" },
	{ "hwmon", "xe", "pkg", TW_ZONE_GPU, "intel" },
};

/* Best first: each sensor is read by the first form that it has. */
static const struct form {
	const char *prefix, *suffix;
	bool power;
} forms[] = {
	{ "energy", "_input", false },
	{ "power", "_average", true },
	{ "power", "_input", true },
};

/* True if the first line of dir/file is in `lines`, which ends with NULL. */
static bool has_line(const char *dir, const char *file, const char *const *lines)
{
	struct tw_err ignored = { 0 };
	char path[TW_ZONE_PATH], line[TW_ZONE_NAME];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path) ||
	    tw_meter_line(path, line, sizeof(line), &ignored) < 0)
		return false;
	while (*lines != NULL && strcmp(*lines, line) != 0)
		lines++;
	return *lines != NULL;
}

/*
 * True for a GPU inside the processor, whose energy the package contains. Only such GPUs
 * of amdgpu have a voltage of the northbridge.
 */
static bool is_inside(const char *dir, const char *name)
{
	static const char *const northbridge[] = { "vddnb", NULL };

	return strcmp(name, "amdgpu") == 0 && has_line(dir, "in1_label", northbridge);
}

/* Batteries, chargers and the like: Documentation/ABI/testing/sysfs-class-power. */
static bool is_supply(const char *dir)
{
	static const char *const types[] = { "Battery", "Mains",    "UPS",
					     "USB",     "Wireless", NULL };

	return has_line(dir, "device/type", types) || has_line(dir, "type", types);
}

static bool is_known(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(chips); i++)
		if (strcmp(chips[i].name, name) == 0)
			return true;
	return false;
}

/* The table entry of a sensor for a meter; NULL: the meter skips the sensor. */
static const struct chip *find_chip(const char *meter, const char *dir, const char *name,
				    const char *label)
{
	static const struct chip any = { ANY, "", "", TW_ZONE_SENSOR, NULL };
	const bool inside = is_inside(dir, name);

	if (strcmp(meter, ANY) == 0)
		return is_known(name) && !inside ? NULL : &any;
	for (size_t i = 0; !inside && i < TW_COUNT(chips); i++)
		if (strcmp(chips[i].meter, meter) == 0 &&
		    strcmp(chips[i].name, name) == 0 &&
		    strncmp(chips[i].label, label, strlen(chips[i].label)) == 0)
			return &chips[i];
	return NULL;
}

/* The form of sensor n; NULL if the sensor does not exist. */
static const struct form *find_form(const char *dir, unsigned n)
{
	for (size_t i = 0; i < TW_COUNT(forms); i++) {
		char path[TW_ZONE_PATH];

		snprintf(path, sizeof(path), "%s/%s%u%s", dir, forms[i].prefix, n,
			 forms[i].suffix);
		if (access(path, F_OK) == 0)
			return &forms[i];
	}
	return NULL;
}

/* The text of a sensor's file; "" without the file. */
static void read_text(const char *dir, const struct form *f, unsigned n, const char *file,
		      char *out, size_t size)
{
	struct tw_err ignored = { 0 };
	char path[TW_ZONE_PATH];

	snprintf(path, sizeof(path), "%s/%s%u_%s", dir, f->prefix, n, file);
	if (tw_meter_line(path, out, size, &ignored) < 0)
		out[0] = '\0';
}

/* ACPI's power meters have OEM information instead of a label. */
static void read_label(const char *dir, const struct form *f, unsigned n, char *out,
		       size_t size)
{
	char device[TW_ZONE_PATH];

	read_text(dir, f, n, "label", out, size);
	if (out[0] == '\0')
		read_text(dir, f, n, "oem_info", out, size);
	if (out[0] == '\0' &&
	    (size_t)snprintf(device, sizeof(device), "%s/device", dir) < sizeof(device))
		read_text(device, f, n, "oem_info", out, size);
	if (out[0] == '\0')
		snprintf(out, size, "%s%u", f->prefix, n);
}

/* The socket of "Grace Power Socket 1"; `other` if the label has none. */
static int socket_of(const char *label, const struct chip *chip, int other)
{
	const char *at = label + strlen(chip->label);
	uint64_t socket;

	if (strstr(chip->label, "Socket") == NULL || *at++ != ' ' ||
	    !tw_parse_u64(at, strlen(at), &socket) || socket >= TW_ZONES_MAX)
		return other;
	return (int)socket;
}

/* A battery of ACPI: charging is not consumption. */
static bool is_battery(const char *dir, const struct form *f, unsigned n)
{
	char text[4];

	read_text(dir, f, n, "is_battery", text, sizeof(text));
	return strcmp(text, "1") == 0;
}

static void set_name(struct tw_zone *z, const char *chip, const char *label)
{
	if (z->kind == TW_ZONE_SENSOR)
		snprintf(z->name, sizeof(z->name), "%.30s:%.30s", chip, label);
	else
		snprintf(z->name, sizeof(z->name), "%s", label);
}

static int add_sensor(struct tw_zone_list *l, const char *meter, const char *name,
		      const char *dir, unsigned n, int package, struct tw_err *err)
{
	const struct form *f = find_form(dir, n);
	struct tw_zone z = { .package = package };
	struct tw_err ignored = { 0 };
	const struct chip *chip;
	char path[TW_ZONE_PATH], label[TW_ZONE_NAME];

	if (f == NULL || is_battery(dir, f, n))
		return 0;
	read_label(dir, f, n, label, sizeof(label));
	chip = find_chip(meter, dir, name, label);
	if (chip == NULL)
		return 0;
	z.kind = chip->kind;
	z.reports_power = f->power;
	set_name(&z, name, label);
	z.package = socket_of(label, chip, package);
	if (chip->kind == TW_ZONE_SENSOR || chip->kind == TW_ZONE_GPU)
		z.package = -1;
	if (chip->kind == TW_ZONE_GPU)
		snprintf(z.gpu.index, sizeof(z.gpu.index), "%d", package);
	z.gpu.vendor = chip->vendor;
	if ((size_t)snprintf(z.path, sizeof(z.path), "%s/%s%u%s", dir, f->prefix, n,
			     f->suffix) >= sizeof(z.path))
		return tw_fail(err, TW_INVALID, "'%s' is too long", dir);
	snprintf(path, sizeof(path), "%s/%s%u_average_interval", dir, f->prefix, n);
	if (tw_meter_number(path, &z.window_ms, &ignored) < 0)
		z.window_ms = 0;
	return tw_zone_list_add(l, &z, err);
}

/*
 * Add the sensors of hwmonN, or of its device, where older drivers have their files. The
 * nth directory of a chip is package n.
 */
static int add_device(struct tw_zone_list *l, const char *meter, const char *dir,
		      int *package, struct tw_err *err)
{
	struct tw_err ignored = { 0 };
	const size_t had = l->count;
	char name[TW_ZONE_NAME], path[TW_ZONE_PATH];

	if ((size_t)snprintf(path, sizeof(path), "%s/name", dir) >= sizeof(path) ||
	    tw_meter_line(path, name, sizeof(name), &ignored) < 0 || is_supply(dir))
		return 0;
	for (unsigned n = 1; n <= SENSORS_MAX; n++)
		if (add_sensor(l, meter, name, dir, n, *package, err) < 0)
			return -1;
	*package += l->count > had;
	return 0;
}

static bool is_module(const struct tw_zone *z)
{
	return strncmp(z->name, MODULE, strlen(MODULE)) == 0;
}

/*
 * The meters of a machine may contain each other. The machine is its modules, or a meter
 * without a known name if it is the only one. Others are sensors: they are exported and
 * never summed. Without Grace's meters, a package is what its CPUs' show.
 */
static void settle_acpi(struct tw_zone_list *l)
{
	size_t modules = 0, packages = 0, unnamed = 0;

	for (size_t i = 0; i < l->count; i++) {
		packages += l->at[i].kind == TW_ZONE_PACKAGE;
		modules += is_module(&l->at[i]);
		unnamed += l->at[i].kind == TW_ZONE_PLATFORM && !is_module(&l->at[i]);
	}
	for (size_t i = 0; i < l->count; i++) {
		struct tw_zone *z = &l->at[i];
		char label[TW_ZONE_NAME];

		if (z->kind == TW_ZONE_CORE && packages == 0)
			z->kind = TW_ZONE_PACKAGE;
		if (z->kind != TW_ZONE_PLATFORM || is_module(z) || modules + unnamed == 1)
			continue;
		snprintf(label, sizeof(label), "%s", z->name);
		z->kind = TW_ZONE_SENSOR;
		z->package = -1;
		z->note = "ACPI's power meters may contain each other: it is not summed";
		set_name(z, "power_meter", label);
	}
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
	if (strcmp(meter, "acpi") == 0)
		settle_acpi(l);
	if (l->count == 0)
		return tw_fail(err, TW_NOTFOUND, "no sensor of %s below '%s'", meter,
			       dir);
	return tw_zone_list_open(l, err);
}

/* The state of a meter. The list is first, so that its operations take the whole. */
struct sensors {
	struct tw_zone_list list;
	uint64_t *device; /* of each zone: device_of() */
};

/* The directory hwmonN of a sensor. False: it is elsewhere. */
static bool directory_of(const struct tw_zone *z, char dir[TW_ZONE_PATH])
{
	static const char class[] = "/class/hwmon/";
	const char *at = strstr(z->path, class), *end;

	end = at != NULL ? strchr(at + sizeof(class) - 1, '/') : NULL;
	if (end == NULL)
		return false;
	snprintf(dir, TW_ZONE_PATH, "%.*s", (int)(end - z->path), z->path);
	return true;
}

/*
 * Identifies the device behind the directory hwmonN of a sensor, which is a link to it. A
 * driver that is loaded again may get the number of another one. 0: no link.
 */
static uint64_t device_of(const struct tw_zone *z)
{
	char dir[TW_ZONE_PATH], target[PATH_MAX];
	ssize_t len;

	if (!directory_of(z, dir))
		return 0;
	len = readlinkat(AT_FDCWD, dir, target, sizeof(target));
	return len > 0 ? tw_hash(target, (size_t)len) | 1 : 0;
}

/*
 * Add the load of a GPU, which only amdgpu has: Documentation/gpu/amdgpu,
 * "gpu_busy_percent", since Linux 4.19.
 */
static void read_load(const struct tw_zone *z, struct tw_reading *out)
{
	char dir[TW_ZONE_PATH], path[TW_ZONE_PATH + LONGEST];
	struct tw_err ignored = { 0 };
	uint64_t percent;

	if (z->kind != TW_ZONE_GPU || !directory_of(z, dir))
		return;
	snprintf(path, sizeof(path), "%s/device/gpu_busy_percent", dir);
	if (tw_meter_number(path, &percent, &ignored) < 0)
		return;
	out->own_load = true;
	out->load = percent < 100 ? (double)percent / 100 : 1;
}

static void close_sensors(void *state)
{
	struct sensors *s = state;

	if (s == NULL)
		return;
	free(s->device);
	tw_zone_list_close(&s->list);
}

static int open_chip(const struct tw_meter_config *c, const char *meter, void **state,
		     struct tw_err *err)
{
	struct sensors *s = calloc(1, sizeof(*s));
	int rc = -1;

	if (s == NULL)
		return tw_fail(err, TW_NOMEM, "zones");
	if (add_devices(&s->list, c, meter, err) < 0)
		goto out;
	s->device = calloc(s->list.count, sizeof(*s->device));
	if (s->device == NULL) {
		tw_fail(err, TW_NOMEM, "zones");
		goto out;
	}
	for (size_t i = 0; i < s->list.count; i++)
		s->device[i] = device_of(&s->list.at[i]);

	*state = s;
	s = NULL;
	rc = 0;
out:
	close_sensors(s);
	return rc;
}

/* Look at the device after its values: one that came in between is seen. */
static void read_sensors(void *state, struct tw_reading *out)
{
	const struct sensors *s = state;

	tw_zone_list_read(state, out);
	for (size_t i = 0; i < s->list.count; i++) {
		if (!out[i].there)
			continue;
		read_load(&s->list.at[i], &out[i]);
		if (device_of(&s->list.at[i]) == s->device[i])
			continue;
		out[i] = (struct tw_reading){ .there = false };
		snprintf(out[i].why, sizeof(out[i].why), "another device has its place");
	}
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
		.late = true,                                               \
		.open = open_##id,                                          \
		.zones = tw_zone_list_zones,                                \
		.read = read_sensors,                                       \
		.close = close_sensors,                                     \
	}

HWMON_METER(acpi, "acpi", "ACPI power meter: the machine's power, by its firmware");
HWMON_METER(amd_energy, "amd_energy", "AMD's energy counters of cores and sockets");
HWMON_METER(hwmon, "hwmon", "hwmon sensors of other known chips");
HWMON_METER(hwmon_any, ANY, "hwmon sensors of unknown coverage");
HWMON_METER(xgene, "ampere-xgene-hwmon", "Ampere's power sensors of CPU and IO");
