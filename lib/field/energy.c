/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/field/energy.h"

#include "lib/core/array.h"

#include <assert.h>
#include <string.h>

static const char *const names[] = {
	[TW_PACKAGE] = "package", [TW_CORE] = "core",         [TW_UNCORE] = "uncore",
	[TW_DRAM] = "dram",       [TW_PLATFORM] = "platform",
};

_Static_assert(TW_COUNT(names) == TW_COMPONENT_COUNT, "every component needs a name");

static const enum tw_component rapl[] = { TW_PACKAGE, TW_CORE, TW_UNCORE, TW_DRAM };
/* The simulated meter of tw-collector. */
static const enum tw_component fake[] = { TW_PACKAGE, TW_CORE, TW_DRAM };
static const enum tw_component platform[] = { TW_PLATFORM };

static const struct tw_energy_source sources[] = {
	{ "acpi", platform, TW_COUNT(platform) },
	{ "fake", fake, TW_COUNT(fake) },
	{ "hmc", platform, TW_COUNT(platform) },
	{ "psys", platform, TW_COUNT(platform) },
	{ "rapl-msr", rapl, TW_COUNT(rapl) },
	{ "rapl-sysfs", rapl, TW_COUNT(rapl) },
	{ "redfish", platform, TW_COUNT(platform) },
	{ "trained_power_model", rapl, TW_COUNT(rapl) },
};

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
	return NULL;
}

const struct tw_energy_source *tw_energy_source_wanted(const char *text)
{
	if (text == NULL || text[0] == '\0' || strstr(text, "rapl") != NULL)
		return tw_energy_source_find("rapl-sysfs");
	return tw_energy_source_find(text);
}

bool tw_energy_source_is_measured(const struct tw_energy_source *s)
{
	static const char *const others[] = { "fake", "passthrough",
					      "trained_power_model" };

	for (size_t i = 0; i < TW_COUNT(others); i++)
		if (strcmp(s->name, others[i]) == 0)
			return false;
	return true;
}
