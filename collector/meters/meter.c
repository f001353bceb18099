/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/meter.h"

#include "lib/core/array.h"
#include "lib/core/err.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/*
 * Most trusted first: for each kind of zone, the first meter that has the kind is used.
 */
static const struct tw_meter *const meters[] = {
	&tw_meter_rapl_sysfs,  &tw_meter_rapl_msr,  &tw_meter_rapl_perf,
	&tw_meter_passthrough, &tw_meter_xgene,     &tw_meter_amd_energy,
	&tw_meter_command,     &tw_meter_file,      &tw_meter_prometheus,
	&tw_meter_acpi,        &tw_meter_ipmi,      &tw_meter_redfish,
	&tw_meter_nvml,        &tw_meter_amdsmi,    &tw_meter_cray,
	&tw_meter_hwmon,       &tw_meter_hwmon_any, &tw_meter_model,
	&tw_meter_fake,
};

size_t tw_meter_count(void)
{
	return TW_COUNT(meters);
}

const struct tw_meter *tw_meter_at(size_t i)
{
	assert(i < TW_COUNT(meters));
	return meters[i];
}

const struct tw_meter *tw_meter_find(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(meters); i++)
		if (strcmp(meters[i]->name, name) == 0)
			return meters[i];
	return NULL;
}

size_t tw_meter_rank(const struct tw_meter *meter)
{
	size_t i = 0;

	while (i < TW_COUNT(meters) && meters[i] != meter)
		i++;
	return i;
}

void tw_reading_fail(struct tw_reading *out, const struct tw_err *why)
{
	*out = (struct tw_reading){ .readable = false };
	snprintf(out->why, sizeof(out->why), "%.*s", (int)sizeof(out->why) - 1,
		 why->text);
}
