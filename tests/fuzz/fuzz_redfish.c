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

static void check_links(const struct tw_redfish_links *l)
{
	must(l->count <= sizeof(l->path) / sizeof(l->path[0]));
	for (size_t i = 0; i < l->count; i++)
		check_path(l->path[i]);
}

static void check_power(const struct tw_redfish_power *p)
{
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

static void check_doc(enum tw_redfish_type type, const char *text, size_t len)
{
	union tw_redfish_doc doc;
	struct tw_err err = { 0 };

	if (tw_redfish_parse(type, text, len, &doc, &err) < 0) {
		must(err.code != TW_OK);
		return;
	}
	switch (type) {
	case TW_REDFISH_METRICS:
	case TW_REDFISH_POWER:
	case TW_REDFISH_SENSOR:
	case TW_REDFISH_SUPPLY_METRICS:
		check_power(&doc.power);
		break;
	case TW_REDFISH_SUBSYSTEM:
		must(doc.supplies[0] == '/');
		check_path(doc.supplies);
		break;
	case TW_REDFISH_SUPPLY:
		check_path(doc.supply.metrics);
		break;
	case TW_REDFISH_CHASSIS:
		check_path(doc.chassis.power);
		check_path(doc.chassis.metrics);
		check_path(doc.chassis.subsystem);
		check_path(doc.chassis.contained_by);
		check_path(doc.chassis.sensors);
		check_links(&doc.chassis.systems);
		break;
	case TW_REDFISH_ROOT:
		check_path(doc.root.chassis);
		check_path(doc.root.sessions);
		break;
	case TW_REDFISH_SYSTEM:
		check_links(&doc.system.chassis);
		break;
	case TW_REDFISH_TYPES:
		break;
	}
}

/* Property: what is refused says why; what is taken is within its bounds. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	char why[32];

	for (int type = 0; type < TW_REDFISH_TYPES; type++)
		check_doc((enum tw_redfish_type)type, text, size);
	check_members(text, size);
	tw_redfish_parse_error(text, size, why, sizeof(why));
	must(strlen(why) < sizeof(why));
	return 0;
}
