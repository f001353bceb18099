/* SPDX-License-Identifier: Apache-2.0 */
/* The job "redfish": the power of the chassis of a management controller. */
#include "collector/ask/ask_job.h"
#include "collector/ask/redfish_client.h"
#include "collector/system/credentials.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BACKOFF_MAX_MS 60000

/* Failures in a row before the chassis are searched again. */
#define FAILURES_MAX 3

/* Time until a new search if chassis were skipped. */
#define SEARCH_MS 600000

/* Controllers lock out accounts after repeated wrong passwords: retry rarely. */
#define DENIED_MS 300000

struct job {
	struct tw_redfish redfish;
	struct tw_login login;
	const char *login_file; /* NULL: none */
	struct tw_strs chassis;
	struct tw_http
		*http; /* keeps the connection: a TLS handshake is slow on a controller */
	uint64_t interval_ms;
	int fd;
	unsigned failures;
	uint64_t searched_ms; /* polled for so long since the last search */
	/* For a chassis with an energy counter only: its last change. */
	struct step {
		bool seen, changed;
		double energy_j, power_w;
		uint64_t taken_ns, window_ms;
	} step[TW_REDFISH_CHASSIS_MAX];
};

/* ---- settings ---- */

static int read_auth(const json_t *settings, enum tw_redfish_auth *out,
		     struct tw_err *err)
{
	const char *name;

	if (tw_json_text(settings, "settings", "auth", false, &name, err) < 0)
		return -1;
	for (int i = 0; tw_redfish_auth_names[i] != NULL; i++)
		if (strcmp(tw_redfish_auth_names[i], name) == 0) {
			*out = (enum tw_redfish_auth)i;
			return 0;
		}
	return tw_fail(err, TW_INVALID, "settings.auth: '%.16s'", name);
}

static int read_settings(const json_t *settings, struct job *j, struct tw_err *err)
{
	struct tw_redfish_config *c = &j->redfish.config;
	long long interval_ms, timeout_ms;

	if (tw_json_text(settings, "settings", "url", false, &c->url, err) < 0 ||
	    tw_json_text(settings, "settings", "login", true, &j->login_file, err) < 0 ||
	    tw_json_text(settings, "settings", "ca", true, &c->ca_file, err) < 0 ||
	    tw_json_bool(settings, "settings", "insecure", false, &c->insecure, err) <
		    0 ||
	    tw_json_strs(settings, "settings", "chassis", true, &j->chassis, err) < 0 ||
	    tw_json_int(settings, "settings", "interval_ms", false, 1, INT32_MAX,
			&interval_ms, err) < 0 ||
	    tw_json_int(settings, "settings", "timeout_ms", false, 1, INT32_MAX,
			&timeout_ms, err) < 0 ||
	    read_auth(settings, &c->auth, err) < 0)
		return -1;
	j->interval_ms = (uint64_t)interval_ms;
	c->timeout_ms = (uint64_t)timeout_ms;
	c->chassis = &j->chassis;
	return 0;
}

/*
 * Read the credentials again, in case they have changed. If the file is unreadable, keep
 * the old ones.
 */
static int read_login(struct job *j, struct tw_err *err)
{
	struct tw_redfish_config *c = &j->redfish.config;
	struct tw_err why = { 0 };

	if (j->login_file == NULL)
		return 0;
	if (tw_login_read(j->login_file, &j->login, &why) < 0 && c->user == NULL)
		return tw_fail(err, why.code, "%s", why.text);
	c->user = j->login.user;
	c->password = j->login.password;
	return 0;
}

static void close_job(void *state)
{
	struct job *j = state;

	if (j == NULL)
		return;
	tw_strs_clear(&j->chassis);
	explicit_bzero(&j->login, sizeof(j->login));
	free(j);
}

static int open_job(const json_t *settings, void **state, struct tw_err *err)
{
	struct job *j = calloc(1, sizeof(*j));

	if (j == NULL)
		return tw_fail(err, TW_NOMEM, "redfish");
	if (read_settings(settings, j, err) < 0 || read_login(j, err) < 0) {
		close_job(j);
		return -1;
	}
	*state = j;
	return 0;
}

/* ---- sending ---- */

static bool send_zones(struct job *j)
{
	memset(j->step, 0, sizeof(j->step));
	for (size_t i = 0; i < j->redfish.sources; i++) {
		const struct tw_redfish_source *s = &j->redfish.source[i];
		struct tw_ask_message m = tw_ask_message(TW_ASK_ZONE);

		m.place = (uint32_t)i;
		snprintf(m.of.zone.name, sizeof(m.of.zone.name), "%s", s->id);
		snprintf(m.of.zone.path, sizeof(m.of.zone.path), "%s", s->path);
		if (!tw_ask_send(j->fd, &m))
			return false;
	}
	return true;
}

static bool send_missing(const struct job *j, size_t i, const char *why)
{
	struct tw_ask_message m = tw_ask_message(TW_ASK_MISSING);

	m.place = (uint32_t)i;
	snprintf(m.why, sizeof(m.why), "%.*s", (int)sizeof(m.why) - 1, why);
	return tw_ask_send(j->fd, &m);
}

/*
 * Energy counters advance in steps of up to 0.1 kWh. The power between two steps is their
 * difference over the time between them. Start again if the counter falls, or if a step
 * takes three times as long as the one before.
 */
static bool take_step(struct step *s, double energy_j, struct tw_ask_message *m)
{
	const uint64_t over_ns = m->taken_ns - s->taken_ns;

	if (!s->seen || energy_j < s->energy_j ||
	    (s->window_ms != 0 && over_ns / 3000000 > s->window_ms)) {
		*s = (struct step){ .seen = true, .energy_j = energy_j };
		s->taken_ns = m->taken_ns;
		return false;
	}
	if (energy_j > s->energy_j) {
		if (s->changed) {
			s->power_w = (energy_j - s->energy_j) * 1e9 / (double)over_ns;
			s->window_ms = over_ns / 1000000;
		}
		s->changed = true;
		s->energy_j = energy_j;
		s->taken_ns = m->taken_ns;
	}
	m->power_w = s->power_w;
	m->window_ms = s->window_ms;
	return s->power_w > 0;
}

static bool send_power(struct job *j, size_t i, const struct tw_redfish_power *power)
{
	struct tw_ask_message m = tw_ask_message(TW_ASK_POWER);

	m.place = (uint32_t)i;
	m.window_ms = power->window_ms;
	m.power_w = power->power_w;
	if (isnan(power->power_w) && !take_step(&j->step[i], power->energy_j, &m))
		return send_missing(
			j, i, "it reports only energy, waiting for the counter to grow");
	return tw_ask_send(j->fd, &m);
}

/* ---- polling ---- */

static int call(void *arg, const struct tw_http_call *c, struct tw_http_answer *out,
		struct tw_err *err)
{
	const struct job *j = arg;
	struct tw_http_call kept = *c;

	kept.session = j->http;
	return tw_http_call(&kept, out, err);
}

/* False: no source has a plausible value; why has the last reason, if one failed. */
static bool read_all(struct job *j, struct tw_err *why)
{
	bool any = false;

	for (size_t i = 0; i < j->redfish.sources; i++) {
		struct tw_redfish_power power;
		struct tw_err err = { 0 };
		bool sent;

		if (tw_redfish_read(&j->redfish, &j->redfish.source[i], &power, &err) ==
		    0) {
			any = any || tw_redfish_is_plausible(&power);
			sent = send_power(j, i, &power);
		} else {
			*why = err;
			sent = send_missing(j, i, err.text);
		}
		if (!sent)
			break;
	}
	return any;
}

static bool connect_now(struct job *j, struct tw_err *why)
{
	j->searched_ms = 0;
	if (read_login(j, why) == 0 && tw_redfish_connect(&j->redfish, why) == 0 &&
	    send_zones(j))
		return true;
	tw_redfish_logout(&j->redfish);
	return false;
}

/*
 * Poll once; returns the time until the next poll in ms. *connected persists between
 * calls.
 */
static uint64_t ask(struct job *j, bool *connected)
{
	struct tw_err why = { 0 };

	*connected = *connected || connect_now(j, &why);
	if (!*connected)
		tw_ask_send_failure(j->fd, &why, false);
	if (*connected && read_all(j, &why)) {
		j->failures = 0;
		j->searched_ms += j->interval_ms;
		if (j->redfish.skipped > 0 && j->searched_ms >= SEARCH_MS) {
			tw_redfish_logout(&j->redfish);
			*connected = false;
		}
		return j->interval_ms;
	}
	j->failures++;
	/* The chassis may have changed with a firmware update: search them again. */
	if (*connected && (j->failures >= FAILURES_MAX || why.code == TW_DENIED)) {
		tw_redfish_logout(&j->redfish);
		*connected = false;
	}
	return why.code == TW_DENIED
		       ? DENIED_MS
		       : tw_ask_backoff_ms(j->failures, j->interval_ms, BACKOFF_MAX_MS);
}

static void run_job(void *state, int fd)
{
	struct job *j = state;
	struct tw_err err = { 0 };
	bool connected = false;
	uint64_t wait_ms;

	j->fd = fd;
	j->redfish.config.call = call;
	j->redfish.config.call_arg = j;
	j->redfish.config.stopped = tw_ask_is_closed;
	j->redfish.config.stopped_arg = &j->fd;
	if (tw_http_init(&err) < 0 || tw_http_open(&j->http, &err) < 0) {
		tw_ask_send_failure(fd, &err, false);
		return;
	}
	do
		wait_ms = ask(j, &connected);
	while (tw_ask_pause(fd, wait_ms, wait_ms));
	tw_redfish_logout(&j->redfish);
	tw_http_close(j->http);
}

const struct tw_ask_job tw_ask_redfish = {
	.name = "redfish",
	.net = true,
	.open = open_job,
	.run = run_job,
	.close = close_job,
};
