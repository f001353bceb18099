/* SPDX-License-Identifier: Apache-2.0 */
/* The job "redfish": the power of the chassis of a management controller. */
#include "collector/ask/access.h"
#include "collector/ask/ask_job.h"
#include "collector/ask/redfish_client.h"
#include "lib/core/err.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Failures in a row before the chassis are searched again. */
#define FAILURES_MAX 3

/* Time until a new search if chassis were skipped. */
#define SEARCH_MS 600000

/* Controllers lock out accounts after repeated wrong passwords: retry rarely. */
#define DENIED_MS 300000

struct job {
	struct tw_ask_state state; /* keeps the connection: a TLS handshake is slow on a
				      controller */
	struct tw_redfish redfish;
	struct tw_access access;
	struct tw_strs chassis;
	bool connected;
	uint64_t searched_ms; /* polled for this long since the last search */
	/* For a chassis with an energy counter only: its last change. */
	struct step {
		bool seen, changed;
		double energy_j, power_w;
		uint64_t taken_ns, window_ms;
	} step[TW_REDFISH_CHASSIS_MAX];
};

#define AT(member) TW_FIELD_AT(struct job, member)
static const struct tw_field fields[] = {
	TW_ASK_INTERVAL(struct job),
	{ "url", TW_FIELD_BORROWED, AT(redfish.config.url) },
	{ "login", TW_FIELD_BORROWED, AT(access.login_file), .optional = true },
	{ "ca", TW_FIELD_BORROWED, AT(access.http.ca_file), .optional = true },
	{ "insecure", TW_FIELD_BOOL, AT(access.http.insecure), .optional = true },
	{ "chassis", TW_FIELD_STRS, AT(chassis), .optional = true },
	{ "timeout_ms", TW_FIELD_UINT, AT(redfish.config.timeout_ms), .min = 1,
	  .max = INT32_MAX },
	{ "auth", TW_FIELD_ENUM, AT(redfish.config.auth),
	  .names = tw_redfish_auth_names },
};
static const struct tw_fields settings = TW_FIELDS(fields, struct job);

static void close_job(void *state)
{
	struct job *j = state;

	tw_access_close(&j->access);
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
		if (!tw_ask_send(j->state.fd, &m))
			return false;
	}
	return true;
}

static bool send_missing(const struct job *j, size_t i, const char *why)
{
	struct tw_ask_message m = tw_ask_message(TW_ASK_MISSING);

	m.place = (uint32_t)i;
	snprintf(m.why, sizeof(m.why), "%.*s", (int)sizeof(m.why) - 1, why);
	return tw_ask_send(j->state.fd, &m);
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
	m.input_w = power->input_w;
	m.output_w = power->output_w;
	if (isnan(power->power_w) && !take_step(&j->step[i], power->energy_j, &m))
		return send_missing(
			j, i, "it reports only energy, waiting for the counter to grow");
	return tw_ask_send(j->state.fd, &m);
}

/* ---- polling ---- */

static int call(void *arg, const struct tw_http_call *c, struct tw_http_answer *out,
		struct tw_err *err)
{
	const struct job *j = arg;
	struct tw_http_call kept = *c;

	kept.session = j->state.http;
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
	if (tw_access_read(&j->access, why) == 0 &&
	    tw_redfish_connect(&j->redfish, why) == 0 && send_zones(j))
		return true;
	tw_redfish_logout(&j->redfish);
	return false;
}

static void disconnect(struct job *j)
{
	tw_redfish_logout(&j->redfish);
	j->connected = false;
}

static int poll_controller(void *state, struct tw_err *err)
{
	struct job *j = state;
	struct tw_ask_state *s = &j->state;

	j->connected = j->connected || connect_now(j, err);
	if (!j->connected)
		tw_ask_send_failure(s->fd, err, false);
	if (j->connected && read_all(j, err)) {
		j->searched_ms += s->interval_ms;
		if (j->redfish.skipped > 0 && j->searched_ms >= SEARCH_MS)
			disconnect(j);
		return 0;
	}
	/* The chassis may have changed with a firmware update: search them again. */
	if (j->connected && (s->failures + 1 >= FAILURES_MAX || err->code == TW_DENIED))
		disconnect(j);
	s->wait_ms = err->code == TW_DENIED ? DENIED_MS : 0;
	return -1;
}

/* A failure is sent where it is found: for the connection, or for one chassis. */
static void report_nothing(void *state, const struct tw_err *why)
{
	(void)state;
	(void)why;
}

static void leave(void *state)
{
	tw_redfish_logout(&((struct job *)state)->redfish);
}

static int open_job(void *state, struct tw_err *err)
{
	struct job *j = state;
	struct tw_redfish_config *c = &j->redfish.config;

	c->access = &j->access.http;
	c->chassis = &j->chassis;
	c->call = call;
	c->call_arg = j;
	c->stopped = tw_ask_is_closed;
	c->stopped_arg = &j->state.fd;
	return tw_access_read(&j->access, err);
}

const struct tw_ask_job tw_ask_redfish = {
	.name = "redfish",
	.settings = &settings,
	.net = true,
	.open = open_job,
	.poll = poll_controller,
	.report = report_nothing,
	.retry_min_ms = 10000,
	.retry_max_ms = 60000,
	.leave = leave,
	.close = close_job,
};
