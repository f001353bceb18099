/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/redfish.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/core/strs.h"
#include "lib/field/energy.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Members in one page of a collection. */
#define MEMBERS_MAX 1024

/* More than any machine uses, as in collector/power/track.c. */
#define POWER_MAX_W 50000

const char *const tw_redfish_auth_names[] = { "auto", "session", "basic", NULL };

static bool is_plausible_power(double power_w)
{
	return power_w > 0 && power_w < POWER_MAX_W;
}

bool tw_redfish_is_alike(double a, double b)
{
	return a > 0 && fabs(a - b) <= 0.05 * fmax(a, b);
}

bool tw_redfish_is_plausible(const struct tw_redfish_power *p)
{
	return isnan(p->power_w) ? p->energy_j >= 0 : is_plausible_power(p->power_w);
}

/*
 * ---- members ----
 *
 * Controllers write a list of one for an object, an object for a list of one, numbers as
 * texts, and texts for objects that power does not need. A member of a wrong type counts
 * as missing.
 */

/* The entries of a list; an object is a list of one. */
static size_t count_of(const json_t *list)
{
	return json_is_object(list) ? 1 : json_array_size(list);
}

static const json_t *entry_of(const json_t *list, size_t i)
{
	return json_is_object(list) ? list : json_array_get(list, i);
}

/* NULL: missing. */
static const json_t *member_of(const json_t *obj, const char *key)
{
	return json_object_get(entry_of(obj, 0), key);
}

/* "": missing. */
static const char *text_of(const json_t *obj, const char *key)
{
	const char *text = json_string_value(member_of(obj, key));

	return text != NULL ? text : "";
}

/* NaN unless the text is a number, with or without "W" behind it. */
static double number_of_text(const char *text)
{
	static const char *const units[] = { "", "W", "Watt", "Watts" };
	double out = NAN;

	text += strspn(text, " ");
	text += tw_scan_double(text, strlen(text), &out);
	text += strspn(text, " ");
	for (size_t i = 0; i < TW_COUNT(units); i++)
		if (strcasecmp(text, units[i]) == 0)
			return out;
	return NAN;
}

/* A number, or a sensor with a Reading: {"Reading": 374.5, ..}. NaN: missing. */
static double number_of(const json_t *obj, const char *key)
{
	const json_t *v = member_of(obj, key);

	if (json_is_object(v) || json_is_array(v))
		v = member_of(v, "Reading");
	if (json_is_string(v))
		return number_of_text(json_string_value(v));
	return json_is_number(v) ? json_number_value(v) : (double)NAN;
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

/* A link is {"@odata.id": PATH}, or PATH alone. False, and "", if it has no path. */
static bool read_link(const json_t *link, char out[TW_REDFISH_PATH])
{
	const char *text = json_is_string(link) ? json_string_value(link)
						: text_of(link, "@odata.id");
	const bool fine = is_path(text);

	snprintf(out, TW_REDFISH_PATH, "%s", fine ? text : "");
	return fine;
}

/* Read the link obj[key]. */
static bool link_of(const json_t *obj, const char *key, char out[TW_REDFISH_PATH])
{
	return read_link(member_of(obj, key), out);
}

static void read_links(const json_t *obj, const char *key, struct tw_redfish_links *out)
{
	const json_t *list = member_of(obj, key);

	for (size_t i = 0; i < count_of(list) && out->count < TW_COUNT(out->path); i++)
		out->count += read_link(entry_of(list, i), out->path[out->count]);
}

/* ---- root, systems, chassis ---- */

static int read_root(const json_t *doc, union tw_redfish_doc *to, struct tw_err *err)
{
	struct tw_redfish_root *out = &to->root;

	link_of(doc, "Systems", out->systems);
	link_of(member_of(doc, "Links"), "Sessions", out->sessions);
	return link_of(doc, "Chassis", out->chassis)
		       ? 0
		       : tw_fail(err, TW_NOTFOUND, "root.Chassis: missing");
}

int tw_redfish_parse_members(const char *data, size_t len, struct tw_strs *out,
			     char next[TW_REDFISH_PATH], struct tw_err *err)
{
	const json_t *members, *more;
	char path[TW_REDFISH_PATH];
	json_t *doc = NULL;
	size_t count, good = 0;
	int rc = -1;

	if (tw_json_parse_loose(data, len, "collection", &doc, err) < 0)
		return -1;
	members = member_of(doc, "Members");
	more = member_of(doc, "Members@odata.nextLink");
	count = count_of(members);
	if (!json_is_array(members) && !json_is_object(members)) {
		tw_fail(err, TW_PARSE, "collection.Members: missing");
		goto out;
	}
	if (count > MEMBERS_MAX) {
		tw_fail(err, TW_INVALID, "Members: more than %d", MEMBERS_MAX);
		goto out;
	}
	/* Members without a path are skipped, unless all are; copies are, too. */
	for (size_t i = 0; i < count; i++) {
		if (!read_link(entry_of(members, i), path))
			continue;
		good++;
		if (!tw_strs_has(out, path) && tw_strs_adds(out, path, err) < 0)
			goto out;
	}
	if (good == 0 && count > 0) {
		tw_fail(err, TW_INVALID, "Members: none of %zu has a path", count);
		goto out;
	}
	if (!read_link(more, next) && more != NULL && !json_is_null(more)) {
		tw_fail(err, TW_INVALID, "Members@odata.nextLink: no path");
		goto out;
	}
	rc = 0;
out:
	json_decref(doc);
	return rc;
}

static bool is_one_of(const char *text, const char *const *words)
{
	while (*words != NULL && strcmp(text, *words) != 0)
		words++;
	return *words != NULL;
}

static bool has_word(const char *text, const char *const *words)
{
	while (*words != NULL && strcasestr(text, *words) == NULL)
		words++;
	return *words != NULL;
}

static bool is_printable(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
			return false;
	return true;
}

/* Types of System.SystemType that are no machine. */
static const char *const no_machines[] = { "Composed", "DPU", "OS", "Virtual", NULL };

static int read_system(const json_t *doc, union tw_redfish_doc *to, struct tw_err *err)
{
	struct tw_redfish_system *out = &to->system;

	(void)err;
	out->part = is_one_of(text_of(doc, "SystemType"), no_machines);
	read_links(member_of(doc, "Links"), "Chassis", &out->chassis);
	return 0;
}

static enum tw_redfish_kind kind_of(const char *type)
{
	static const struct {
		const char *type;
		enum tw_redfish_kind kind;
	} types[] = {
		{ "", TW_REDFISH_OTHER },
		{ "Blade", TW_REDFISH_PLUGGED },
		{ "Card", TW_REDFISH_PART },
		{ "Cartridge", TW_REDFISH_PART },
		{ "Component", TW_REDFISH_PART },
		{ "Drawer", TW_REDFISH_PLUGGED },
		{ "Enclosure", TW_REDFISH_ENCLOSURE },
		{ "Expansion", TW_REDFISH_PART },
		{ "IPBasedDrive", TW_REDFISH_PART },
		{ "Module", TW_REDFISH_PART },
		{ "Other", TW_REDFISH_OTHER },
		{ "Pod", TW_REDFISH_GROUP },
		{ "Rack", TW_REDFISH_GROUP },
		{ "RackGroup", TW_REDFISH_GROUP },
		{ "RackMount", TW_REDFISH_SINGLE },
		{ "Row", TW_REDFISH_GROUP },
		{ "Shelf", TW_REDFISH_PLUGGED },
		{ "Sled", TW_REDFISH_PLUGGED },
		{ "StandAlone", TW_REDFISH_SINGLE },
		{ "Zone", TW_REDFISH_PART },
	};

	for (size_t i = 0; i < TW_COUNT(types); i++)
		if (strcmp(types[i].type, type) == 0)
			return types[i].kind;
	return TW_REDFISH_NAMED;
}

static int read_chassis(const json_t *doc, union tw_redfish_doc *to, struct tw_err *err)
{
	struct tw_redfish_chassis *out = &to->chassis;
	const json_t *links = member_of(doc, "Links");
	const char *id = text_of(doc, "Id");

	(void)err;
	snprintf(out->serial, sizeof(out->serial), "%.*s", TW_REDFISH_ID - 1,
		 text_of(doc, "SerialNumber"));
	link_of(doc, "Power", out->power);
	link_of(doc, "EnvironmentMetrics", out->metrics);
	link_of(doc, "PowerSubsystem", out->subsystem);
	link_of(doc, "Sensors", out->sensors);
	link_of(links, "ContainedBy", out->contained_by);
	read_links(links, "Contains", &out->contains);
	read_links(links, "ComputerSystems", &out->systems);
	if (strlen(id) < TW_REDFISH_ID && is_printable(id))
		snprintf(out->id, sizeof(out->id), "%s", id);
	out->kind = kind_of(text_of(doc, "ChassisType"));
	return 0;
}

/* ---- power supplies ---- */

static int read_subsystem(const json_t *doc, union tw_redfish_doc *out,
			  struct tw_err *err)
{
	return link_of(doc, "PowerSupplies", out->supplies)
		       ? 0
		       : tw_fail(err, TW_NOTFOUND, "subsystem.PowerSupplies: missing");
}

static const char *state_of(const json_t *doc)
{
	return text_of(member_of(doc, "Status"), "State");
}

static bool is_absent(const json_t *doc)
{
	static const char *const states[] = { "Absent", "Disabled", NULL };

	return is_one_of(state_of(doc), states);
}

/* Whether a supply that is present reports that it has no input, or stands by. */
static bool is_off(const json_t *doc)
{
	static const char *const states[] = { "Sleep", "StandbyOffline", "StandbySpare",
					      "UnavailableOffline", NULL };

	return is_one_of(state_of(doc), states) ||
	       strcmp(text_of(doc, "LineInputStatus"), "LossOfInput") == 0 ||
	       number_of(doc, "LineInputVoltage") == 0;
}

static int read_supply(const json_t *doc, union tw_redfish_doc *to, struct tw_err *err)
{
	struct tw_redfish_supply *out = &to->supply;

	link_of(doc, "Metrics", out->metrics);
	out->off = !is_absent(doc) && is_off(doc);
	if (is_absent(doc))
		out->metrics[0] = '\0';
	else if (out->metrics[0] == '\0' && !out->off)
		return tw_fail(err, TW_NOTFOUND, "supply.Metrics: missing");
	return 0;
}

/* {"error":{"message":..,"@Message.ExtendedInfo":[{"Message":..}]}} */
void tw_redfish_parse_error(const char *data, size_t len, char *out, size_t size)
{
	struct tw_err ignored = { 0 };
	const json_t *error;
	const char *text;
	json_t *doc = NULL;

	out[0] = '\0';
	if (tw_json_parse_loose(data, len, "error", &doc, &ignored) < 0)
		return;
	error = member_of(doc, "error");
	text = text_of(member_of(error, "@Message.ExtendedInfo"), "Message");
	snprintf(out, size, "%s", text[0] != '\0' ? text : text_of(error, "message"));
	json_decref(doc);
}

#define J_PER_KWH 3.6e6
#define MS_PER_MIN 60000

/* ---- Power ---- */

/*
 * How far an entry of PowerControl or a sensor covers the chassis, by its context, or by
 * its name: "CPU Sub-system Power" is a part, "Server Power Control" the whole.
 */
enum cover { COVER_PART, COVER_UNKNOWN, COVER_CONTEXT, COVER_WHOLE };

static enum cover cover_of(const json_t *entry)
{
	static const char *const part_contexts[] = { "ASIC",
						     "Accelerator",
						     "CPU",
						     "CPUSubsystem",
						     "FPGA",
						     "Fan",
						     "GPU",
						     "GPUSubsystem",
						     "Memory",
						     "MemorySubsystem",
						     "NetworkingDevice",
						     "PowerSupply",
						     "StorageDevice",
						     "StorageSubsystem",
						     "VoltageRegulator",
						     NULL };
	static const char *const wholes[] = { "Chassis", "Intake", NULL };
	static const char *const whole_words[] = { "chassis", "platform", "server",
						   "system",  "total",    NULL };
	const char *context = text_of(entry, "PhysicalContext"),
		   *name = text_of(entry, "Name");

	/* Gigabyte's entry is disabled, and has a power. */
	if (strcmp(state_of(entry), "Absent") == 0)
		return COVER_PART;
	/* HPE's Cray EX measures a node at the regulator of its input. */
	if (strcasecmp(name, "Node") == 0)
		return COVER_WHOLE;
	if (is_one_of(context, part_contexts))
		return COVER_PART;
	if (context[0] == '\0' && tw_energy_is_of_part(name))
		return COVER_PART;
	if (has_word(name, whole_words))
		return COVER_WHOLE;
	if (!is_one_of(context, wholes))
		return COVER_UNKNOWN;
	return tw_energy_is_of_part(name) ? COVER_PART : COVER_CONTEXT;
}

/* The only entry at the supplies is what all of them take: Cisco. */
static bool is_of_supplies(const json_t *entry)
{
	return strcmp(text_of(entry, "PhysicalContext"), "PowerSupply") == 0 &&
	       !is_absent(entry);
}

static void read_control(const json_t *entry, struct tw_redfish_power *out)
{
	const json_t *metrics = member_of(entry, "PowerMetrics");
	const double minutes = number_of(metrics, "IntervalInMin"),
		     average_w = number_of(metrics, "AverageConsumedWatts");

	*out = (struct tw_redfish_power){ .power_w =
						  number_of(entry, "PowerConsumedWatts"),
					  .energy_j = NAN };
	if (isnan(out->power_w) ||
	    (!is_plausible_power(out->power_w) && is_plausible_power(average_w)))
		out->power_w = average_w;
	/* Ignore windows longer than a day. */
	if (minutes > 0 && minutes <= 1440)
		out->window_ms = (uint64_t)(minutes * MS_PER_MIN);
}

/*
 * A number of a supply. Some controllers report the rating instead: iDRAC 7 and 8.
 * Huawei's have the number in its own object.
 */
static double supply_number(const json_t *entry, const char *key)
{
	const double rating_w = number_of(entry, "PowerCapacityWatts");
	double value = number_of(entry, key);

	if (isnan(value))
		value = number_of(member_of(member_of(entry, "Oem"), "Huawei"), key);
	return value < 0 || value >= (rating_w > 0 ? rating_w : POWER_MAX_W) ? NAN
									     : value;
}

/* NaN: unknown. A supply that was pulled may have its last reading. */
static double output_of(const json_t *entry)
{
	const double now_w = supply_number(entry, "PowerOutputWatts");

	return isnan(now_w) ? supply_number(entry, "LastPowerOutputWatts") : now_w;
}

/* A supply takes at least its output, within the errors of both sensors. */
static bool is_above_input(double output_w, double input_w)
{
	return output_w > input_w * 1.1 + 10;
}

/* The sum of the inputs of PowerSupplies. */
static int read_inputs(const json_t *doc, double *sum_w, struct tw_err *err)
{
	const json_t *supplies = member_of(doc, "PowerSupplies");
	bool any = false;

	*sum_w = 0;
	for (size_t i = 0; i < count_of(supplies); i++) {
		const json_t *entry = entry_of(supplies, i);
		double input_w = supply_number(entry, "PowerInputWatts");

		if (is_absent(entry))
			continue;
		if (is_above_input(output_of(entry), input_w))
			input_w = NAN;
		if (isnan(input_w) && is_off(entry))
			input_w = 0;
		if (isnan(input_w))
			return tw_fail(err, TW_NOTFOUND,
				       "no PowerConsumedWatts, and PowerSupplies[%zu]: "
				       "no plausible PowerInputWatts",
				       i);
		*sum_w += input_w;
		any = true;
	}
	return any ? 0 : tw_fail(err, TW_NOTFOUND, "PowerControl: no PowerConsumedWatts");
}

/*
 * The sum of the outputs of the supplies. 0: an output is unknown, or is the machine's
 * power (HPE's Apollo).
 */
static double sum_outputs(const json_t *doc, double machine_w)
{
	const json_t *supplies = member_of(doc, "PowerSupplies");
	double sum_w = 0;

	for (size_t i = 0; i < count_of(supplies); i++) {
		const json_t *entry = entry_of(supplies, i);
		const double output_w = output_of(entry);

		if (is_absent(entry))
			continue;
		if ((isnan(output_w) && !is_off(entry)) || output_w == machine_w)
			return 0;
		sum_w += isnan(output_w) ? 0 : output_w;
	}
	return sum_w;
}

/* A member of the vendor's own: Fujitsu's iRMC, or Inspur's without PowerControl. */
static double vendor_power(const json_t *doc)
{
	const json_t *oem = member_of(doc, "Oem");
	const json_t *fujitsu = member_of(oem, "ts_fujitsu");
	const double power_w = number_of(member_of(fujitsu, "ChassisPowerConsumption"),
					 "CurrentPowerConsumptionW");

	return is_plausible_power(power_w)
		       ? power_w
		       : number_of(member_of(oem, "Public"), "TotalPower");
}

/* Choose among the entries with a plausible power: the first that covers most. */
static int read_power(const json_t *doc, union tw_redfish_doc *to, struct tw_err *err)
{
	struct tw_redfish_power *out = &to->power;
	const json_t *controls = member_of(doc, "PowerControl");
	const size_t count = count_of(controls);
	enum cover best = COVER_PART;
	bool differ = false;
	const double own_w = vendor_power(doc);
	struct tw_err why = { 0 };
	double sum_w;

	/* Behind the last entry comes the document: HPE's older ones are an entry. */
	for (size_t i = 0; i <= count; i++) {
		const json_t *entry = i < count ? entry_of(controls, i) : doc;
		enum cover cover = cover_of(entry);
		struct tw_redfish_power power;
		bool fine;

		if (count == 1 && i == 0 && is_of_supplies(entry))
			cover = COVER_UNKNOWN;
		read_control(entry, &power);
		power.doubtful = is_absent(entry);
		if (cover == COVER_PART || isnan(power.power_w) ||
		    (i == count && !isnan(out->power_w)))
			continue;
		fine = is_plausible_power(power.power_w) && !power.doubtful;
		if (fine && cover > best) {
			*out = power;
			best = cover;
		} else if (fine && cover == COVER_CONTEXT && best == cover) {
			differ = differ ||
				 !tw_redfish_is_alike(power.power_w, out->power_w);
		} else if (isnan(out->power_w)) {
			*out = power;
		}
	}
	/* Facebook's OpenBMC lists all sensors of power, voltage and current so. */
	if (best == COVER_CONTEXT && differ) {
		*out = (struct tw_redfish_power){ .power_w = NAN, .energy_j = NAN };
		tw_fail(&why, TW_NOTFOUND,
			"PowerControl: several entries of the chassis differ");
		best = COVER_PART;
	}
	if (best == COVER_PART && is_plausible_power(own_w)) {
		*out = (struct tw_redfish_power){ .power_w = own_w, .energy_j = NAN };
		best = COVER_WHOLE;
	}
	if (best != COVER_PART) {
		out->input_w = read_inputs(doc, &sum_w, &why) == 0 ? sum_w : 0;
		out->output_w = sum_outputs(doc, out->power_w);
	} else if (read_inputs(doc, &sum_w, &why) == 0) {
		*out = (struct tw_redfish_power){ .power_w = sum_w, .energy_j = NAN };
	}
	return isnan(out->power_w) ? tw_fail(err, why.code, "%s", why.text) : 0;
}

/* ---- metrics and sensors ---- */

static int read_metrics(const json_t *doc, union tw_redfish_doc *to, struct tw_err *err)
{
	struct tw_redfish_power *out = &to->power;
	const char *sensor =
		strrchr(text_of(member_of(doc, "PowerWatts"), "DataSourceUri"), '/');

	out->power_w = number_of(doc, "PowerWatts");
	out->doubtful = sensor != NULL && tw_energy_is_of_part(sensor);
	out->energy_j = number_of(doc, "EnergyJoules");
	if (isnan(out->energy_j))
		out->energy_j = number_of(doc, "EnergykWh") * J_PER_KWH;
	if (isnan(out->power_w) && isnan(out->energy_j))
		return tw_fail(err, TW_NOTFOUND, "metrics: no PowerWatts, no energy");
	return 0;
}

static int read_whole_sensor(const json_t *doc, union tw_redfish_doc *to,
			     struct tw_err *err)
{
	static const char *const units[] = { "", "W", "Watts", NULL };
	const char *type = text_of(doc, "ReadingType"),
		   *unit = text_of(doc, "ReadingUnits");

	to->power.power_w = number_of(doc, "Reading");
	if (isnan(to->power.power_w) || is_absent(doc) || is_off(doc) ||
	    cover_of(doc) == COVER_PART || !is_one_of(unit, units) ||
	    (strcmp(type, "Power") != 0 && (type[0] != '\0' || unit[0] == '\0')))
		return tw_fail(err, TW_NOTFOUND, "sensor: no reading of power");
	return 0;
}

static int read_supply_metrics(const json_t *doc, union tw_redfish_doc *to,
			       struct tw_err *err)
{
	struct tw_redfish_power *out = &to->power;

	out->power_w = number_of(doc, "InputPowerWatts");
	out->energy_j = number_of(doc, "EnergykWh") * J_PER_KWH;
	if (isnan(out->power_w) && number_of(doc, "InputVoltage") == 0)
		out->power_w = 0;
	if (is_above_input(number_of(doc, "OutputPowerWatts"), out->power_w))
		return tw_fail(err, TW_NOTFOUND,
			       "metrics: OutputPowerWatts is above InputPowerWatts");
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
	[TW_REDFISH_SYSTEM] = { "system", read_system, false },
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
	union tw_redfish_doc read;
	json_t *doc = NULL;
	int rc = -1;

	memset(&read, 0, sizeof(read));
	if (types[type].power)
		read.power = (struct tw_redfish_power){ .power_w = NAN, .energy_j = NAN };
	if (tw_json_parse_loose(data, len, types[type].name, &doc, err) < 0)
		return -1;
	if (!json_is_object(entry_of(doc, 0)))
		tw_fail(err, TW_PARSE, "%s: expected an object, got %s", types[type].name,
			tw_json_type_name(doc));
	else
		rc = types[type].read(entry_of(doc, 0), &read, err);
	if (rc == 0)
		*out = read;
	json_decref(doc);
	return rc;
}
