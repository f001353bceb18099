/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/redfish.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* Only paths on the same server. */
static void check_path(const char *path)
{
	must(path[0] == '\0' || (path[0] == '/' && path[1] != '/'));
	must(strlen(path) < TW_REDFISH_PATH && strchr(path, ' ') == NULL);
}

static void check_power(int rc, const struct tw_redfish_power *p,
			const struct tw_err *err)
{
	must(rc == 0 || err->code != TW_OK);
	if (rc == 0)
		must((!isnan(p->power_w) || !isnan(p->energy_j)) && !isinf(p->power_w) &&
		     p->window_ms <= 86400000);
}

static void check_members(const char *text, size_t len)
{
	char next[TW_REDFISH_PATH] = "";
	struct tw_strs members = { 0 };
	struct tw_err err = { 0 };

	must(tw_redfish_parse_members(text, len, &members, next, &err) == 0 ||
	     err.code != TW_OK);
	check_path(next);
	for (size_t i = 0; i < members.count; i++)
		check_path(members.at[i]);
	tw_strs_clear(&members);
}

static void check_supplies(const char *text, size_t len)
{
	char path[TW_REDFISH_PATH] = "";
	struct tw_redfish_supply supply = { .metrics = "" };
	struct tw_redfish_power power;
	struct tw_err err[4] = { 0 };
	int rc;

	rc = tw_redfish_parse_supply_metrics(text, len, &power, &err[0]);
	check_power(rc, &power, &err[0]);
	must(tw_redfish_parse_supply(text, len, &supply, &err[1]) == 0 ||
	     err[1].code != TW_OK);
	check_path(supply.metrics);
	rc = tw_redfish_parse_sensor(text, len, &power, &err[3]);
	check_power(rc, &power, &err[3]);
	rc = tw_redfish_parse_subsystem(text, len, path, &err[2]);
	must(rc == 0 ? path[0] == '/' : err[2].code != TW_OK);
	check_path(path);
}

/* Property: what is refused says why; what is taken is within its bounds. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct tw_redfish_chassis chassis = { .id = "" };
	struct tw_redfish_root root = { .chassis = "" };
	struct tw_redfish_power power;
	struct tw_err err[4] = { 0 };
	char why[32];
	int rc;

	rc = tw_redfish_parse_power(text, size, &power, &err[0]);
	check_power(rc, &power, &err[0]);
	rc = tw_redfish_parse_metrics(text, size, &power, &err[1]);
	check_power(rc, &power, &err[1]);
	must(tw_redfish_parse_chassis(text, size, &chassis, &err[2]) == 0 ||
	     err[2].code != TW_OK);
	check_path(chassis.power);
	check_path(chassis.metrics);
	check_path(chassis.subsystem);
	check_path(chassis.contained_by);
	must(tw_redfish_parse_root(text, size, &root, &err[3]) == 0 ||
	     err[3].code != TW_OK);
	check_path(root.chassis);
	check_path(root.sessions);
	check_members(text, size);
	check_supplies(text, size);
	tw_redfish_parse_error(text, size, why, sizeof(why));
	must(strlen(why) < sizeof(why));
	return 0;
}
