/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job "ipmi": the power of this machine, from its own management controller, in band.
 */
#include "collector/ask/ask_job.h"
#include "collector/ask/dcmi.h"
#include "collector/ask/ipmi.h"
#include "lib/core/err.h"

#include <stdio.h>

#define BACKOFF_MAX_MS 60000

/* A controller without the command gets it only by an update: retry rarely. */
#define UNSUPPORTED_MS 600000

struct job {
	struct tw_ask_state state;
	struct tw_ipmi *ipmi; /* NULL: not open */
	const char *device;
	bool told; /* its zone was sent */
};

#define AT(member) TW_FIELD_AT(struct job, member)
static const struct tw_field fields[] = {
	TW_ASK_INTERVAL(struct job),
	{ "device", TW_FIELD_BORROWED, AT(device) },
};
static const struct tw_fields settings = TW_FIELDS(fields, struct job);

static void close_job(void *state)
{
	tw_ipmi_close(((struct job *)state)->ipmi);
}

static int open_job(void *state, struct tw_err *err)
{
	struct job *j = state;

	return tw_ipmi_open(j->device, &j->ipmi, err);
}

static int read_power(struct job *j, struct tw_dcmi_power *out, struct tw_err *err)
{
	uint8_t answer[TW_DCMI_RESPONSE_MAX];
	size_t len;

	if (tw_ipmi_ask(j->ipmi, TW_DCMI_LUN, TW_DCMI_NETFN, tw_dcmi_power_request,
			sizeof(tw_dcmi_power_request), answer, sizeof(answer), &len,
			err) < 0)
		return -1;
	return tw_dcmi_power_parse(answer, len, out, err);
}

static bool send_zone(const struct job *j)
{
	struct tw_ask_message m = tw_ask_message(TW_ASK_ZONE);

	snprintf(m.of.zone.name, sizeof(m.of.zone.name), "dcmi");
	snprintf(m.of.zone.path, sizeof(m.of.zone.path), "%s", j->device);
	return tw_ask_send(j->state.fd, &m);
}

static uint64_t fail(struct tw_ask_state *s, const struct tw_err *why)
{
	s->failures++;
	tw_ask_send_failure(s->fd, why, false);
	return why->code == TW_UNSUPPORTED
		       ? UNSUPPORTED_MS
		       : tw_ask_backoff_ms(s->failures, s->interval_ms, BACKOFF_MAX_MS);
}

static uint64_t poll_controller(void *state)
{
	struct job *j = state;
	struct tw_ask_message m;
	struct tw_dcmi_power power;
	struct tw_err err = { 0 };

	j->told = j->told || send_zone(j);
	if (!j->told)
		return 0;
	if (read_power(j, &power, &err) < 0)
		return fail(&j->state, &err);
	j->state.failures = 0;
	m = tw_ask_message(TW_ASK_POWER);
	m.power_w = power.now_w;
	m.window_ms = power.window_ms;
	tw_ask_send(j->state.fd, &m);
	return j->state.interval_ms;
}

const struct tw_ask_job tw_ask_ipmi = {
	.name = "ipmi",
	.settings = &settings,
	.open = open_job,
	.poll = poll_controller,
	.close = close_job,
};
