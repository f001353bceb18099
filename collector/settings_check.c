/* SPDX-License-Identifier: Apache-2.0 */
/* What the types of options do not refuse, and what follows from the rest. */
#include "collector/settings.h"

#include "collector/meters/meter.h"
#include "collector/power/estimates.h"
#include "collector/show.h"
#include "collector/workloads/traces.h"
#include "estimator/init_urls.h"
#include "estimator/models.h"
#include "lib/core/err.h"
#include "lib/program/kepler_key.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define INTERVAL_MIN_MS 100
#define INTERVAL_MAX_MS 3600000
#define ASKED_MIN_MS 1000

static bool is_trace(const char *name)
{
	for (size_t i = 0; tw_trace_names[i] != NULL; i++)
		if (strcmp(tw_trace_names[i], name) == 0)
			return true;
	return false;
}

#define KEPLER_IDLE "EXPOSE_ESTIMATED_IDLE_POWER_METRICS"
static const char *const kepler_keys[] = { KEPLER_IDLE, NULL };

int tw_collector_settings_kepler(struct tw_err *err)
{
	const char *idle;

	if (tw_kepler_keys_load(kepler_keys, err) < 0 ||
	    tw_kepler_keys_load(tw_models_server_keys, err) < 0 ||
	    tw_kepler_keys_load(tw_init_urls_keys, err) < 0)
		return -1;
	idle = getenv(KEPLER_IDLE);
	if (idle == NULL || idle[0] == '\0')
		return 0;
	if (setenv("TW_ESTIMATED_IDLE", strcasecmp(idle, "true") == 0 ? "scale" : "hide",
		   0) < 0)
		return tw_fail(err, TW_NOMEM, KEPLER_IDLE);
	return 0;
}

static bool find_level(const char *name, enum tw_level *out)
{
	for (int level = 0; level < TW_LEVEL_COUNT; level++) {
		*out = (enum tw_level)level;
		if (strcmp(tw_level_name(*out), name) == 0)
			return true;
	}
	return false;
}

static int check_models(const struct tw_collector_settings *s, struct tw_err *err)
{
	if (s->models.count > TW_ESTIMATES_MAX)
		return tw_fail(err, TW_INVALID, "--model: at most %d", TW_ESTIMATES_MAX);
	if (s->model_sources.count > TW_ESTIMATES_MAX)
		return tw_fail(err, TW_INVALID, "--model-source: at most %d",
			       TW_ESTIMATES_MAX);
	for (size_t i = 0; i < s->model_sources.count; i++)
		if (tw_energy_source_find(s->model_sources.at[i]) == NULL)
			return tw_fail(err, TW_INVALID,
				       "--model-source: no energy source '%s'",
				       s->model_sources.at[i]);
	return 0;
}

/* Whom others ask, too, is not asked without a pause. */
static int check_asked(const struct tw_collector_settings *s, struct tw_err *err)
{
	const struct {
		const char *name;
		uint64_t ms;
	} intervals[] = { { "--redfish-interval", s->redfish.interval_ms },
			  { "--ipmi-interval", s->ipmi_interval_ms },
			  { "--kube-interval", s->pods.interval_ms } };

	for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++)
		if (intervals[i].ms < ASKED_MIN_MS || intervals[i].ms > INTERVAL_MAX_MS)
			return tw_fail(err, TW_INVALID, "%s: want 1s to 1h",
				       intervals[i].name);
	if (tw_pods_options_check(&s->pods, err) < 0)
		return -1;
	return tw_redfish_options_check(&s->redfish, err);
}

int tw_collector_settings_check(const struct tw_collector_settings *s, struct tw_err *err)
{
	enum tw_level level;

	if (s->interval_ms < INTERVAL_MIN_MS || s->interval_ms > INTERVAL_MAX_MS)
		return tw_fail(err, TW_INVALID, "--interval: want 100ms to 1h");
	for (size_t i = 0; i < s->levels.count; i++)
		if (!find_level(s->levels.at[i], &level))
			return tw_fail(err, TW_INVALID, "--levels: no level '%s'",
				       s->levels.at[i]);
	for (size_t i = 0; i < s->trace.count; i++)
		if (!is_trace(s->trace.at[i]))
			return tw_fail(err, TW_INVALID,
				       "--trace: want page-cache or softirqs");
	for (size_t i = 0; i < s->compat.count; i++)
		if (strcmp(s->compat.at[i], "kepler") != 0 &&
		    strcmp(s->compat.at[i], "kepler-legacy") != 0 &&
		    strcmp(s->compat.at[i], "kepler-0.5") != 0)
			return tw_fail(
				err, TW_INVALID,
				"--compat: want kepler, kepler-legacy or kepler-0.5");
	for (size_t i = 0; i < s->meters.count; i++)
		if (tw_meter_find(s->meters.at[i]) == NULL)
			return tw_fail(err, TW_INVALID, "--meters: no meter '%s'",
				       s->meters.at[i]);
	return check_models(s, err) < 0 ? -1 : check_asked(s, err);
}

struct tw_show tw_collector_settings_show(const struct tw_collector_settings *s,
					  char *host, size_t size)
{
	struct tw_show show = { .top = s->top,
				.min_uj = s->min_joules * UINT64_C(1000000),
				.kepler = tw_strs_has(&s->compat, "kepler"),
				.kepler_05 = tw_strs_has(&s->compat, "kepler-0.5"),
				.node_name = s->node_name,
				.redfish = s->redfish.url };
	enum tw_level level;

	show.kepler_legacy = show.kepler_05 || tw_strs_has(&s->compat, "kepler-legacy");
	for (size_t i = 0; i < s->levels.count; i++)
		if (find_level(s->levels.at[i], &level))
			show.level[level] = true;
	if (show.node_name == NULL) {
		if (gethostname(host, size - 1) < 0)
			host[0] = '\0';
		host[size - 1] = '\0';
		show.node_name = host;
	}
	return show;
}
