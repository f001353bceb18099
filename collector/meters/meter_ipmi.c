/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/meter.h"
#include "collector/meters/meter_polled.h"
#include "collector/system/roots.h"
#include "lib/core/array.h"
#include "lib/core/err.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define PATIENCE_MS 2000
#define HOLD_MORE_MS 10000

/* The names that ipmi_devintf creates, and used to create. */
static const char *const devices[] = { "ipmi0", "ipmi/0", "ipmidev/0" };

static int find_device(const struct tw_meter_config *c, char *out, size_t size,
		       struct tw_err *err)
{
	for (size_t i = 0; i < TW_COUNT(devices); i++) {
		if ((size_t)snprintf(out, size, "%s/%s", c->roots->dev, devices[i]) >=
		    size)
			return tw_fail(err, TW_INVALID, "'%.64s' is too long",
				       c->roots->dev);
		if (access(out, F_OK) == 0)
			return access(out, R_OK | W_OK) == 0
				       ? 0
				       : tw_fail_errno(err, errno, "'%s'", out);
	}
	return tw_fail(err, TW_NOTFOUND,
		       "'%s/ipmi0' is not there (modprobe ipmi_si, "
		       "ipmi_devintf)",
		       c->roots->dev);
}

static int open_ipmi(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	struct tw_zone zone = TW_POLLED_PLATFORM;
	struct tw_polled_config config = { .job = "ipmi", .patience_ms = PATIENCE_MS };
	char device[TW_ZONE_PATH];

	if (!TW_FREEIPMI)
		return tw_fail(err, TW_UNSUPPORTED, "built without libfreeipmi");
	if (find_device(c, device, sizeof(device), err) < 0)
		return -1;
	config.settings = json_pack("{s:s,s:I}", "device", device, "interval_ms",
				    (json_int_t)c->ipmi_interval_ms);
	config.zone = &zone;
	snprintf(zone.path, sizeof(zone.path), "%s", device);
	config.hold_ms = 2 * c->ipmi_interval_ms + HOLD_MORE_MS;
	return tw_polled_open(c, &config, state, err);
}

const struct tw_meter tw_meter_ipmi = {
	.name = "ipmi",
	.summary =
		"power of the machine, from its management controller over IPMI (DCMI)",
	.open = open_ipmi,
	.zones = tw_polled_zones,
	.grown = tw_polled_grown,
	.read = tw_polled_read,
	.close = tw_polled_close,
};
