/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's own meter, without C: a command that prints values, a file that holds one, or
 * a query of a Prometheus server. tw-ask polls all three (collector/ask/).
 */
#include "collector/ask/ask_options.h"
#include "collector/meters/meter.h"
#include "collector/meters/meter_polled.h"
#include "collector/system/credentials.h"
#include "lib/ask/ask.h"
#include "lib/core/err.h"
#include "lib/field/energy.h"
#include "lib/http/client/url.h"
#include "lib/program/words.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A value holds for this many intervals, and this long more. */
#define HOLD_INTERVALS 3
#define HOLD_MORE_MS 2000
#define HOLD_ANSWER_MS 10000
#define PATIENCE_MS 2000

const char *const tw_own_meter_zones[] = { "platform", "psys", "package", "core",
					   "uncore",   "dram", "gpu",     NULL };

static const enum tw_zone_kind kinds[] = { TW_ZONE_PLATFORM, TW_ZONE_PSYS,
					   TW_ZONE_PACKAGE,  TW_ZONE_CORE,
					   TW_ZONE_UNCORE,   TW_ZONE_DRAM,
					   TW_ZONE_GPU };

/* ---- checks of the options ---- */

static bool is_in_path(const char *program)
{
	const char *path = getenv("PATH");
	char full[PATH_MAX];

	if (strchr(program, '/') != NULL)
		return access(program, X_OK) == 0;
	while (path != NULL && *path != '\0') {
		const size_t len = strcspn(path, ":");

		if (snprintf(full, sizeof(full), "%.*s/%s", (int)len, path, program) <
			    (int)sizeof(full) &&
		    access(full, X_OK) == 0)
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

static int check_command(const char *command, struct tw_err *err)
{
	struct tw_strs words = { 0 };
	int rc = -1;

	if (command == NULL)
		return 0;
	if (tw_words_split(command, &words, err) < 0)
		tw_err_wrap(err, "--meter-command");
	else if (!is_in_path(words.at[0]))
		tw_fail(err, TW_NOTFOUND, "--meter-command: no program '%.120s'",
			words.at[0]);
	else
		rc = 0;
	tw_strs_clear(&words);
	return rc;
}

/* A name of another meter would be a lie; "fake" and the like are not measured. */
static int check_source(const char *source, struct tw_err *err)
{
	const struct tw_energy_source *s;

	if (source == NULL)
		return 0;
	if (tw_meter_find(source) != NULL)
		return tw_fail(err, TW_INVALID,
			       "--meter-source: '%s' is another meter's name", source);
	if (tw_energy_source_open(source, &s, err) < 0)
		return tw_err_wrap(err, "--meter-source");
	return tw_energy_source_is_measured(s)
		       ? 0
		       : tw_fail(err, TW_INVALID,
				 "--meter-source: '%s' means power that is not measured",
				 source);
}

static int check_server(const struct tw_own_meter_options *o, struct tw_err *err)
{
	const bool secret = o->login != NULL || o->token != NULL;
	struct tw_login login;

	if (o->prometheus == NULL)
		return o->query == NULL && !secret && o->ca == NULL
			       ? 0
			       : tw_fail(err, TW_INVALID,
					 "--query, --meter-login, --meter-token and "
					 "--meter-ca are for --meter-prometheus");
	if (!tw_url_is(o->prometheus))
		return tw_fail(err, TW_INVALID,
			       "--meter-prometheus: want http://ADDR or https://ADDR");
	if (o->query == NULL || o->query[0] == '\0')
		return tw_fail(err, TW_INVALID, "--meter-prometheus needs --query");
	if (o->login != NULL && o->token != NULL)
		return tw_fail(err, TW_INVALID,
			       "--meter-login and --meter-token: choose one");
	if (secret && strncmp(o->prometheus, "https://", 8) != 0)
		return tw_fail(err, TW_INVALID,
			       "--meter-login and --meter-token need https://");
	if (o->login != NULL && tw_login_read(o->login, &login, err) < 0)
		return tw_err_wrap(err, "--meter-login");
	explicit_bzero(&login, sizeof(login));
	return 0;
}

int tw_own_meter_options_check(const struct tw_own_meter_options *o, struct tw_err *err)
{
	const int meters =
		(o->command != NULL) + (o->file != NULL) + (o->prometheus != NULL);

	if (meters > 1)
		return tw_fail(err, TW_INVALID,
			       "--meter-command, --meter-file, --meter-prometheus: "
			       "choose one");
	if (o->source != NULL && meters == 0)
		return tw_fail(err, TW_INVALID,
			       "--meter-source needs a --meter-command, "
			       "--meter-file or --meter-prometheus");
	if (o->user != NULL && o->command == NULL)
		return tw_fail(err, TW_INVALID, "--meter-user is for --meter-command");
	return check_source(o->source, err) < 0 || check_command(o->command, err) < 0
		       ? -1
		       : check_server(o, err);
}

/* ---- opening ---- */

/* text: what is read; one of the meter's settings. */
static int open_own(const struct tw_meter_config *c, const char *meter, const char *text,
		    json_t *settings, void **state, struct tw_err *err)
{
	const struct tw_own_meter_options *o = c->own_meter;
	struct tw_zone zone = { .kind = kinds[o->zone],
				.reports_power =
					!tw_unit_is_energy((enum tw_unit)o->unit),
				.keeps_counting = true,
				.package = -1,
				.window_ms = o->window_ms };
	const struct tw_polled_config config = {
		.job = meter,
		.settings = settings,
		.zone = &zone,
		.hold_ms = HOLD_INTERVALS * o->interval_ms +
			   (o->prometheus != NULL ? HOLD_ANSWER_MS : HOLD_MORE_MS),
		.patience_ms = PATIENCE_MS,
		.needed = true,
	};

	snprintf(zone.name, sizeof(zone.name), "%s", tw_own_meter_zones[o->zone]);
	snprintf(zone.path, sizeof(zone.path), "%s", text);
	snprintf(zone.source, sizeof(zone.source), "%s",
		 o->source != NULL ? o->source : "");
	json_object_set_new(settings, "unit", json_integer(o->unit));
	json_object_set_new(settings, "interval_ms",
			    json_integer((json_int_t)o->interval_ms));
	json_object_set_new(settings, "window_ms",
			    json_integer((json_int_t)o->window_ms));
	return tw_polled_open(c, &config, state, err);
}

static int fail_absent(const char *option, struct tw_err *err)
{
	return tw_fail(err, TW_NOTFOUND, "not configured (%s)", option);
}

static int open_command(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	const struct tw_own_meter_options *o = c->own_meter;

	if (o == NULL || o->command == NULL)
		return fail_absent("--meter-command", err);
	return open_own(c, "command", o->command,
			json_pack("{s:s,s:s*}", "command", o->command, "command_user",
				  o->user != NULL ? o->user : c->ask->user),
			state, err);
}

static int open_file(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	const struct tw_own_meter_options *o = c->own_meter;

	if (o == NULL || o->file == NULL)
		return fail_absent("--meter-file", err);
	return open_own(c, "file", o->file, json_pack("{s:s}", "file", o->file), state,
			err);
}

static int open_prometheus(const struct tw_meter_config *c, void **state,
			   struct tw_err *err)
{
	const struct tw_own_meter_options *o = c->own_meter;

	if (o == NULL || o->prometheus == NULL)
		return fail_absent("--meter-prometheus", err);
	return open_own(c, "prometheus", o->query,
			json_pack("{s:s,s:s,s:s*,s:s*,s:s*}", "url", o->prometheus,
				  "query", o->query, "login", o->login, "token", o->token,
				  "ca", o->ca),
			state, err);
}

#define OWN_METER(of, line)                                       \
	{                                                         \
		.name = #of, .summary = line, .open = open_##of,  \
		.zones = tw_polled_zones, .read = tw_polled_read, \
		.close = tw_polled_close                          \
	}

const struct tw_meter tw_meter_command =
	OWN_METER(command, "power by a command of the user, which prints a value a line");
const struct tw_meter tw_meter_file =
	OWN_METER(file, "power by a file of the user, which holds a value");
const struct tw_meter tw_meter_prometheus =
	OWN_METER(prometheus, "power by a query of a Prometheus server");
