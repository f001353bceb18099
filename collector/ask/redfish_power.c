/* SPDX-License-Identifier: Apache-2.0 */
/* What resources of Redfish tell of power and energy. */
#include "collector/ask/redfish.h"

#include "lib/core/err.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define J_PER_KWH 3.6e6
#define MS_PER_MIN 60000

/* Whether an entry is of something that is not there, or of a part of the chassis. */
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
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
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
	/* A day and more is no window of power. */
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

/* Whatever reads one, of a document. */
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

/* An excerpt of a sensor: {"Reading": 374.5, ..}. null is what a sensor says without. */
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

static int read_supply(const json_t *doc, struct tw_redfish_power *out,
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
	return parse(data, len, "metrics", read_supply, out, err);
}
