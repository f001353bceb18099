/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/field/energy.h"

#include "lib/core/array.h"
#include "lib/core/err.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
	[TW_PACKAGE] = "package", [TW_CORE] = "core",         [TW_UNCORE] = "uncore",
	[TW_DRAM] = "dram",       [TW_PLATFORM] = "platform", [TW_GPU] = "gpu",
};

_Static_assert(TW_COUNT(names) == TW_COMPONENT_COUNT, "every component needs a name");

static const enum tw_component amd[] = { TW_PACKAGE, TW_CORE };
/* The simulated meter of tw-collector. */
static const enum tw_component fake[] = { TW_PACKAGE, TW_CORE, TW_DRAM };
static const enum tw_component gpu[] = { TW_GPU };
static const enum tw_component hwmon[] = { TW_PLATFORM, TW_PACKAGE, TW_GPU };
static const enum tw_component platform[] = { TW_PLATFORM };
static const enum tw_component rapl[] = { TW_PACKAGE, TW_CORE, TW_UNCORE, TW_DRAM };
static const enum tw_component xgene[] = { TW_PACKAGE, TW_UNCORE };
static const enum tw_component every[] = { TW_PACKAGE, TW_CORE,     TW_UNCORE,
					   TW_DRAM,    TW_PLATFORM, TW_GPU };

#define PARTS(list) list, TW_COUNT(list)

static const struct tw_energy_source sources[] = {
	{ "acpi", PARTS(platform), false },
	{ "amd_energy", PARTS(amd), true },
	{ "amdsmi", PARTS(gpu), false },
	{ "ampere-xgene-hwmon", PARTS(xgene), true },
	{ "fake", PARTS(fake), false },
	{ "hmc", PARTS(platform), false },
	{ "hwmon", PARTS(hwmon), true },
	{ "ipmi", PARTS(platform), false },
	{ "nvml", PARTS(gpu), false },
	{ "passthrough", PARTS(every), true },
	{ "psys", PARTS(platform), false },
	{ "rapl-msr", PARTS(rapl), false },
	{ "rapl-sysfs", PARTS(rapl), false },
	{ "redfish", PARTS(platform), false },
	{ "trained_power_model", PARTS(rapl), false },
};

/*
 * The declared sources. Only `declared` and the entries from it on change, so readers
 * need no lock.
 */
static struct own {
	struct tw_energy_source source;
	char name[TW_ENERGY_SOURCE_NAME_MAX + 1];
} own[TW_ENERGY_SOURCES_OWN_MAX];
static atomic_size_t declared;
static pthread_mutex_t declaring = PTHREAD_MUTEX_INITIALIZER;

const char *tw_component_name(enum tw_component c)
{
	assert((unsigned)c < TW_COMPONENT_COUNT);
	return names[c];
}

bool tw_component_find(const char *name, enum tw_component *out)
{
	for (size_t i = 0; i < TW_COUNT(names); i++) {
		if (strcmp(names[i], name) == 0) {
			*out = (enum tw_component)i;
			return true;
		}
	}
	return false;
}

size_t tw_energy_source_count(void)
{
	return TW_COUNT(sources);
}

const struct tw_energy_source *tw_energy_source_at(size_t i)
{
	assert(i < TW_COUNT(sources));
	return &sources[i];
}

const struct tw_energy_source *tw_energy_source_find(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(sources); i++)
		if (strcmp(sources[i].name, name) == 0)
			return &sources[i];
	for (size_t i = 0; i < atomic_load(&declared); i++)
		if (strcmp(own[i].name, name) == 0)
			return &own[i].source;
	return NULL;
}

static int check_name(const char *name, struct tw_err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	/* The collector's estimates; names beside sources in profiles and pipelines. */
	static const char *const reserved[] = { "background", "error_report", "foreign",
						"max_scaler", "model" };
	const size_t len = strlen(name);

	if (len == 0 || len > TW_ENERGY_SOURCE_NAME_MAX || strspn(name, letters) != len ||
	    strchr("-_.", name[0]) != NULL)
		return tw_fail(err, TW_INVALID,
			       "energy source '%.64s': want 1 to %d letters, digits and "
			       "'-_.', a letter or digit first",
			       name, TW_ENERGY_SOURCE_NAME_MAX);
	for (size_t i = 0; i < TW_COUNT(reserved); i++)
		if (strcmp(reserved[i], name) == 0)
			return tw_fail(err, TW_INVALID,
				       "energy source '%s': the name is reserved", name);
	if (strstr(name, "rapl") != NULL)
		return tw_fail(err, TW_INVALID,
			       "energy source '%s': names with 'rapl' mean rapl-sysfs",
			       name);
	return 0;
}

static int declare(const char *name, const struct tw_energy_source **out,
		   struct tw_err *err)
{
	const size_t n = atomic_load(&declared);
	const struct tw_energy_source *known = tw_energy_source_find(name);

	if (known != NULL) {
		*out = known;
		return 0;
	}
	if (n == TW_ENERGY_SOURCES_OWN_MAX)
		return tw_fail(err, TW_INVALID,
			       "energy source '%s': this process has %d others, the "
			       "limit; restart it",
			       name, TW_ENERGY_SOURCES_OWN_MAX);
	snprintf(own[n].name, sizeof(own[n].name), "%s", name);
	own[n].source = (struct tw_energy_source){ own[n].name, PARTS(every), true };
	atomic_store(&declared, n + 1);
	*out = &own[n].source;
	return 0;
}

int tw_energy_source_open(const char *name, const struct tw_energy_source **out,
			  struct tw_err *err)
{
	const struct tw_energy_source *known = tw_energy_source_find(name);
	int status;

	if (known != NULL) {
		*out = known;
		return 0;
	}
	if (check_name(name, err) < 0)
		return -1;
	pthread_mutex_lock(&declaring);
	status = declare(name, out, err);
	pthread_mutex_unlock(&declaring);
	return status;
}

bool tw_energy_source_is_own(const struct tw_energy_source *s)
{
	for (size_t i = 0; i < TW_COUNT(sources); i++)
		if (s == &sources[i])
			return false;
	return true;
}

const struct tw_energy_source *
tw_energy_source_substitute(const struct tw_energy_source *wanted)
{
	return strcmp(wanted->name, "rapl-sysfs") == 0 ? tw_energy_source_find("rapl-msr")
						       : NULL;
}

const struct tw_energy_source *tw_energy_source_wanted(const char *text)
{
	if (text == NULL || text[0] == '\0' || strstr(text, "rapl") != NULL)
		return tw_energy_source_find("rapl-sysfs");
	return tw_energy_source_find(text);
}

/* The meters of tw-collector that measure nothing, and their sources. */
static const struct {
	const char *meter, *source;
} unmeasured[] = {
	{ "fake", "fake" },
	{ "model", "trained_power_model" },
	{ "passthrough", "passthrough" },
};

bool tw_energy_source_is_measured(const struct tw_energy_source *s)
{
	for (size_t i = 0; i < TW_COUNT(unmeasured); i++)
		if (strcmp(s->name, unmeasured[i].source) == 0)
			return false;
	return true;
}

const char *tw_energy_source_of_meter(const char *meter)
{
	for (size_t i = 0; i < TW_COUNT(unmeasured); i++)
		if (strcmp(meter, unmeasured[i].meter) == 0)
			return unmeasured[i].source;
	return meter;
}

/* Kepler 0.10's simulated meter; powercap's own file is energy_uj. */
static bool is_simulated_by_kepler(const char *path)
{
	const char *file = strrchr(path, '/');

	return file != NULL && strncmp(file, "/energy_", 8) == 0 &&
	       strcmp(file, "/energy_uj") != 0;
}

const char *tw_energy_source_of_path(const char *path)
{
	for (size_t i = 0; i < TW_COUNT(unmeasured); i++) {
		const size_t len = strlen(unmeasured[i].meter);

		if (strncmp(path, unmeasured[i].meter, len) == 0 && path[len] == ':')
			return unmeasured[i].source;
	}
	return is_simulated_by_kepler(path) ? "fake" : NULL;
}

bool tw_energy_path_is_virtual(const char *path)
{
	return path[0] == '/' && strstr(path, "/sys/") == NULL &&
	       strncmp(path, "/dev/", 5) != 0;
}

bool tw_energy_is_of_part(const char *meter)
{
	static const char *const words[] = {
		"accelerator", "cooling",    "cpu",      "dimm",      "disk",  "dram",
		"drive",       "fan",        "fpga",     "gpu",       "hdd",   "memory",
		"nvme",        "pcie",       "psu",      "processor", "riser", "ssd",
		"storage",     "sub-system", "subsystem"
	};

	for (size_t i = 0; i < TW_COUNT(words); i++)
		if (strcasestr(meter, words[i]) != NULL)
			return true;
	return false;
}
