/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/ask/ask_options.h"
#include "collector/meters/meter.h"
#include "collector/meters/meter_polled.h"
#include "collector/system/credentials.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS 10000
#define PATIENCE_MS 5000

static json_t *make_settings(const struct tw_redfish_options *o)
{
	size_t len = strlen(o->url);

	while (len > 0 && o->url[len - 1] == '/')
		len--;
	return json_pack(
		"{s:s#,s:s*,s:s,s:s*,s:b,s:o,s:I,s:I}", "url", o->url, (int)len, "login",
		o->login, "auth", tw_redfish_auth_names[o->auth], "ca", o->ca, "insecure",
		o->insecure, "chassis", tw_json_texts(&o->chassis), "interval_ms",
		(json_int_t)o->interval_ms, "timeout_ms", (json_int_t)TIMEOUT_MS);
}

int tw_redfish_options_check(const struct tw_redfish_options *o, struct tw_err *err)
{
	const bool https = o->url != NULL && strncmp(o->url, "https://", 8) == 0,
		   http = o->url != NULL && strncmp(o->url, "http://", 7) == 0;
	struct tw_login login;

	if (o->url == NULL)
		return 0;
	if (!https && !(http && o->insecure))
		return tw_fail(err, TW_INVALID,
			       "--redfish: want https://ADDR (http:// needs "
			       "--redfish-insecure)");
	if (o->login != NULL && tw_login_read(o->login, &login, err) < 0)
		return tw_err_wrap(err, "--redfish-login");
	explicit_bzero(&login, sizeof(login));
	return 0;
}

static int open_redfish(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	const struct tw_redfish_options *o = c->redfish;
	struct tw_zone zone = TW_POLLED_PLATFORM;
	struct tw_polled_config config = { .job = "redfish",
					   .patience_ms = PATIENCE_MS,
					   .needed = true };

	if (o == NULL || o->url == NULL)
		return tw_fail(err, TW_NOTFOUND,
			       "no controller is configured (--redfish)");
	if (tw_redfish_options_check(o, err) < 0)
		return -1;
	config.settings = make_settings(o);
	config.zone = &zone;
	snprintf(zone.path, sizeof(zone.path), "%s", o->url);
	config.hold_ms = 2 * (o->interval_ms + TIMEOUT_MS);
	return tw_polled_open(c, &config, state, err);
}

const struct tw_meter tw_meter_redfish = {
	.name = "redfish",
	.summary = "power of the machine, from its management controller over Redfish",
	.open = open_redfish,
	.zones = tw_polled_zones,
	.grown = tw_polled_grown,
	.read = tw_polled_read,
	.close = tw_polled_close,
};
