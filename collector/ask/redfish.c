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

/* More than any machine uses, as in collector/power/track.c. */
#define POWER_MAX_W 50000

const char *const tw_redfish_auth_names[] = { "auto", "session", "basic", NULL };

bool tw_redfish_is_plausible(const struct tw_redfish_power *p)
{
	return isnan(p->power_w) ? p->energy_j >= 0
				 : p->power_w > 0 && p->power_w < POWER_MAX_W;
}

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

static int read_root(const json_t *doc, union tw_redfish_doc *to, struct tw_err *err)
{
	struct tw_redfish_root *out = &to->root;
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

	if (tw_json_parse_loose(data, len, "collection", &doc, err) < 0 ||
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
	static const char *const types[] = { "Card",      "Cartridge",    "Component",
					     "Expansion", "IPBasedDrive", "Module",
					     "Zone" };

	for (size_t i = 0; i < TW_COUNT(types); i++)
		if (strcmp(type, types[i]) == 0)
			return true;
	return false;
}

/* A text that power does not need: "" if it is missing, or no text. */
static const char *text_or_empty(const json_t *obj, const char *key)
{
	const char *text = json_string_value(json_object_get(obj, key));

	return text != NULL ? text : "";
}

static int read_chassis(const json_t *doc, union tw_redfish_doc *to, struct tw_err *err)
{
	struct tw_redfish_chassis *out = &to->chassis;
	const json_t *links = json_object_get(doc, "Links");
	const char *id = text_or_empty(doc, "Id");
	const char *type = text_or_empty(doc, "ChassisType");

	if (read_link(doc, "chassis", "Power", out->power, err) < 0 ||
	    read_link(doc, "chassis", "EnvironmentMetrics", out->metrics, err) < 0 ||
	    read_link(doc, "chassis", "PowerSubsystem", out->subsystem, err) < 0 ||
	    read_link(doc, "chassis", "Sensors", out->sensors, err) < 0)
		return -1;
	if (json_is_object(links) &&
	    read_link(links, "chassis.Links", "ContainedBy", out->contained_by, err) < 0)
		return -1;
	if (strlen(id) < TW_REDFISH_ID && is_printable(id))
		snprintf(out->id, sizeof(out->id), "%s", id);
	out->part = is_part_type(type);
	out->other = type[0] == '\0' || strcmp(type, "Other") == 0;
	return 0;
}

/* ---- power supplies ---- */

static int read_subsystem(const json_t *doc, union tw_redfish_doc *out,
			  struct tw_err *err)
{
	if (read_link(doc, "subsystem", "PowerSupplies", out->supplies, err) < 0)
		return -1;
	return out->supplies[0] != '\0'
		       ? 0
		       : tw_fail(err, TW_NOTFOUND, "subsystem.PowerSupplies: missing");
}

enum supply_state {
	SUPPLY_ON,
	SUPPLY_OFF,    /* present, without input or standing by */
	SUPPLY_ABSENT, /* or disabled */
};

/* Of a PowerSupply, or of an entry of PowerSupplies. */
static int read_supply_state(const json_t *doc, const char *where, enum supply_state *out,
			     struct tw_err *err)
{
	static const struct {
		const char *name;
		enum supply_state state;
	} states[] = {
		{ "Absent", SUPPLY_ABSENT },    { "Disabled", SUPPLY_ABSENT },
		{ "Sleep", SUPPLY_OFF },        { "StandbyOffline", SUPPLY_OFF },
		{ "StandbySpare", SUPPLY_OFF }, { "UnavailableOffline", SUPPLY_OFF },
	};
	const char *state = "", *line = text_or_empty(doc, "LineInputStatus");
	const json_t *status = NULL;
	char place[64];

	snprintf(place, sizeof(place), "%s.Status", where);
	if (tw_json_object(doc, where, "Status", true, &status, err) < 0 ||
	    (status != NULL &&
	     tw_json_text(status, place, "State", true, &state, err) < 0))
		return -1;
	*out = strcmp(line, "LossOfInput") == 0 ? SUPPLY_OFF : SUPPLY_ON;
	for (size_t i = 0; i < TW_COUNT(states); i++)
		if (strcmp(states[i].name, state) == 0)
			*out = states[i].state;
	return 0;
}

static int read_supply(const json_t *doc, union tw_redfish_doc *to, struct tw_err *err)
{
	struct tw_redfish_supply *out = &to->supply;
	enum supply_state state;

	if (read_supply_state(doc, "supply", &state, err) < 0 ||
	    read_link(doc, "supply", "Metrics", out->metrics, err) < 0)
		return -1;
	out->off = state == SUPPLY_OFF;
	if (state == SUPPLY_ABSENT)
		out->metrics[0] = '\0';
	else if (out->metrics[0] == '\0' && !out->off)
		return tw_fail(err, TW_NOTFOUND, "supply.Metrics: missing");
	return 0;
}

/* {"error":{"message":..,"@Message.ExtendedInfo":[{"Message":..}]}} */
void tw_redfish_parse_error(const char *data, size_t len, char *out, size_t size)
{
	struct tw_err ignored = { 0 };
	const json_t *error = NULL, *more = NULL;
	const char *text = "";
	json_t *doc = NULL;

	out[0] = '\0';
	if (tw_json_parse_loose(data, len, "error", &doc, &ignored) < 0)
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

/* Whether the entry measures a part of the chassis: "CPU Sub-system Power". */
static bool names_part(const char *name)
{
	static const char *const words[] = { "accelerator", "cpu",     "drive",
					     "fan",         "gpu",     "memory",
					     "processor",   "storage", "sub-system",
					     "subsystem" };

	for (size_t i = 0; i < TW_COUNT(words); i++)
		if (strcasestr(name, words[i]) != NULL)
			return true;
	return false;
}

/*
 * False if the entry is absent or covers only a part of the chassis, by its context, or
 * by its name if it has none.
 */
static bool is_of_chassis(const json_t *entry)
{
	static const char *const parts[] = { "Accelerator",   "CPU",
					     "Fan",           "GPU",
					     "Memory",        "MemorySubsystem",
					     "CPUSubsystem",  "GPUSubsystem",
					     "StorageDevice", "StorageSubsystem" };
	const char *context = text_or_empty(entry, "PhysicalContext"),
		   *state = text_or_empty(json_object_get(entry, "Status"), "State");

	if (strcmp(state, "Absent") == 0 || strcmp(state, "Disabled") == 0)
		return false;
	for (size_t i = 0; i < TW_COUNT(parts); i++)
		if (strcmp(context, parts[i]) == 0)
			return false;
	return context[0] != '\0' || !names_part(text_or_empty(entry, "Name"));
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

/*
 * The input of an entry of PowerSupplies; 0 if the supply has none, NaN if it is unknown.
 * Some controllers report the rating as input: iDRAC 7 and 8.
 */
static int read_input(const json_t *entry, const char *where, bool *there, double *out,
		      struct tw_err *err)
{
	double capacity_w = NAN;
	enum supply_state state;

	*out = NAN;
	if (read_supply_state(entry, where, &state, err) < 0 ||
	    tw_json_number(entry, where, "PowerInputWatts", true, out, err) < 0 ||
	    tw_json_number(entry, where, "PowerCapacityWatts", true, &capacity_w, err) <
		    0)
		return -1;
	*there = state != SUPPLY_ABSENT;
	if (capacity_w > 0 && *out >= capacity_w)
		*out = NAN;
	if (isnan(*out) && state == SUPPLY_OFF)
		*out = 0;
	return 0;
}

/* The sum of PowerSupplies. */
static int read_inputs(const json_t *doc, double *sum_w, struct tw_err *err)
{
	const json_t *supplies = NULL;
	bool any = false;

	*sum_w = 0;
	if (tw_json_array(doc, "power", "PowerSupplies", true, &supplies, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(supplies); i++) {
		char where[48];
		double input_w;
		bool there;

		snprintf(where, sizeof(where), "PowerSupplies[%zu]", i);
		if (read_input(json_array_get(supplies, i), where, &there, &input_w,
			       err) < 0)
			return -1;
		if (there && isnan(input_w))
			return tw_fail(err, TW_NOTFOUND,
				       "no PowerConsumedWatts, and %s: no "
				       "PowerInputWatts",
				       where);
		*sum_w += there ? input_w : 0;
		any = any || there;
	}
	return any ? 0 : tw_fail(err, TW_NOTFOUND, "PowerControl: no PowerConsumedWatts");
}

static int read_power(const json_t *doc, union tw_redfish_doc *to, struct tw_err *err)
{
	struct tw_redfish_power *out = &to->power;
	const json_t *controls = NULL;
	struct tw_err why = { 0 };
	double sum_w;

	if (tw_json_array(doc, "power", "PowerControl", true, &controls, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(controls); i++) {
		const json_t *entry = json_array_get(controls, i);
		struct tw_redfish_power power = { .power_w = NAN, .energy_j = NAN };
		char where[48];

		snprintf(where, sizeof(where), "PowerControl[%zu]", i);
		if (is_of_chassis(entry) && read_control(entry, where, &power, err) < 0)
			return -1;
		if (isnan(out->power_w) || power.power_w > 0)
			*out = power;
		if (out->power_w > 0)
			return 0;
	}
	if (read_inputs(doc, &sum_w, &why) == 0)
		*out = (struct tw_redfish_power){ .power_w = sum_w, .energy_j = NAN };
	return isnan(out->power_w) ? tw_fail(err, why.code, "%s", why.text) : 0;
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

static int read_metrics(const json_t *doc, union tw_redfish_doc *to, struct tw_err *err)
{
	struct tw_redfish_power *out = &to->power;
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

static int read_whole_sensor(const json_t *doc, union tw_redfish_doc *to,
			     struct tw_err *err)
{
	struct tw_redfish_power *out = &to->power;
	if (tw_json_number(doc, "sensor", "Reading", true, &out->power_w, err) < 0)
		return -1;
	if (isnan(out->power_w) ||
	    strcmp(text_or_empty(doc, "ReadingType"), "Power") != 0)
		return tw_fail(err, TW_NOTFOUND, "sensor: no reading of power");
	return 0;
}

static int read_supply_metrics(const json_t *doc, union tw_redfish_doc *to,
			       struct tw_err *err)
{
	struct tw_redfish_power *out = &to->power;
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

/* ---- all of them ---- */

static const struct {
	const char *name; /* for errors */
	int (*read)(const json_t *doc, union tw_redfish_doc *out, struct tw_err *err);
	bool power; /* of a struct tw_redfish_power: a value that is missing is NaN */
} types[TW_REDFISH_TYPES] = {
	[TW_REDFISH_ROOT] = { "root", read_root, false },
	[TW_REDFISH_CHASSIS] = { "chassis", read_chassis, false },
	[TW_REDFISH_SUBSYSTEM] = { "subsystem", read_subsystem, false },
	[TW_REDFISH_SUPPLY] = { "supply", read_supply, false },
	[TW_REDFISH_SUPPLY_METRICS] = { "metrics", read_supply_metrics, true },
	[TW_REDFISH_METRICS] = { "metrics", read_metrics, true },
	[TW_REDFISH_POWER] = { "power", read_power, true },
	[TW_REDFISH_SENSOR] = { "sensor", read_whole_sensor, true },
};

int tw_redfish_parse(enum tw_redfish_type type, const char *data, size_t len,
		     union tw_redfish_doc *out, struct tw_err *err)
{
	union tw_redfish_doc read = { .chassis = { .id = "" } };
	json_t *doc = NULL;
	int rc = -1;

	if (types[type].power)
		read.power = (struct tw_redfish_power){ .power_w = NAN, .energy_j = NAN };
	if (tw_json_parse_loose(data, len, types[type].name, &doc, err) < 0 ||
	    types[type].read(doc, &read, err) < 0)
		goto out;

	*out = read;
	rc = 0;
out:
	json_decref(doc);
	return rc;
}
