/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The power of a chassis as the sum of what its power supplies take: where a controller
 * has neither EnvironmentMetrics nor Power (deprecated since 2020.4) that tell it.
 */
#include "collector/ask/redfish_client.h"

#include "lib/core/err.h"

#include <math.h>

/* The collection of supplies. */
static int read_subsystem(struct tw_redfish *r, const char *path,
			  char supplies[TW_REDFISH_PATH], struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	int rc;

	if (tw_redfish_get(r, path, &answer, err) < 0)
		return -1;
	rc = tw_redfish_parse_subsystem(answer.body, answer.len, supplies, err);
	tw_http_answer_release(&answer);
	return rc < 0 ? tw_err_wrap(err, "%.96s", path) : 0;
}

/* The metrics of a supply; "": it is not there. */
static int read_supply(struct tw_redfish *r, const char *path,
		       char metrics[TW_REDFISH_PATH], struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	int rc;

	if (tw_redfish_get(r, path, &answer, err) < 0)
		return -1;
	rc = tw_redfish_parse_supply(answer.body, answer.len, metrics, err);
	tw_http_answer_release(&answer);
	return rc < 0 ? tw_err_wrap(err, "%.96s", path) : 0;
}

static int read_metrics(struct tw_redfish *r, const char *path,
			struct tw_redfish_power *out, struct tw_err *err)
{
	struct tw_http_answer answer = { 0 };
	int rc;

	if (tw_redfish_get(r, path, &answer, err) < 0)
		return -1;
	rc = tw_redfish_parse_supply_metrics(answer.body, answer.len, out, err);
	tw_http_answer_release(&answer);
	return rc < 0 ? tw_err_wrap(err, "%.96s", path) : 0;
}

/* Of those that are there; what one does not tell, the sum does not: NaN. */
static int add_up(struct tw_redfish *r, const struct tw_strs *supplies, const char *path,
		  struct tw_redfish_power *sum, struct tw_err *err)
{
	bool any = false;

	for (size_t i = 0; i < supplies->count; i++) {
		struct tw_redfish_power one;
		char metrics[TW_REDFISH_PATH];

		if (read_supply(r, supplies->at[i], metrics, err) < 0)
			return -1;
		if (metrics[0] == '\0')
			continue;
		if (read_metrics(r, metrics, &one, err) < 0)
			return -1;
		sum->power_w += one.power_w;
		sum->energy_j += one.energy_j;
		any = true;
	}
	if (!any)
		return tw_fail(err, TW_NOTFOUND, "%.96s: no supply is there", path);
	if (isnan(sum->power_w) && isnan(sum->energy_j))
		return tw_fail(err, TW_NOTFOUND, "%.96s: not all supplies tell the same",
			       path);
	return 0;
}

int tw_redfish_read_supplies(struct tw_redfish *r, const char *path,
			     struct tw_redfish_power *out, struct tw_err *err)
{
	struct tw_redfish_power sum = { .power_w = 0, .energy_j = 0 };
	struct tw_strs supplies = { 0 };
	char collection[TW_REDFISH_PATH];
	int rc = -1;

	if (read_subsystem(r, path, collection, err) < 0 ||
	    tw_redfish_members(r, collection, &supplies, err) < 0)
		goto out;
	if (supplies.count > TW_REDFISH_SUPPLIES_MAX) {
		tw_fail(err, TW_INVALID, "%.96s: more than %d supplies", path,
			TW_REDFISH_SUPPLIES_MAX);
		goto out;
	}
	if (add_up(r, &supplies, path, &sum, err) < 0)
		goto out;

	*out = sum;
	rc = 0;
out:
	tw_strs_clear(&supplies);
	return rc;
}
