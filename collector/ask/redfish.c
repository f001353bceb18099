/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/redfish.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Members in one page of a collection. */
#define MEMBERS_MAX 1024

const char *const tw_redfish_auth_names[] = { "auto", "session", "basic", NULL };

/* Accept only paths on the same server: credentials are sent there. */
static bool is_path(const char *text)
{
	if (text[0] != '/' || text[1] == '/' || strlen(text) >= TW_REDFISH_PATH)
		return false;
	for (; *text != '\0'; text++)
		if ((unsigned char)*text <= 0x20 || (unsigned char)*text > 0x7e ||
		    *text == '#')
			return false;
	return true;
}

/* Read obj[key]["@odata.id"]; "" if missing. */
static int read_link(const json_t *obj, const char *where, const char *key,
		     char out[TW_REDFISH_PATH], struct tw_err *err)
{
	const json_t *link = NULL;
	const char *text = "";
	char place[96];

	snprintf(place, sizeof(place), "%s.%s", where, key);
	if (tw_json_object(obj, where, key, true, &link, err) < 0 ||
	    (link != NULL &&
	     tw_json_text(link, place, "@odata.id", true, &text, err) < 0))
		return -1;
	if (text[0] != '\0' && !is_path(text))
		return tw_fail(err, TW_INVALID, "%s.@odata.id: '%.64s' is no path", place,
			       text);
	snprintf(out, TW_REDFISH_PATH, "%s", text);
	return 0;
}

static bool is_printable(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
			return false;
	return true;
}

static int read_root(const json_t *doc, struct tw_redfish_root *out, struct tw_err *err)
{
	const json_t *links = NULL;

	if (read_link(doc, "root", "Chassis", out->chassis, err) < 0 ||
	    tw_json_object(doc, "root", "Links", true, &links, err) < 0)
		return -1;
	if (links != NULL &&
	    read_link(links, "root.Links", "Sessions", out->sessions, err) < 0)
		return -1;
	if (out->chassis[0] == '\0')
		return tw_fail(err, TW_NOTFOUND, "root.Chassis: missing");
	return 0;
}

int tw_redfish_parse_root(const char *data, size_t len, struct tw_redfish_root *out,
			  struct tw_err *err)
{
	struct tw_redfish_root root = { .chassis = "" };
	json_t *doc = NULL;
	int rc = -1;

	if (tw_json_parse(data, len, "root", &doc, err) < 0 ||
	    read_root(doc, &root, err) < 0)
		goto out;

	*out = root;
	rc = 0;
out:
	json_decref(doc);
	return rc;
}

static int add_member(const json_t *member, size_t i, struct tw_strs *out,
		      struct tw_err *err)
{
	const char *path = "";
	char where[32];

	snprintf(where, sizeof(where), "Members[%zu]", i);
	if (tw_json_text(member, where, "@odata.id", false, &path, err) < 0)
		return -1;
	if (!is_path(path))
		return tw_fail(err, TW_INVALID, "%s.@odata.id: '%.64s' is no path", where,
			       path);
	return tw_strs_adds(out, path, err);
}

int tw_redfish_parse_members(const char *data, size_t len, struct tw_strs *out,
			     char next[TW_REDFISH_PATH], struct tw_err *err)
{
	const json_t *members = NULL;
	const char *more = "";
	json_t *doc = NULL;
	int rc = -1;

	if (tw_json_parse(data, len, "collection", &doc, err) < 0 ||
	    tw_json_array(doc, "collection", "Members", false, &members, err) < 0 ||
	    tw_json_text(doc, "collection", "Members@odata.nextLink", true, &more, err) <
		    0)
		goto out;
	if (json_array_size(members) > MEMBERS_MAX) {
		tw_fail(err, TW_INVALID, "Members: more than %d", MEMBERS_MAX);
		goto out;
	}
	for (size_t i = 0; i < json_array_size(members); i++)
		if (add_member(json_array_get(members, i), i, out, err) < 0)
			goto out;
	if (more[0] != '\0' && !is_path(more)) {
		tw_fail(err, TW_INVALID, "Members@odata.nextLink: '%.64s' is no path",
			more);
		goto out;
	}

	snprintf(next, TW_REDFISH_PATH, "%s", more);
	rc = 0;
out:
	json_decref(doc);
	return rc;
}

/*
 * True for types of Chassis.ChassisType inside a machine, whose power the machine's own
 * chassis includes.
 */
static bool is_part_type(const char *type)
{
	static const char *const types[] = { "Card",      "Cartridge", "Component",
					     "Expansion", "Module",    "IPBasedDrive" };

	for (size_t i = 0; i < TW_COUNT(types); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

static int read_chassis(const json_t *doc, struct tw_redfish_chassis *out,
			struct tw_err *err)
{
	const json_t *links = NULL;
	const char *id = "", *type = "";

	if (tw_json_text(doc, "chassis", "Id", false, &id, err) < 0 ||
	    tw_json_text(doc, "chassis", "ChassisType", true, &type, err) < 0 ||
	    read_link(doc, "chassis", "Power", out->power, err) < 0 ||
	    read_link(doc, "chassis", "EnvironmentMetrics", out->metrics, err) < 0 ||
	    read_link(doc, "chassis", "PowerSubsystem", out->subsystem, err) < 0 ||
	    tw_json_object(doc, "chassis", "Links", true, &links, err) < 0)
		return -1;
	if (links != NULL &&
	    read_link(links, "chassis.Links", "ContainedBy", out->contained_by, err) < 0)
		return -1;
	if (id[0] == '\0' || strlen(id) >= TW_REDFISH_ID || !is_printable(id))
		return tw_fail(err, TW_INVALID,
			       "chassis.Id: want 1 to %d printable bytes",
			       TW_REDFISH_ID - 1);
	snprintf(out->id, sizeof(out->id), "%s", id);
	out->part = is_part_type(type);
	return 0;
}

int tw_redfish_parse_chassis(const char *data, size_t len, struct tw_redfish_chassis *out,
			     struct tw_err *err)
{
	struct tw_redfish_chassis chassis = { .id = "" };
	json_t *doc = NULL;
	int rc = -1;

	if (tw_json_parse(data, len, "chassis", &doc, err) < 0 ||
	    read_chassis(doc, &chassis, err) < 0)
		goto out;

	*out = chassis;
	rc = 0;
out:
	json_decref(doc);
	return rc;
}

/* ---- power supplies ---- */

int tw_redfish_parse_subsystem(const char *data, size_t len,
			       char supplies[TW_REDFISH_PATH], struct tw_err *err)
{
	char path[TW_REDFISH_PATH];
	json_t *doc = NULL;
	int rc = -1;

	if (tw_json_parse(data, len, "subsystem", &doc, err) < 0 ||
	    read_link(doc, "subsystem", "PowerSupplies", path, err) < 0)
		goto out;
	if (path[0] == '\0') {
		tw_fail(err, TW_NOTFOUND, "subsystem.PowerSupplies: missing");
		goto out;
	}

	memcpy(supplies, path, sizeof(path));
	rc = 0;
out:
	json_decref(doc);
	return rc;
}

static int read_supply(const json_t *doc, char metrics[TW_REDFISH_PATH],
		       struct tw_err *err)
{
	const json_t *status = NULL;
	const char *state = "";

	if (tw_json_object(doc, "supply", "Status", true, &status, err) < 0 ||
	    (status != NULL &&
	     tw_json_text(status, "supply.Status", "State", true, &state, err) < 0) ||
	    read_link(doc, "supply", "Metrics", metrics, err) < 0)
		return -1;
	if (strcmp(state, "Absent") == 0 || strcmp(state, "Disabled") == 0)
		metrics[0] = '\0';
	else if (metrics[0] == '\0')
		return tw_fail(err, TW_NOTFOUND, "supply.Metrics: missing");
	return 0;
}

int tw_redfish_parse_supply(const char *data, size_t len, char metrics[TW_REDFISH_PATH],
			    struct tw_err *err)
{
	char path[TW_REDFISH_PATH];
	json_t *doc = NULL;
	int rc = -1;

	if (tw_json_parse(data, len, "supply", &doc, err) < 0 ||
	    read_supply(doc, path, err) < 0)
		goto out;

	memcpy(metrics, path, sizeof(path));
	rc = 0;
out:
	json_decref(doc);
	return rc;
}

/* {"error":{"message":..,"@Message.ExtendedInfo":[{"Message":..}]}} */
void tw_redfish_parse_error(const char *data, size_t len, char *out, size_t size)
{
	struct tw_err ignored = { 0 };
	const json_t *error = NULL, *more = NULL;
	const char *text = "";
	json_t *doc = NULL;

	out[0] = '\0';
	if (tw_json_parse(data, len, "error", &doc, &ignored) < 0)
		return;
	if (tw_json_object(doc, "", "error", false, &error, &ignored) == 0) {
		tw_json_text(error, "", "message", true, &text, &ignored);
		tw_json_array(error, "", "@Message.ExtendedInfo", true, &more, &ignored);
	}
	if (more != NULL && json_array_size(more) > 0)
		tw_json_text(json_array_get(more, 0), "", "Message", true, &text,
			     &ignored);
	snprintf(out, size, "%s", text);
	json_decref(doc);
}

#define J_PER_KWH 3.6e6
#define MS_PER_MIN 60000

/* False if the entry is absent or covers only a part of the chassis. */
static int is_of_chassis(const json_t *entry, const char *where, bool *out,
			 struct tw_err *err)
{
	static const char *const parts[] = { "Accelerator",   "CPU",
					     "Fan",           "GPU",
					     "Memory",        "MemorySubsystem",
					     "CPUSubsystem",  "GPUSubsystem",
					     "StorageDevice", "StorageSubsystem" };
	const char *context = "", *state = "";
	const json_t *status = NULL;
	char place[64];

	snprintf(place, sizeof(place), "%s.Status", where);
	if (tw_json_text(entry, where, "PhysicalContext", true, &context, err) < 0 ||
	    tw_json_object(entry, where, "Status", true, &status, err) < 0 ||
	    (status != NULL &&
	     tw_json_text(status, place, "State", true, &state, err) < 0))
		return -1;
	*out = strcmp(state, "Absent") != 0 && strcmp(state, "Disabled") != 0;
	for (size_t i = 0; i < TW_COUNT(parts); i++)
		*out = *out && strcmp(context, parts[i]) != 0;
	return 0;
}

static int read_control(const json_t *entry, const char *where,
			struct tw_redfish_power *out, struct tw_err *err)
{
	const json_t *metrics = NULL;
	double average_w = NAN, minutes = 0;
	char place[64];

	snprintf(place, sizeof(place), "%s.PowerMetrics", where);
	if (tw_json_number(entry, where, "PowerConsumedWatts", true, &out->power_w, err) <
		    0 ||
	    tw_json_object(entry, where, "PowerMetrics", true, &metrics, err) < 0)
		return -1;
	if (metrics != NULL &&
	    (tw_json_number(metrics, place, "AverageConsumedWatts", true, &average_w,
			    err) < 0 ||
	     tw_json_number(metrics, place, "IntervalInMin", true, &minutes, err) < 0))
		return -1;
	if (isnan(out->power_w))
		out->power_w = average_w;
	/* Ignore windows longer than a day. */
	if (minutes > 0 && minutes <= 1440)
		out->window_ms = (uint64_t)(minutes * MS_PER_MIN);
	return 0;
}

static int read_power(const json_t *doc, struct tw_redfish_power *out, struct tw_err *err)
{
	const json_t *controls = NULL;

	if (tw_json_array(doc, "power", "PowerControl", false, &controls, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(controls); i++) {
		const json_t *entry = json_array_get(controls, i);
		char where[48];
		bool whole;

		snprintf(where, sizeof(where), "PowerControl[%zu]", i);
		if (is_of_chassis(entry, where, &whole, err) < 0 ||
		    (whole && read_control(entry, where, out, err) < 0))
			return -1;
		if (whole && !isnan(out->power_w))
			return 0;
	}
	return tw_fail(err, TW_NOTFOUND, "PowerControl: no PowerConsumedWatts");
}

/* Parse a document with one of the readers. */
static int parse(const char *data, size_t len, const char *what,
		 int (*read)(const json_t *doc, struct tw_redfish_power *out,
			     struct tw_err *err),
		 struct tw_redfish_power *out, struct tw_err *err)
{
	struct tw_redfish_power power = { .power_w = NAN, .energy_j = NAN };
	json_t *doc = NULL;
	int rc = -1;

	if (tw_json_parse(data, len, what, &doc, err) < 0 || read(doc, &power, err) < 0)
		goto out;

	*out = power;
	rc = 0;
out:
	json_decref(doc);
	return rc;
}

int tw_redfish_parse_power(const char *data, size_t len, struct tw_redfish_power *out,
			   struct tw_err *err)
{
	return parse(data, len, "power", read_power, out, err);
}

/* A sensor excerpt: {"Reading": 374.5, ..}. A sensor without a value reports null. */
static int read_sensor(const json_t *doc, const char *key, double *out,
		       struct tw_err *err)
{
	const json_t *sensor = NULL;
	char where[48];

	snprintf(where, sizeof(where), "metrics.%s", key);
	if (tw_json_object(doc, "metrics", key, true, &sensor, err) < 0)
		return -1;
	return sensor == NULL ? 0
			      : tw_json_number(sensor, where, "Reading", true, out, err);
}

static int read_metrics(const json_t *doc, struct tw_redfish_power *out,
			struct tw_err *err)
{
	double kwh = NAN;

	if (read_sensor(doc, "PowerWatts", &out->power_w, err) < 0 ||
	    read_sensor(doc, "EnergyJoules", &out->energy_j, err) < 0 ||
	    read_sensor(doc, "EnergykWh", &kwh, err) < 0)
		return -1;
	if (isnan(out->energy_j))
		out->energy_j = kwh * J_PER_KWH;
	if (isnan(out->power_w) && isnan(out->energy_j))
		return tw_fail(err, TW_NOTFOUND, "metrics: no PowerWatts, no energy");
	return 0;
}

int tw_redfish_parse_metrics(const char *data, size_t len, struct tw_redfish_power *out,
			     struct tw_err *err)
{
	return parse(data, len, "metrics", read_metrics, out, err);
}

static int read_supply_metrics(const json_t *doc, struct tw_redfish_power *out,
			       struct tw_err *err)
{
	double kwh = NAN;

	if (read_sensor(doc, "InputPowerWatts", &out->power_w, err) < 0 ||
	    read_sensor(doc, "EnergykWh", &kwh, err) < 0)
		return -1;
	out->energy_j = kwh * J_PER_KWH;
	if (isnan(out->power_w) && isnan(out->energy_j))
		return tw_fail(err, TW_NOTFOUND,
			       "metrics: no InputPowerWatts, no energy");
	return 0;
}

int tw_redfish_parse_supply_metrics(const char *data, size_t len,
				    struct tw_redfish_power *out, struct tw_err *err)
{
	return parse(data, len, "metrics", read_supply_metrics, out, err);
}
