/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sensors of hwmon: Documentation/hwmon/sysfs-interface. powerN_average and powerN_input
 * are in uW, energyN_input in uJ. Only the chip tells what a sensor covers, so a table
 * lists the known chips. The meter hwmon-any reports the sensors of all other chips, each
 * on its own: they may overlap, so they are never summed. Sensors of batteries and
 * chargers are skipped: charging is not consumption.
 */
#include "collector/meters/hwmon_device.h"
#include "collector/meters/meter.h"
#include "collector/meters/meter_file.h"
#include "collector/system/roots.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SENSORS_MAX 256
/* Readings from one search for a device to the next. */
#define SEARCH_READINGS 10

/* "/hwmonN/device/powerN_average_interval" */
#define LONGEST 80

/* The kind of zone that a chip's sensor measures, by the start of its label. */
struct chip {
	const char *meter; /* name of the meter */
	const char *name;  /* content of hwmonN/name */
	/*
	 * "": any label, or no label. '#' is the number of the package, with or without
	 * a blank before it, or missing; '$' is the end of the label.
	 */
	const char *label;
	enum tw_zone_kind kind;
	const char *vendor; /* vendor of a GPU */
};

#define ANY "hwmon-any"
#define RAILS "ina3221" /* shows voltages and currents */
#define RAILS_MAX 3
#define CAPS "aem2" /* shows limits as if they were powers */
#define MODULE "Module Power Socket#"
#define SUPPLY "power total"

static const struct chip chips[] = {
	/*
	 * drivers/hwmon/acpi_power_meter.c: the machine, by its firmware. NVIDIA's has
	 * meters within each other: a module is Grace and its GPUs, Grace is a socket
	 * with the two below and its memory.
	 */
	{ "acpi", "power_meter", MODULE, TW_ZONE_PLATFORM, NULL },
	{ "acpi", "power_meter", "Grace Power Socket#", TW_ZONE_PACKAGE, NULL },
	{ "acpi", "power_meter", "CPU Power Socket#", TW_ZONE_CORE, NULL },
	{ "acpi", "power_meter", "SysIO Power Socket#", TW_ZONE_UNCORE, NULL },
	{ "acpi", "power_meter", "", TW_ZONE_PLATFORM, NULL },
	/* drivers/hwmon/amd_energy.c */
	{ "amd_energy", "amd_energy", "Ecore", TW_ZONE_CORE, NULL },
	{ "amd_energy", "amd_energy", "Esocket#", TW_ZONE_PACKAGE, NULL },
	/* Its fork for Ryzen: github.com/BoukeHaarsma23/zenergy */
	{ "amd_energy", "zenergy", "Ecore", TW_ZONE_CORE, NULL },
	{ "amd_energy", "zenergy", "Esocket#", TW_ZONE_PACKAGE, NULL },
	/* drivers/hwmon/xgene-hwmon.c */
	{ "ampere-xgene-hwmon", "apm_xgene", "CPU power", TW_ZONE_PACKAGE, NULL },
	{ "ampere-xgene-hwmon", "apm_xgene", "IO power", TW_ZONE_UNCORE, NULL },
	/* drivers/platform/x86/amd/hsmp/hwmon.c, since Linux 6.16: a device a socket. */
	{ "hwmon", "amd_hsmp_hwmon", "", TW_ZONE_PACKAGE, NULL },
	/* The first sensor of a GPU counts: a card contains its chip. */
	{ "hwmon", "amdgpu", "", TW_ZONE_GPU, "amd" },
	{ "hwmon", "corsairpsu", SUPPLY, TW_ZONE_PLATFORM, NULL },
	{ "hwmon", "fam15h_power", "", TW_ZONE_PACKAGE, NULL },
	{ "hwmon", "i915", "", TW_ZONE_GPU, "intel" },
	/*
	 * The labels are those of hw/occ-sensor.c of skiboot: a chip has Vdd and Vdn
	 * within it, its memory beside it. Energies have the labels of powers.
	 */
	{ "hwmon", "ibmpowernv", "System$", TW_ZONE_PLATFORM, NULL },
	{ "hwmon", "ibmpowernv", "Chip#$", TW_ZONE_PACKAGE, NULL },
	{ "hwmon", "ibmpowernv", "Chip# Memory$", TW_ZONE_DRAM, NULL },
	/* The labels are those of arch/arm64/boot/dts/apple/hwmon-common.dtsi. */
	{ "hwmon", "macsmc_hwmon", "Total System Power", TW_ZONE_PLATFORM, NULL },
	{ "hwmon", "nouveau", "", TW_ZONE_GPU, "nvidia" },
	{ "hwmon", "xe", "card", TW_ZONE_GPU, "intel" },
	{ "hwmon", "xe", "pkg", TW_ZONE_GPU, "intel" },
	{ "hwmon", "xe", "", TW_ZONE_GPU, "intel" },
	/*
	 * NVIDIA's Jetson: Jetson Linux Developer Guide, "Power Consumption Monitoring".
	 * Rails that stand beside these within the board are in "other".
	 */
	{ "hwmon", RAILS, "VDD_IN$", TW_ZONE_PLATFORM, NULL },
	{ "hwmon", RAILS, "VDD_CPU", TW_ZONE_PACKAGE, NULL },
	{ "hwmon", RAILS, "VDD_SYS_CPU", TW_ZONE_PACKAGE, NULL },
	{ "hwmon", RAILS, "CPU$", TW_ZONE_PACKAGE, NULL },
	{ "hwmon", RAILS, "VDD_GPU", TW_ZONE_GPU, "nvidia" },
	{ "hwmon", RAILS, "VDD_SYS_GPU", TW_ZONE_GPU, "nvidia" },
	{ "hwmon", RAILS, "GPU$", TW_ZONE_GPU, "nvidia" },
	{ "hwmon", RAILS, "VDDQ", TW_ZONE_DRAM, NULL },
	{ "hwmon", RAILS, "VDD_SYS_DDR", TW_ZONE_DRAM, NULL },
	{ "hwmon", RAILS, "VDDRQ", TW_ZONE_DRAM, NULL },
};

/* A GPU whose power is that of its processor, too. */
static const struct chip apu = { "hwmon", "amdgpu", "", TW_ZONE_PLATFORM, NULL };

enum { AVERAGE = 1, INPUT };

/* A mean over a longer time is no reading of a tick. */
#define MEAN_MAX_MS UINT64_C(300000)

/* A sensor has the best of its forms, which come first. */
static const struct form {
	const char *prefix, *suffix;
	bool power;
	bool rail; /* a voltage in mV of RAILS, to be multiplied by its current in mA */
} forms[] = {
	{ "energy", "_input", false, false },
	[AVERAGE] = { "power", "_average", true, false },
	[INPUT] = { "power", "_input", true, false },
	{ "in", "_input", true, true },
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

/* Batteries, chargers and the like: Documentation/ABI/testing/sysfs-class-power. */
static bool is_supply(const char *dir)
{
	static const char *const types[] = { "Battery",    "BrickID",  "Mains",
					     "UPS",        "USB",      "USB_ACA",
					     "USB_C",      "USB_CDP",  "USB_DCP",
					     "USB_PD",     "Unknown",  "USB_HVDCP",
					     "USB_PD_DRP", "Wireless", NULL };

	return has_line(dir, "device/type", types) || has_line(dir, "type", types);
}

/* A sensor of a hwmon directory. */
struct sensor {
	const struct form *form;
	unsigned n;
	bool has_label; /* else `label` is its prefix and number */
	char label[TW_ZONE_NAME];
	const struct chip *chip; /* its row; NULL: none of the meter's */
};

/* True if the label begins with the pattern. *number: the number at '#', or -1. */
static bool matches(const char *pattern, const char *label, int *number)
{
	*number = -1;
	for (; *pattern != '\0'; pattern++) {
		if (*pattern == '$')
			return *label == '\0';
		if (*pattern != '#') {
			if (*label++ != *pattern)
				return false;
			continue;
		}
		if (label[0] == ' ' && label[1] >= '0' && label[1] <= '9')
			label++;
		for (; *label >= '0' && *label <= '9'; label++)
			*number = *number >= TW_ZONES_MAX ? *number
				  : *number < 0           ? *label - '0'
							  : *number * 10 + *label - '0';
	}
	return true;
}

/* The table entry of a sensor for a meter; NULL: the meter skips the sensor. */
static const struct chip *find_chip(const char *meter, const char *dir, const char *name,
				    const char *label)
{
	static const struct chip any = { ANY, "", "", TW_ZONE_SENSOR, NULL };
	const bool all = strcmp(meter, ANY) == 0;
	const enum tw_amdgpu covers =
		strcmp(name, "amdgpu") == 0 ? tw_amdgpu_covers(dir) : TW_AMDGPU_CARD;
	size_t i = 0;
	int number;

	if (covers == TW_AMDGPU_MODULE)
		return strcmp(meter, apu.meter) == 0 ? &apu : NULL;

	while (i < TW_COUNT(chips) && (strcmp(chips[i].name, name) != 0 ||
				       !matches(chips[i].label, label, &number)))
		i++;
	if (i == TW_COUNT(chips) || covers == TW_AMDGPU_INSIDE)
		return all ? &any : NULL;
	return strcmp(chips[i].meter, meter) == 0 ? &chips[i] : NULL;
}

/* Which sensors of a directory have a file, by form. */
struct files {
	bool form[TW_COUNT(forms)][SENSORS_MAX + 1];
	bool current[SENSORS_MAX + 1]; /* currN_input */
};

/* The number N of a name prefixNsuffix; 0: it is another name. */
static unsigned number_of(const char *name, const char *prefix, const char *suffix)
{
	const size_t len = strlen(prefix);
	unsigned n = 0;

	if (strncmp(name, prefix, len) != 0)
		return 0;
	for (name += len; *name >= '0' && *name <= '9' && n <= SENSORS_MAX; name++)
		n = n * 10 + (unsigned)(*name - '0');
	return n <= SENSORS_MAX && strcmp(name, suffix) == 0 ? n : 0;
}

static void list_files(const char *dir, struct files *out)
{
	DIR *d = opendir(dir);
	const struct dirent *e;

	memset(out, 0, sizeof(*out));
	while (d != NULL && (e = readdir(d)) != NULL) {
		for (size_t f = 0; f < TW_COUNT(forms); f++)
			out->form[f][number_of(e->d_name, forms[f].prefix,
					       forms[f].suffix)] = true;
		out->current[number_of(e->d_name, "curr", "_input")] = true;
	}
	if (d != NULL)
		closedir(d);
}

/*
 * True if sensor n of a chip has the form. The rails are the first three: in4 to in7 are
 * voltages of shunts in uV, and curr4 is the sum of the currents.
 */
static bool has_form(const struct files *files, const char *name, size_t form, unsigned n)
{
	return files->form[form][n] &&
	       (!forms[form].rail ||
		(strcmp(name, RAILS) == 0 && files->current[n] && n <= RAILS_MAX));
}

/*
 * True if power n has a mean over so long a time that its momentary power is the better
 * reading: IBM's OCC has a mean since its start, and its interval is in us.
 */
static bool has_long_mean(const struct files *files, const char *dir, size_t form,
			  unsigned n)
{
	struct tw_err ignored = { 0 };
	char path[TW_ZONE_PATH];
	uint64_t window_ms;

	if (!files->form[INPUT][n] || form != AVERAGE)
		return false;
	snprintf(path, sizeof(path), "%s/power%u_average_interval", dir, n);
	return tw_meter_number(path, &window_ms, &ignored) == 0 &&
	       window_ms > MEAN_MAX_MS;
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
static void read_label(const char *dir, struct sensor *s)
{
	const size_t size = sizeof(s->label);
	char device[TW_ZONE_PATH];

	read_text(dir, s->form, s->n, "label", s->label, size);
	if (s->label[0] == '\0')
		read_text(dir, s->form, s->n, "oem_info", s->label, size);
	if (s->label[0] == '\0' &&
	    (size_t)snprintf(device, sizeof(device), "%s/device", dir) < sizeof(device))
		read_text(device, s->form, s->n, "oem_info", s->label, size);
	s->has_label = s->label[0] != '\0';
	if (!s->has_label)
		snprintf(s->label, size, "%s%u", s->form->prefix, s->n);
}

/*
 * True if a better form shows the same: with the same label, or with the same number if
 * one of them has no label. The numbers of energyN and powerN are independent.
 */
static bool is_repeated(const struct sensor *s, const struct sensor *known, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const bool named = s->has_label && known[i].has_label;

		if (known[i].form != s->form &&
		    (named ? strcmp(known[i].label, s->label) == 0 : known[i].n == s->n))
			return true;
	}
	return false;
}

/* Find the sensors of a directory, each in its best form. */
static size_t find_sensors(const char *dir, const char *name, struct sensor *out)
{
	struct files files;
	size_t count = 0;

	list_files(dir, &files);
	for (size_t f = 0; f < TW_COUNT(forms); f++)
		for (unsigned n = 1; n <= SENSORS_MAX && count < SENSORS_MAX; n++) {
			struct sensor *s = &out[count];

			if (!has_form(&files, name, f, n) ||
			    has_long_mean(&files, dir, f, n))
				continue;
			*s = (struct sensor){ .form = &forms[f], .n = n };
			read_label(dir, s);
			count += !is_repeated(s, out, count);
		}
	return count;
}

/* The socket of "Grace Power Socket 1"; `other` if the label has none. */
static int socket_of(const char *label, const struct chip *chip, int other)
{
	int socket;

	return matches(chip->label, label, &socket) && socket >= 0 &&
			       socket < TW_ZONES_MAX
		       ? socket
		       : other;
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

/* Why a sensor is not read; NULL: it is. `best`: of the GPU. */
static const char *left_out_of(const char *dir, const char *name, const struct sensor *s,
			       const struct sensor *best)
{
	/* drivers/hwmon/ibmaem.c: power3 to power7 */
	if (strcmp(name, CAPS) == 0 && s->form->power)
		return "a limit of power";
	if (is_battery(dir, s->form, s->n))
		return "a battery: charging is not consumption";
	if (s->chip->kind == TW_ZONE_GPU && best != NULL && s != best)
		return "a part of the GPU's card";
	return NULL;
}

static enum tw_place place_of(const struct chip *chip)
{
	if (chip == &apu || strcmp(chip->label, MODULE) == 0)
		return TW_PLACE_MODULE;
	return strcmp(chip->label, SUPPLY) == 0 ? TW_PLACE_SUPPLY : TW_PLACE_BOARD;
}

static int add_sensor(struct tw_zone_list *l, const struct sensor *s, const char *name,
		      const char *dir, int package, const struct sensor *best,
		      struct tw_err *err)
{
	const struct chip *chip = s->chip;
	struct tw_zone z = { .package = package,
			     .kind = chip->kind,
			     .place = place_of(chip),
			     .reports_power = s->form->power };
	struct tw_err ignored = { 0 };
	const char *left_out = left_out_of(dir, name, s, best);
	char path[TW_ZONE_PATH];

	set_name(&z, name, s->label);
	z.package = socket_of(s->label, chip, package);
	if (chip->kind == TW_ZONE_SENSOR || chip->kind == TW_ZONE_GPU)
		z.package = -1;
	if (chip->kind == TW_ZONE_GPU)
		snprintf(z.gpu.index, sizeof(z.gpu.index), "%d", package);
	z.gpu.vendor = chip->vendor;
	if ((size_t)snprintf(z.path, sizeof(z.path), "%s/%s%u%s", dir, s->form->prefix,
			     s->n, s->form->suffix) >= sizeof(z.path))
		return tw_fail(err, TW_INVALID, "'%s' is too long", dir);
	if (left_out != NULL)
		return tw_zone_list_leave(l, &z, left_out, err);
	snprintf(path, sizeof(path), "%s/%s%u_average_interval", dir, s->form->prefix,
		 s->n);
	if (tw_meter_number(path, &z.window_ms, &ignored) < 0 ||
	    z.window_ms > TW_WINDOW_MAX_MS)
		z.window_ms = 0;
	return tw_zone_list_add(l, &z, err);
}

/* A supply or a board beside the processors is not a package. */
static bool is_of_package(enum tw_zone_kind kind)
{
	return kind != TW_ZONE_PLATFORM && kind != TW_ZONE_SENSOR;
}

/*
 * Add the sensors of hwmonN, or of its device, where older drivers have their files. The
 * nth directory with a processor is package n, the nth one with a GPU is GPU n: next[0]
 * and next[1].
 */
static int add_device(struct tw_zone_list *l, const char *meter, const char *dir,
		      int next[2], struct tw_err *err)
{
	struct tw_err ignored = { 0 };
	bool added[2] = { false, false };
	const struct sensor *best = NULL;
	struct sensor sensor[SENSORS_MAX];
	char name[TW_ZONE_NAME], path[TW_ZONE_PATH];
	size_t count, sockets = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s/name", dir) >= sizeof(path) ||
	    tw_meter_line(path, name, sizeof(name), &ignored) < 0 || is_supply(dir))
		return 0;
	count = find_sensors(dir, name, sensor);
	for (size_t i = 0; i < count; i++) {
		struct sensor *s = &sensor[i];

		s->chip = find_chip(meter, dir, name, s->label);
		sockets += s->chip != NULL && s->chip->kind == TW_ZONE_PACKAGE;
		if (s->chip != NULL && s->chip->kind == TW_ZONE_GPU &&
		    strcmp(name, RAILS) != 0 && (best == NULL || s->chip < best->chip))
			best = s;
	}
	for (size_t i = 0; i < count; i++) {
		const struct chip *chip = sensor[i].chip;
		const bool gpu = chip != NULL && chip->kind == TW_ZONE_GPU;
		const size_t had = l->count;
		/* A sensor without a number, beside several sockets: unknown. */
		const int package = !gpu && sockets > 1 ? -1 : next[gpu];

		if (chip != NULL &&
		    add_sensor(l, &sensor[i], name, dir, package, best, err) < 0)
			return -1;
		added[gpu] = added[gpu] || (l->count > had && is_of_package(chip->kind));
	}
	next[0] += added[0];
	next[1] += added[1];
	return 0;
}

/*
 * ACPI's meters may contain each other. A meter without a known name is the machine if it
 * is the only one, else a sensor, which is never summed. Without Grace's meters, a
 * package is what its CPUs' show.
 */
static void settle_acpi(struct tw_zone_list *l)
{
	size_t packages = 0;

	for (size_t i = 0; i < l->count; i++)
		packages += l->at[i].kind == TW_ZONE_PACKAGE;
	for (size_t i = 0; i < l->count; i++) {
		struct tw_zone *z = &l->at[i];
		char label[TW_ZONE_NAME];

		if (z->kind == TW_ZONE_CORE && packages == 0)
			z->kind = TW_ZONE_PACKAGE;
		if (z->kind != TW_ZONE_PLATFORM || z->place == TW_PLACE_MODULE ||
		    l->count == 1)
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
	unsigned at[TW_HWMON_DEVICES_MAX];
	size_t count = 0;
	int next[2] = { 0, 0 };

	if ((size_t)snprintf(dir, sizeof(dir), "%s/class/hwmon", c->roots->sys) >=
	    sizeof(dir) - LONGEST)
		return tw_fail(err, TW_INVALID, "'%s' is too long", c->roots->sys);
	if (tw_meter_list(dir, "hwmon", at, TW_HWMON_DEVICES_MAX, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const size_t had = l->count;

		snprintf(device, sizeof(device), "%.160s/hwmon%u", dir, at[i]);
		if (add_device(l, meter, device, next, err) < 0)
			return -1;
		if (l->count > had)
			continue;
		snprintf(device, sizeof(device), "%.160s/hwmon%u/device", dir, at[i]);
		if (add_device(l, meter, device, next, err) < 0)
			return -1;
	}
	if (strcmp(meter, "acpi") == 0)
		settle_acpi(l);
	if (l->count == 0)
		return tw_fail(err, TW_NOTFOUND, "no sensor of %s below '%s'", meter,
			       dir);
	return tw_zone_list_open(l, err);
}

/* The device behind a zone. */
struct device {
	struct tw_hwmon_device at;
	unsigned lost; /* readings since it was in its place */
};

/* The state of a meter. The list is first, so that its operations take the whole. */
struct sensors {
	struct tw_zone_list list;
	struct device *device; /* of each zone */
};

/*
 * Add the load of a GPU, which only amdgpu has: Documentation/gpu/amdgpu,
 * "gpu_busy_percent", since Linux 4.19.
 */
static void read_load(const struct tw_zone *z, struct tw_reading *out)
{
	char dir[TW_ZONE_PATH], path[TW_ZONE_PATH + LONGEST];
	struct tw_err ignored = { 0 };
	uint64_t percent;

	if (z->kind != TW_ZONE_GPU || !tw_hwmon_directory(z->path, dir))
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
	char dir[TW_ZONE_PATH];
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
		if (tw_hwmon_directory(s->list.at[i].path, dir))
			s->device[i].at = tw_hwmon_device_of(dir);

	*state = s;
	s = NULL;
	rc = 0;
out:
	close_sensors(s);
	return rc;
}

/* Multiply a voltage, read as if it were uW, by its current. */
static void multiply(const struct tw_zone *z, struct tw_reading *out)
{
	char dir[TW_ZONE_PATH], path[TW_ZONE_PATH + LONGEST];
	const char *file = strrchr(z->path, '/') + 1;
	struct tw_err err = { 0 };
	uint64_t ma;

	if (strncmp(file, "in", 2) != 0)
		return;
	snprintf(dir, sizeof(dir), "%.*s", (int)(file - z->path), z->path);
	snprintf(path, sizeof(path), "%scurr%s", dir, file + 2);
	if (tw_meter_number(path, &ma, &err) == 0)
		out->power_w *= (double)ma;
	else
		tw_reading_fail(out, &err);
}

/* Look for the device of a zone under another number, now and then. */
static void follow(struct sensors *s, size_t i, const char *dir)
{
	struct tw_zone *z = &s->list.at[i];
	struct device *d = &s->device[i];
	const char *file = z->path + strlen(dir);
	char class[TW_ZONE_PATH], to[TW_ZONE_PATH], path[TW_ZONE_PATH];

	if (d->at.is == 0 || d->lost++ % SEARCH_READINGS != 0)
		return;
	snprintf(class, sizeof(class), "%.*s", (int)(strrchr(dir, '/') - dir), dir);
	if (!tw_hwmon_device_find(class, &d->at, to) ||
	    (size_t)snprintf(path, sizeof(path), "%s%s", to, file) >= sizeof(path))
		return;
	memcpy(z->path, path, sizeof(path));
	d->at = tw_hwmon_device_of(to);
	d->lost = 0;
	if (s->list.fd[i] >= 0)
		close(s->list.fd[i]);
	s->list.fd[i] = open(z->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

/* Look at the device after its values: one that came in between is seen. */
static void read_sensors(void *state, struct tw_reading *out)
{
	struct sensors *s = state;
	char dir[TW_ZONE_PATH];

	tw_zone_list_read(state, out);
	for (size_t i = 0; i < s->list.count; i++) {
		const struct tw_zone *z = &s->list.at[i];
		const bool has_dir = tw_hwmon_directory(z->path, dir);

		if (out[i].readable) {
			read_load(z, &out[i]);
			multiply(z, &out[i]);
		}
		if (!has_dir || tw_hwmon_link_of(dir) == s->device[i].at.link) {
			s->device[i].lost = 0;
			continue;
		}
		if (out[i].readable) {
			out[i] = (struct tw_reading){ .readable = false };
			snprintf(out[i].why, sizeof(out[i].why),
				 "another device has its place");
		}
		follow(s, i, dir);
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
		.left_out = tw_zone_list_left_out,                          \
		.read = read_sensors,                                       \
		.close = close_sensors,                                     \
	}

HWMON_METER(acpi, "acpi", "ACPI power meter: the machine's power, by its firmware");
HWMON_METER(amd_energy, "amd_energy", "AMD's energy counters of cores and sockets");
HWMON_METER(hwmon, "hwmon", "hwmon sensors of other known chips");
HWMON_METER(hwmon_any, ANY, "hwmon sensors of unknown coverage");
HWMON_METER(xgene, "ampere-xgene-hwmon", "Ampere's power sensors of CPU and IO");
